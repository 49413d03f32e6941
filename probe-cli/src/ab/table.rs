//! Two sides as text, as Markdown and as CSV.

use std::fmt::Write as _;

use super::{Ab, Row, SideReport, judge::method};
use crate::{
    compare::Verdict,
    report::{
        csv::{self, known, line},
        markdown,
        model::LiveRow,
        number,
        text::{
            Style,
            paint::Role,
            safe,
            words::{columns, hanging, left, right},
        },
    },
};

const HEADS: [&str; 7] = ["", "A", "B", "B/A", "95 %", "A/A", "verdict"];

fn cells(row: &Row) -> [String; 7] {
    let time =
        |value: Option<f64>| value.map_or_else(|| number::NONE.to_owned(), |value| number::time(value, "ns"));
    let ends = |ends: Option<[f64; 2]>| ends.map_or_else(String::new, |[lo, hi]| number::interval(lo, hi));
    [
        safe(&row.name),
        time(row.a),
        time(row.b),
        row.ratio.map_or_else(|| number::NONE.to_owned(), |ratio| number::short(ratio.value)),
        ends(row.ratio.map(|ratio| ratio.ci95)),
        ends(row.noise),
        row.verdict.name().to_owned(),
    ]
}

/// What a side was, in words.
pub(super) fn side(side: &SideReport) -> String {
    let setup = side.setup.as_ref().map(|setup| format!("after `{}`", safe(setup)));
    let command = side.command.as_deref().map(safe);
    let parts: Vec<String> = command.into_iter().chain(setup).collect();
    if parts.is_empty() { "as the machine is".to_owned() } else { parts.join(", ") }
}

/// Head lines: label and words.
fn head(found: &Ab) -> Vec<(&'static str, String)> {
    let mut lines = vec![("A", side(&found.a)), ("B", side(&found.b))];
    lines.extend(found.load.as_deref().map(|load| ("load", safe(load))));
    lines.extend(found.undo.as_deref().map(|undo| ("undo", safe(undo))));
    lines
}

/// A live row, in a line.
pub(super) fn live(row: &LiveRow) -> String {
    let ns = |value: Option<u64>| value.map_or_else(|| number::NONE.to_owned(), number::whole_ns);
    let lost = [row.dropped, row.unmatched, row.missed.unwrap_or(0)].into_iter().fold(0, u64::saturating_add);
    format!(
        "n {} · p50 {} · p99 {} · max {} · floor {} · adds {} · bystanders {} · lost {lost}{}",
        number::count(row.n),
        ns(row.p50_ns),
        ns(row.p99_ns),
        ns(row.max_ns),
        ns(row.floor_ns),
        row.added_ns.map_or_else(|| "?".to_owned(), number::grouped),
        row.bystander_ns.map_or_else(|| "?".to_owned(), number::grouped),
        if row.probe_bound { " · probe-bound" } else { "" }
    )
}

/// All verdicts that occur, counted.
pub(super) fn summary(found: &Ab) -> String {
    let counted = Verdict::ALL.map(|verdict| (found.count(verdict), verdict.name()));
    let counted: Vec<String> =
        counted.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
    format!("B against A: {}", counted.join(", "))
}

/// What the probes did to the times, in a sentence.
pub(super) fn probes(found: &Ab) -> Option<String> {
    let [a, b] = found.probes_added?.map(number::percent);
    Some(format!("calls times what a probe adds to one make {a} of the time of A and {b} of that of B"))
}

