//! The live kernel beside the lab: every row with its instrument's cost and its losses.

use super::{
    number::{self, GAP},
    paint::Style,
    words::{brief, hanging, safe},
};
use crate::report::model::LiveRow;

const LABEL: &str = "  live  ";
/// Longest question or reason that is shown whole.
const LONGEST: usize = 360;
const BELOW: &str = "        ";

pub(super) fn write(rows: &[LiveRow], style: Style) -> String {
    let mut page = String::new();
    for (index, row) in rows.iter().enumerate() {
        page += &hanging(LABEL, &what(row), style.width);
        page += &hanging(BELOW, &numbers(row), style.width);
        // Rows that differ in their tasks alone share their words.
        let next = rows.get(index + 1);
        if !next.is_some_and(|next| same_words(row, next)) {
            page += &words(row).map_or_else(String::new, |words| hanging(BELOW, &words, style.width));
        }
    }
    page
}

fn same_words(one: &LiveRow, other: &LiveRow) -> bool {
    // Reasons may differ in what means nothing, such as the number of a descriptor.
    (&one.target, &one.question, &one.backend) == (&other.target, &other.question, &other.backend)
}

fn what(row: &LiveRow) -> String {
    let mut parts = vec![safe(&row.target)];
    match (row.size_lo, row.size_hi) {
        (Some(lo), Some(hi)) if hi == lo.saturating_add(1) => parts.push(format!("{lo} B")),
        (Some(lo), Some(hi)) => parts.push(format!("{lo} to {} B", hi.saturating_sub(1))),
        (Some(lo), None) => parts.push(format!("{lo} B and more")),
        (None, Some(hi)) => parts.push(format!("under {hi} B")),
        (None, None) => {}
    }
    match row.threads {
        0 => {}
        tasks => parts.push(number::counted(tasks as usize, "task", "tasks")),
    }
    parts.push(if row.backend == "none" { "not measured".to_owned() } else { safe(&row.backend) });
    let mut text = parts.join(", ");
    if row.oversubscribed {
        text += " · oversubscribed";
    }
    if row.probe_bound {
        text += " · probe-bound: under three times the floor, no verdict";
    }
    text
}

fn numbers(row: &LiveRow) -> String {
    let ns = |value: Option<u64>| value.map_or_else(|| number::NONE.to_owned(), number::count);
    let signed = |value: Option<i64>| value.map_or_else(|| number::NONE.to_owned(), number::grouped);
    let calls = row.calls.map_or_else(String::new, |calls| format!(" of {} calls", number::count(calls)));
    let lost = row.dropped.saturating_add(row.missed.unwrap_or(0));
    let missed =
        row.missed.map_or_else(|| "missed not told".to_owned(), |n| format!("missed {}", number::count(n)));
    let quantiles = row.p50_ns.map_or_else(String::new, |p50| {
        let [p90, p99, max] = [row.p90_ns, row.p99_ns, row.max_ns].map(ns);
        format!("{} ns p50, {p90} p90, {p99} p99, {max} max, ", number::count(p50))
    });
    [
        format!("{quantiles}n {}{calls}", number::count(row.n)),
        format!("floor{GAP}{}", ns(row.floor_ns)),
        format!("adds{GAP}{}", signed(row.added_ns)),
        format!("bystanders{GAP}{}", signed(row.bystander_ns)),
        format!("lost {} (dropped {}, {missed})", number::count(lost), number::count(row.dropped)),
        format!("unmatched{GAP}{}", number::count(row.unmatched)),
        format!("in{GAP}flight{GAP}{}", number::count(row.in_flight)),
        format!("clock{GAP}back{GAP}{}", number::count(row.clock_regressions)),
    ]
    .join(" · ")
}

fn words(row: &LiveRow) -> Option<String> {
    let parts: Vec<String> = [&row.question, &row.reason]
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| brief(text, LONGEST))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}
