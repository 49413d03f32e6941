//! The live kernel beside the lab, on one axis of time, and what its instrument cost.

use maud::{Markup, html};

use super::{duration, wide};
use crate::report::{
    chart::{self, Axis, Spread},
    model::{CaseReport, ExperimentReport, LiveRow, VariantRow},
    number, refusal,
    text::{safe, words::brief},
};

/// Longest reason that is shown whole.
const LONGEST: usize = 400;

pub(super) fn write(report: &ExperimentReport) -> Markup {
    html! {
        @if !report.live.is_empty() {
            h3 { "The live kernel beside it" }
            (beside(report))
            (quality(&report.live))
        }
    }
}

/// What a row times: target and size.
pub(super) fn target(row: &LiveRow) -> String {
    let size = match (row.size_lo, row.size_hi) {
        (Some(lo), Some(hi)) if hi == lo.saturating_add(1) => format!(", {lo} B"),
        (Some(lo), Some(hi)) => format!(", {lo} to {} B", hi.saturating_sub(1)),
        (Some(lo), None) => format!(", {lo} B and more"),
        (None, Some(hi)) => format!(", under {hi} B"),
        (None, None) => String::new(),
    };
    format!("{}{size}", safe(&row.target))
}

/// Baseline and fastest variant of each case: between them lies what the lab says.
fn ends(report: &ExperimentReport) -> Vec<(&CaseReport, &VariantRow)> {
    let mut ends = Vec::new();
    for case in &report.cases {
        let rows = || {
            let timed = |row: &&VariantRow| row.named && row.median.is_some() && row.unit.starts_with("ns");
            report.variants.iter().filter(|row| row.case == case.name).filter(timed)
        };
        let baseline = rows().find(|row| row.name == case.baseline);
        let fastest = rows()
            .filter(|row| row.name != case.baseline)
            .min_by(|a, b| a.median.unwrap_or(f64::MAX).total_cmp(&b.median.unwrap_or(f64::MAX)));
        ends.extend(baseline.into_iter().chain(fastest).map(|row| (case, row)));
    }
    ends
}

fn beside(report: &ExperimentReport) -> Markup {
    let lab = ends(report);
    let rust = lab.iter().flat_map(|(_, row)| row.ci95.into_iter().flatten().chain(row.median));
    let kernel = report.live.iter().flat_map(|row| [row.p50_ns, row.p99_ns, row.floor_ns]);
    let axis = Axis::around(rust.chain(kernel.flatten().map(|ns| ns as f64)), [100.0, 1000.0]);
    html! {
        p.aside {
            "Rust rows, in green, are the routine alone, read from the clock inside the program: baseline and fastest variant
            of each case. Kernel rows, in purple, are whole calls as a probe sees them (dot: median, thick line: to the 90th
            percentile, thin: to the 99th), with entry, locks, copies and page faults that the Rust rows leave out. The red
            line is the probe's floor, the shortest time it can report; in the shaded part, under three times the floor, a
            median says nothing."
        }
        table.chart {
            caption { "Rust and the live kernel on one axis of time" }
            thead { tr {
                th scope="col" { "what" }
                th.n scope="col" { "median" }
                th.n scope="col" { "99th pct." }
                th.plot scope="col" { (chart::scale(axis, duration, None)) }
            } }
            tbody {
                @for (case, row) in &lab { (rust_row(case, row, axis)) }
            }
            tbody {
                @for row in &report.live { (kernel_row(row, axis)) }
            }
        }
    }
}

fn rust_row(case: &CaseReport, row: &VariantRow, axis: Axis) -> Markup {
    let median = row.median.map_or_else(|| number::NONE.to_owned(), |median| number::time(median, "ns"));
    html! {
        tr {
            th scope="row" {
                (safe(&case.name)) ": " (safe(&row.name))
                @if case.oversubscribed { " " span.badge.doubt { "oversubscribed" } }
                small { "Rust, " (safe(&row.unit)) }
            }
            td.n { (median) }
            td.n {}
            td.plot {
                (chart::spread(axis, Spread { middle: row.median, near: row.ci95, ..Spread::default() }, "rust",
                    &format!("Rust, {}, {}: median {median}", safe(&case.name), safe(&row.name))))
            }
        }
    }
}

fn kernel_row(row: &LiveRow, axis: Axis) -> Markup {
    let ns = |value: Option<u64>| value.map(|ns| ns as f64);
    let shown = |value: Option<u64>| value.map_or_else(|| number::NONE.to_owned(), number::whole_ns);
    let spread = Spread {
        middle: ns(row.p50_ns),
        near: ns(row.p50_ns).zip(ns(row.p90_ns)).map(Into::into),
        far: ns(row.p90_ns).zip(ns(row.p99_ns)).map(Into::into),
        floor: ns(row.floor_ns),
    };
    let words = format!(
        "kernel, {}: median {}, 99th percentile {}, floor {}",
        target(row),
        shown(row.p50_ns),
        shown(row.p99_ns),
        shown(row.floor_ns)
    );
    html! {
        tr {
            th scope="row" {
                (target(row))
                @if row.oversubscribed { " " span.badge.doubt { "oversubscribed" } }
                @if row.probe_bound { " " span.badge.doubt { "probe-bound: no verdict" } }
                small {
                    "kernel, " (by(row))
                    @if row.threads > 0 { ", " (number::counted(row.threads as usize, "task", "tasks")) }
                }
            }
            td.n { (shown(row.p50_ns)) }
            td.n { (shown(row.p99_ns)) }
            td.plot { (chart::spread(axis, spread, "kernel", &words)) }
        }
    }
}

fn by(row: &LiveRow) -> String {
    if row.backend == "none" { "not measured".to_owned() } else { format!("by {}", safe(&row.backend)) }
}

fn quality(rows: &[LiveRow]) -> Markup {
    let count = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), number::count);
    let signed = |value: Option<i64>| value.map_or_else(|| "?".to_owned(), number::grouped);
    html! {
        details {
            summary { "All numbers of the live rows, what the probes added, and what was lost" }
            (wide(&html! {
                table {
                    caption { "ns; ? is not known: nothing measured, or not told by the kernel" }
                    thead { tr {
                        th scope="col" { "target" }
                        @for head in [
                            "tasks", "p50", "p90", "p99", "max", "n", "calls", "floor", "adds", "bystanders", "dropped",
                            "missed", "unmatched", "in flight", "clock back",
                        ] { th.n scope="col" { (head) } }
                    } }
                    tbody {
                        @for row in rows {
                            tr {
                                th scope="row" { (target(row)) }
                                @for cell in [
                                    row.threads.to_string(), count(row.p50_ns), count(row.p90_ns), count(row.p99_ns),
                                    count(row.max_ns), number::count(row.n), count(row.calls), count(row.floor_ns),
                                    signed(row.added_ns), signed(row.bystander_ns), number::count(row.dropped),
                                    count(row.missed), number::count(row.unmatched), number::count(row.in_flight),
                                    number::count(row.clock_regressions),
                                ] { td.n { (cell) } }
                            }
                        }
                    }
                }
            }))
            @for row in rows.chunk_by(|one, other| (&one.question, &one.reason) == (&other.question, &other.reason)) {
                p.aside {
                    b { (target(&row[0])) } ": " (safe(&row[0].question)) ". "
                    "Answered by: " (refusal::short(&brief(&row[0].reason, LONGEST)))
                }
            }
        }
    }
}
