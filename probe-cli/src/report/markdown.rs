//! The report in Markdown: tables that can be read in a mail as they are, and that a forge renders.

use std::fmt::Write as _;

use super::{
    model::{
        CaseReport, ClaimVerdict, ExperimentReport, LiveRow, Mechanism, OperationRow, Report, VariantRow,
    },
    number,
    text::{self, safe, words::columns},
};

/// `report` as text.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut page = format!(
        "{} · kernel {} · {} · seed {}{}{}\n",
        word(&text::machine(&report.host)),
        word(&report.host.kernel),
        word(&report.started),
        report.seed,
        if report.quick { " · quick" } else { "" },
        if report.interrupted { " · **interrupted**" } else { "" },
    );
    if report.experiments.is_empty() {
        page += "\nNothing was measured.\n";
    }
    for experiment in &report.experiments {
        page += &self::experiment(experiment);
    }
    page.replace(number::GAP, " ")
}

/// Text from outside, without a sign that Markdown or HTML would act on.
pub(crate) fn word(text: &str) -> String {
    let mut out = String::new();
    for letter in safe(text).chars() {
        match letter {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    out
}

fn experiment(report: &ExperimentReport) -> String {
    let mut page = format!("\n## {}\n\n{}\n\n", word(&report.name), word(&report.question));
    let verdict = &report.verdict;
    let mechanism = match verdict.mechanism {
        Mechanism::Confirmed => "confirmed",
        Mechanism::Contradicted => "contradicted",
        Mechanism::Inconclusive => "inconclusive",
    };
    let claim = match verdict.claim {
        ClaimVerdict::Reproduced => "reproduced",
        ClaimVerdict::NotReproduced => "not reproduced",
        ClaimVerdict::Inconclusive => "inconclusive",
        ClaimVerdict::NotTestableHere => "not testable here",
    };
    let _ = writeln!(page, "Mail: {}\n", word(&report.mail));
    let _ = writeln!(page, "**Mechanism: {mechanism}. Claim: {claim}.** {}", word(&verdict.why));
    for case in &report.cases {
        page += &self::case(case, report);
    }
    if !report.operations.is_empty() {
        page += &operations(&report.operations);
    }
    for row in &report.programs {
        let words = text::program::printed(row);
        let _ = writeln!(page, "\n{}: {}; {}.", word(&row.command), word(&words), word(&row.what));
    }
    if !report.live.is_empty() {
        page += &live(&report.live);
    }
    page
}

fn operations(rows: &[OperationRow]) -> String {
    let heads = ["one by one, ns", "n", "p50", "p99", "p99.9", "max", "woken/million"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| {
        let name = format!("{}: {}", word(&row.case), word(&row.variant));
        let woken = row.wakeups_per_million.round() as u64;
        let numbers = [row.n, row.p50_ns, row.p99_ns, row.p99_9_ns, row.max_ns, woken].map(number::count);
        [vec![name], numbers.to_vec()].concat()
    }));
    format!("\n{}", table(&lines))
}

fn case(case: &CaseReport, report: &ExperimentReport) -> String {
    let rows: Vec<&VariantRow> =
        report.variants.iter().filter(|row| row.case == case.name && row.named).collect();
    let unit = rows.first().map_or("", |row| &row.unit);
    let mut page = format!("\n{}: {} ({})", word(&case.name), word(&case.title), word(unit));
    if case.oversubscribed {
        page += ", oversubscribed: feeds no verdict";
    }
    page += "\n\n";
    let symbol = safe(unit.split(' ').next().unwrap_or_default());
    let mut lines = vec![vec![
        "variant".to_owned(),
        "median".to_owned(),
        format!("vs {}", word(&case.baseline)),
        "95 %".to_owned(),
    ]];
    lines.extend(rows.into_iter().map(|row| {
        let floor = case.noise_floor.filter(|_| row.name == case.baseline).map(|floor| floor.ratio_ci95);
        let (ratio, interval) = match (&row.ratio_to_baseline, floor) {
            (_, Some([lo, hi])) => ("1.00".to_owned(), format!("{} A/A", number::interval(lo, hi))),
            (Some(ratio), None) => number::ratio(ratio),
            (None, None) => (number::NONE.to_owned(), String::new()),
        };
        let median = row.median.map_or_else(|| "not measured".to_owned(), |ns| number::time(ns, &symbol));
        vec![word(&row.name), median, ratio, interval]
    }));
    page += &table(&lines);
    let _ = writeln!(page, "\nPairs dropped: {}", number::percent(case.drop_rate));
    page
}

fn live(rows: &[LiveRow]) -> String {
    let ns = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), number::count);
    let heads = ["live kernel, ns", "tasks", "p50", "p99", "n", "floor", "adds", "lost"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| {
        let size = row.size_lo.map_or_else(String::new, |lo| format!(" {lo} B"));
        let lost =
            [row.dropped, row.unmatched, row.missed.unwrap_or(0)].into_iter().fold(0, u64::saturating_add);
        vec![
            format!(
                "{}{size} by {}{}",
                word(&row.target),
                word(&row.backend),
                if row.probe_bound { " (probe-bound)" } else { "" }
            ),
            format!("{}{}", row.threads, if row.oversubscribed { "\\*" } else { "" }),
            ns(row.p50_ns),
            ns(row.p99_ns),
            number::count(row.n),
            ns(row.floor_ns),
            row.added_ns.map_or_else(|| "?".to_owned(), number::grouped),
            number::count(lost),
        ]
    }));
    format!("\n{}", table(&lines))
}

/// Cells with bars between them, as wide as they are: the first column to the left, numbers to the right.
pub(crate) fn table(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |line: &[String], at: usize| line.get(at).cloned().unwrap_or_default();
    let widths: Vec<usize> = (0..count)
        .map(|at| lines.iter().map(|line| columns(&cell(line, at))).max().unwrap_or(0).max(3))
        .collect();
    let write = |line: &[String]| {
        let mut text = String::from("|");
        for (at, width) in widths.iter().enumerate() {
            let cell = cell(line, at);
            let fill = " ".repeat(width - columns(&cell));
            text += &if at == 0 { format!(" {cell}{fill} |") } else { format!(" {fill}{cell} |") };
        }
        text + "\n"
    };
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        text += &write(line);
        if index == 0 {
            let rule: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| if at == 0 { "-".repeat(*width) } else { "-".repeat(width - 1) + ":" })
                .collect();
            text += &format!("| {} |\n", rule.join(" | "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_read_as_they_are() {
        let lines = [["variant", "median"], ["日本", "10 ns"], ["b", "1"]];
        let lines: Vec<Vec<String>> = lines.iter().map(|line| line.map(str::to_owned).to_vec()).collect();
        assert_eq!(
            table(&lines),
            "| variant | median |\n| ------- | -----: |\n| 日本    |  10 ns |\n| b       |      1 |\n"
        );
    }

    #[test]
    fn no_name_is_markup() {
        assert_eq!(word("<b>|*x*\n`"), "&lt;b&gt;\\|\\*x\\*\\\\n\\`");
    }
}
