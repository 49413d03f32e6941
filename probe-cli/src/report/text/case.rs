//! The cases of an experiment: their variants against the baseline, and what stands behind the numbers.

use super::{
    number,
    paint::{Role, Style},
    table::{Column, Table},
    words::{gathered, hanging, named, safe},
};
use crate::{
    harness::drops::WITNESS_TOLERANCE,
    report::model::{CaseReport, ExperimentReport, VariantRow},
    stats::verdict::MAX_DROP_RATE,
};

/// Launches whose CPUs were so many times nearer to each other than in others are worth a word.
const NEIGHBOURS_DIFFER: f64 = 1.5;

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    if report.cases.is_empty() {
        return "  nothing of it was measured\n".to_owned();
    }
    let probed = report.variants.iter().any(|row| row.named && row.kernel.is_some());
    let mut table =
        Table::new([Column::Left(4), Column::Right(2), Column::Right(2), Column::Left(4), Column::Left(2)]);
    let mut last_head = Vec::new();
    for case in &report.cases {
        let rows: Vec<&VariantRow> = report.variants.iter().filter(|row| row.case == case.name).collect();
        table.words(title(case, rows.first().map_or("", |row| &row.unit), style));
        let head = head(case, &rows, probed);
        if head != last_head {
            table.row(head.clone());
            last_head = head;
        }
        let mut noise = case.noise_floor.map(|floor| {
            let [lo, hi] = floor.ratio_ci95;
            format!("{} noise (A/A)", number::interval(lo, hi))
        });
        let shown = || rows.iter().copied().filter(|row| row.named);
        for row in shown() {
            let beside = if row.name == case.baseline && row.median.is_some() { noise.take() } else { None };
            table.row(variant(row, case, probed, beside));
        }
        let reasons = shown().filter(|row| row.median.is_some());
        let reasons = reasons.filter_map(|row| Some((safe(row.reason.as_ref()?), safe(&row.name))));
        for (reason, names) in gathered(reasons) {
            table.words(hanging("    ", &format!("{}: {reason}", names.join(", ")), style.width));
        }
        table.words(aside("    ", &small_print(case, noise), style));
    }
    table.write(style.width) + &in_common(report, style)
}

/// A unit such as `ns per call`: what the numbers carry, and what is said once.
fn split(unit: &str) -> (&str, &str) {
    unit.split_once(' ').unwrap_or((unit, ""))
}

fn title(case: &CaseReport, unit: &str, style: Style) -> String {
    let mut title = format!(": {}", safe(&case.title));
    let tasks = number::counted(case.threads as usize, "task", "tasks");
    // One task is the rule, and many a title counts them itself.
    if case.threads > 1 && !says(&case.title, &tasks) {
        title += &format!(" ({tasks})");
    }
    let (symbol, rest) = split(unit);
    if !rest.is_empty() {
        title += &format!(" · {} {}", safe(symbol), safe(rest));
    }
    named("  ", &safe(&case.name), &title, style)
}

/// Whether `count` stands in `title`, and not as the end of a larger number.
fn says(title: &str, count: &str) -> bool {
    title.match_indices(count).any(|(at, _)| !title[..at].ends_with(|before: char| before.is_ascii_digit()))
}

fn head(case: &CaseReport, rows: &[&VariantRow], probed: bool) -> Vec<String> {
    let launches = rows.iter().map(|row| row.samples.len()).max().unwrap_or(0);
    let blocks = rows.iter().flat_map(|row| &row.samples).map(Vec::len).max().unwrap_or(0);
    let launches = number::counted(launches, "launch", "launches");
    let blocks = number::counted(blocks, "block", "blocks");
    let against = format!("vs {} (95 %, {launches} x {blocks})", safe(&case.baseline));
    vec![
        String::new(),
        "median".to_owned(),
        if probed { "by probe".to_owned() } else { String::new() },
        against,
    ]
}

