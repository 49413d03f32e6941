//! Times of single operations: the tail that a mean of many hides.

use maud::{Markup, html};

use super::duration;
use crate::report::{
    chart::{self, Axis, Spread},
    model::{ExperimentReport, OperationRow},
    number,
    text::safe,
};

pub(super) fn write(report: &ExperimentReport) -> Markup {
    let times = report.operations.iter().flat_map(|row| [row.p50_ns, row.p99_9_ns]);
    let axis = Axis::around(times.map(|ns| ns as f64), [10.0, 1000.0]);
    html! {
        @if !report.operations.is_empty() {
            h3 { "One operation at a time" }
            p.aside {
                "From a pass of its own, with the reading of the clock before and after each in the time. Dot: median, thick
                line: to the 99th percentile, thin: to the 99.9th."
            }
        }
        @for rows in report.operations.chunk_by(|one, other| one.case == other.case) {
            table.chart {
                caption { b { (safe(&rows[0].case)) } " · " (safe(&rows[0].operation)) }
                thead { tr {
                    th scope="col" { "variant" }
                    @for head in ["timed", "p50", "p99", "p99.9", "max", "woken/million"] { th.n scope="col" { (head) } }
                    th.plot scope="col" { (chart::scale(axis, duration, None)) }
                } }
                tbody { @for row in rows { (line(row, axis)) } }
            }
        }
    }
}

fn line(row: &OperationRow, axis: Axis) -> Markup {
    let name = safe(&row.variant);
    let [p50, p99, p99_9, max] = [row.p50_ns, row.p99_ns, row.p99_9_ns, row.max_ns].map(number::whole_ns);
    let words = format!("{name}: median {p50}, 99th percentile {p99}, 99.9th {p99_9}");
    let spread = Spread {
        middle: Some(row.p50_ns as f64),
        near: Some([row.p50_ns as f64, row.p99_ns as f64]),
        far: Some([row.p99_ns as f64, row.p99_9_ns as f64]),
        floor: None,
    };
    html! {
        tr {
            th scope="row" { (name) }
            td.n { (number::count(row.n)) }
            @for time in [p50, p99, p99_9, max] { td.n { (time) } }
            td.n { (number::count(row.wakeups_per_million.round() as u64)) }
            td.plot { (chart::spread(axis, spread, "rust", &words)) }
        }
    }
}
