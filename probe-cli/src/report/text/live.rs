//! The live kernel beside the lab: every row with its instrument's cost and its losses.

use super::{
    number,
    paint::Style,
    refusal,
    table::{Column, Table},
    words::{brief, gathered, hanging, safe},
};
use crate::report::model::LiveRow;

/// Longest question or reason that is shown whole.
const LONGEST: usize = 360;
/// A number that is not known.
const UNKNOWN: &str = "?";
const HEADS: [&str; 13] = [
    "tasks", "p50", "p90", "p99", "max", "n/calls", "floor", "adds", "bystd.", "lost", "unm.", "fl.", "back",
];

pub(super) fn write(rows: &[LiveRow], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table =
        Table::new([&[Column::Right(4)], [Column::Right(2); HEADS.len() - 1].as_slice()].concat());
    table.row(HEADS.map(str::to_owned));
    // Rows that differ in their tasks alone share their words.
    for group in rows.chunk_by(|one, other| words(one) == words(other)) {
        table.words(hanging("  live  ", &words(&group[0]), style.width));
        for row in group {
            table.row(numbers(row));
        }
    }
    let mut page = table.write(style.width);
    let others = rows.iter().flat_map(|row| Reason::of(row).others);
    for (why, names) in gathered(others) {
        page += &hanging("    not by ", &format!("{why} ({})", names.join(", ")), style.width);
    }
    page + &legend(rows, style)
}

/// What was asked, who answered, and what the answer includes.
fn words(row: &LiveRow) -> String {
    let mut target = vec![safe(&row.target)];
    match (row.size_lo, row.size_hi) {
        (Some(lo), Some(hi)) if hi == lo.saturating_add(1) => target.push(format!("{lo} B")),
        (Some(lo), Some(hi)) => target.push(format!("{lo} to {} B", hi.saturating_sub(1))),
        (Some(lo), None) => target.push(format!("{lo} B and more")),
        (None, Some(hi)) => target.push(format!("under {hi} B")),
        (None, None) => {}
    }
    let reason = Reason::of(row);
    let answered = match reason.answered {
        Some(answered) => answered,
        None if row.backend == "none" => "not measured".to_owned(),
        None => safe(&row.backend),
    };
    let rest = [answered, brief(&row.question, LONGEST), brief(&reason.rest.join("; "), LONGEST)];
    let rest: Vec<String> = rest.into_iter().filter(|text| !text.is_empty()).collect();
    format!("{}: {}", target.join(", "), rest.join(" · "))
}

/// A row's reason, taken apart where it has the form `x by fentry; y by kprobe: refusal`.
struct Reason<'a> {
    /// What answered, and by which mechanism.
    answered: Option<String>,
    /// Mechanism and why it did not answer; what it was asked for.
    others: Vec<(String, String)>,
    /// What has another form.
    rest: Vec<&'a str>,
}

impl<'a> Reason<'a> {
    fn of(row: &'a LiveRow) -> Self {
        let mut reason = Self { answered: None, others: Vec::new(), rest: Vec::new() };
        for part in refusal::parts(&row.reason) {
            match part.split_once(" by ") {
                Some((_, backend)) if backend == row.backend => reason.answered = Some(safe(part)),
                _ => match refusal::reason(part) {
                    Some(refused) => reason.others.push(refused),
                    None => reason.rest.push(part),
                },
            }
        }
        reason
    }
}

fn numbers(row: &LiveRow) -> Vec<String> {
    let ns = |value: Option<u64>| value.map_or_else(|| UNKNOWN.to_owned(), number::count);
    let signed = |value: Option<i64>| value.map_or_else(|| UNKNOWN.to_owned(), number::grouped);
    let tasks = if row.threads == 0 { UNKNOWN.to_owned() } else { row.threads.to_string() };
    vec![
        tasks + if row.oversubscribed { "*" } else { "" },
        ns(row.p50_ns) + if row.probe_bound { "!" } else { "" },
        ns(row.p90_ns),
        ns(row.p99_ns),
        ns(row.max_ns),
        format!("{}/{}", number::count(row.n), ns(row.calls)),
        ns(row.floor_ns),
        signed(row.added_ns),
        signed(row.bystander_ns),
        format!("{}+{}", number::count(row.dropped), ns(row.missed)),
        number::count(row.unmatched),
        number::count(row.in_flight),
        number::count(row.clock_regressions),
    ]
}

/// The signs and short words of the table.
fn legend(rows: &[LiveRow], style: Style) -> String {
    let mut parts = vec![
        "ns; bystd.: bystanders; lost: dropped + missed; unm.: unmatched; fl.: in flight; back: clock back",
    ];
    let unknown = rows.iter().flat_map(numbers).any(|cell| cell.contains(UNKNOWN));
    let signs = [
        (rows.iter().any(|row| row.oversubscribed), "* oversubscribed: feeds no verdict"),
        (rows.iter().any(|row| row.probe_bound), "! probe-bound: under three times the floor, no verdict"),
        (unknown, "? not known: nothing measured, or not told"),
    ];
    parts.extend(signs.iter().filter(|(used, _)| *used).map(|(_, sign)| *sign));
    hanging("    ", &parts.join(" · "), style.width)
}