/// For a terminal.
#[must_use]
pub fn text(found: &Ab, style: Style) -> String {
    let mut page = String::new();
    for (label, words) in head(found) {
        page += &hanging(&format!("{label:<6}"), &words, style.width);
    }
    page.push('\n');
    let body: Vec<[String; 7]> = found.rows.iter().map(cells).collect();
    let mut widths = HEADS.map(columns);
    for row in &body {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    let write = |cells: [&str; 7], role: Option<Role>| {
        let verdict = role.map_or_else(|| cells[6].to_owned(), |role| style.paint(role, cells[6]));
        let numbers: Vec<String> = (1..6).map(|at| right(cells[at], widths[at])).collect();
        format!("  {}  {}  {verdict}", left(cells[0], widths[0]), numbers.join("  ")).trim_end().to_owned()
            + "\n"
    };
    page += &write(HEADS, None);
    for (row, cells) in found.rows.iter().zip(&body) {
        page += &write(cells.each_ref().map(String::as_str), Some(role(row.verdict)));
        if row.verdict == Verdict::Inconclusive {
            page += &hanging("    ", &safe(&row.why), style.width);
        }
    }
    for target in &found.live {
        let _ = write!(page, "\n  {} by {}\n", safe(&target.a.target), safe(&target.a.backend));
        for (name, row) in [("A", &target.a), ("B", &target.b)] {
            page += &hanging(&format!("    {name}  "), &live(row), style.width);
        }
    }
    page.push('\n');
    if let Some(words) = probes(found) {
        page += &hanging("probes  ", &words, style.width);
    }
    for warning in &found.warnings {
        page += &hanging(&format!("{}: ", safe(&warning.code)), &safe(&warning.text), style.width);
    }
    if found.interrupted {
        page += &hanging("", "interrupted: these are the pairs of launches until then", style.width);
    }
    let words = format!("{}; {} pairs, {}", summary(found), found.pairs, method(found.threshold));
    page += &hanging("so      ", &words, style.width);
    page.replace(number::GAP, " ")
}

const fn role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Regression => Role::Bad,
        Verdict::Improvement => Role::Good,
        Verdict::NoDifference | Verdict::Inconclusive | Verdict::NotComparable => Role::Aside,
    }
}

/// For a mail or a forge.
#[must_use]
pub fn markdown(found: &Ab) -> String {
    let mut page = String::new();
    for (label, words) in head(found) {
        let _ = writeln!(page, "* {label}: {}", markdown::word(&words));
    }
    let _ = writeln!(
        page,
        "* {}, kernel {}\n",
        markdown::word(&found.started),
        markdown::word(&found.host.kernel)
    );
    let mut lines = vec![HEADS.map(str::to_owned).to_vec()];
    lines.extend(found.rows.iter().map(|row| cells(row).map(|cell| markdown::word(&cell)).to_vec()));
    page += &markdown::table(&lines);
    for target in &found.live {
        for (name, row) in [("A", &target.a), ("B", &target.b)] {
            let words = live(row);
            let _ = write!(
                page,
                "\n{name}, {} by {}: {}\n",
                markdown::word(&row.target),
                markdown::word(&row.backend),
                markdown::word(&words)
            );
        }
    }
    if let Some(words) = probes(found) {
        let _ = writeln!(page, "\nProbes: {words}.");
    }
    for warning in &found.warnings {
        let _ = writeln!(page, "\n{}: {}", markdown::word(&warning.code), markdown::word(&warning.text));
    }
    let _ = writeln!(page, "\n**{}**; {} pairs, {}.", summary(found), found.pairs, method(found.threshold));
    page.replace(number::GAP, " ")
}

/// For a spreadsheet.
#[must_use]
pub fn csv(found: &Ab) -> String {
    let heads = [
        "name", "unit", "a", "b", "ratio", "ratio_lo", "ratio_hi", "noise_lo", "noise_hi", "q", "verdict",
        "why",
    ];
    let mut page = line(heads.map(str::to_owned));
    for row in &found.rows {
        let value = |value: Option<f64>| known("", value).1;
        page += &line([
            csv::word(&row.name),
            csv::word(&row.unit),
            value(row.a),
            value(row.b),
            value(row.ratio.map(|ratio| ratio.value)),
            value(row.ratio.map(|ratio| ratio.ci95[0])),
            value(row.ratio.map(|ratio| ratio.ci95[1])),
            value(row.noise.map(|ends| ends[0])),
            value(row.noise.map(|ends| ends[1])),
            value(row.q),
            row.verdict.name().to_owned(),
            csv::word(&row.why),
        ]);
    }
    page
}