fn variant(row: &VariantRow, case: &CaseReport, probed: bool, noise: Option<String>) -> Vec<String> {
    let name = safe(&row.name);
    if !row.available {
        let why = row.unavailable.as_deref().map_or_else(String::new, |why| format!(": {}", safe(why)));
        return vec![name, format!("not on this machine{why}")];
    }
    let symbol = safe(split(&row.unit).0);
    let Some(median) = row.median else {
        let why = row.reason.as_deref().unwrap_or(&row.work_check);
        return vec![name, format!("no median: {}", safe(why))];
    };
    let (ratio, interval) = match &row.ratio_to_baseline {
        _ if row.name == case.baseline => ("1.00".to_owned(), noise.unwrap_or_default()),
        Some(ratio) => number::ratio(ratio),
        None => (number::NONE.to_owned(), String::new()),
    };
    let probe = if probed { number::by_probe(row.kernel.as_ref(), &symbol) } else { String::new() };
    vec![name, number::time(median, &symbol), probe, ratio, interval]
}

/// What a reader should know of this case alone.
fn small_print(case: &CaseReport, noise: Option<String>) -> String {
    let mut parts = Vec::new();
    if case.oversubscribed {
        parts.push("oversubscribed: feeds no verdict".to_owned());
    }
    parts.extend(noise);
    let reasons: Vec<String> =
        case.drops.iter().map(|(reason, n)| format!("{} {}", safe(reason), number::count(*n))).collect();
    let mut dropped = format!("dropped {}", number::percent(case.drop_rate));
    if case.drop_rate > MAX_DROP_RATE {
        dropped += ", so inconclusive";
    }
    if !reasons.is_empty() {
        dropped += &format!(": {}", reasons.join(", "));
    }
    parts.push(dropped);
    if let Some(obtained) = case.huge_page_bytes.filter(|&bytes| bytes > 0) {
        parts.push(format!("huge pages: {}", number::bytes(obtained)));
    }
    if let Some([fastest, slowest]) = case.witness_ns
        && slowest > fastest * (1.0 + WITNESS_TOLERANCE)
    {
        parts.push(format!("frequency varied {:.0}{}%", (slowest / fastest - 1.0) * 100.0, number::GAP));
    }
    if let Some([nearest, farthest]) = case.line_transfer_ns
        && farthest > nearest * NEIGHBOURS_DIFFER
    {
        parts.push(format!(
            "a line went from CPU to CPU in {} to {} from launch to launch",
            number::time(nearest, "ns"),
            number::time(farthest, "ns")
        ));
    }
    parts.join(" · ")
}

/// What several cases share: the rows that are not shown, and the check that all variants do equal work.
fn in_common(report: &ExperimentReport, style: Style) -> String {
    let mut page = String::new();
    let hidden = report.cases.iter().filter_map(|case| {
        let count = report.variants.iter().filter(|row| row.case == case.name && !row.named).count();
        (count > 0).then(|| (count.to_string(), safe(&case.name)))
    });
    for (count, cases) in gathered(hidden) {
        let text =
            format!("and {count} more of the factorial in {}, in the JSON report", span(&cases, report));
        page += &aside("  ", &text, style);
    }
    // Where a row was not timed, its own line says why.
    let checks = report.variants.iter().filter(|row| row.median.is_some() && !row.work_check.is_empty());
    let checks = gathered(checks.map(|row| (safe(&row.work_check), safe(&row.case))));
    let checks: Vec<String> =
        checks.iter().map(|(check, cases)| format!("{}: {check}", span(cases, report))).collect();
    if !checks.is_empty() {
        page += &aside("  equal work  ", &checks.join(" · "), style);
    }
    page
}

/// Names of cases; of three and more that follow each other, the first and the last.
fn span(names: &[String], report: &ExperimentReport) -> String {
    let all: Vec<String> = report.cases.iter().map(|case| safe(&case.name)).collect();
    match names {
        [first, _, .., last] if all.windows(names.len()).any(|window| window == names) => {
            format!("{first} to {last}")
        }
        _ => names.join(", "),
    }
}

fn aside(label: &str, text: &str, style: Style) -> String {
    let text = hanging(label, text, style.width);
    text.lines().map(|line| style.paint(Role::Aside, line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_said_once() {
        assert!(says("reads by 2 tasks", "2 tasks"));
        assert!(!says("reads by 12 tasks", "2 tasks"));
        assert!(!says("reads", "2 tasks"));
    }
}
