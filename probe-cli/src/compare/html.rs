//! A comparison as one page: the same strips, axes and colours as the report's.

use maud::{Markup, html};

use super::{Comparison, Row, Verdict, table::method};
use crate::report::{
    chart::{self, Axis, Interval},
    html::{document, mark},
    number,
    text::safe,
};

/// `found` as a whole document.
#[must_use]
pub fn page(found: &Comparison) -> String {
    let ends = found.rows.iter().filter_map(|row| row.ratio).flat_map(|ratio| ratio.ci95);
    let axis = Axis::around(ends, [0.8, 1.25]);
    document(
        "Hot-path lab, two runs compared",
        &html! {
            header {
                h1 { "Two runs compared" }
                @for (name, side) in [("Base", &found.base), ("New", &found.new)] {
                    p.run {
                        b { (name) } ": " (safe(&side.file)) " · " (safe(&side.started)) " · kernel " (safe(&side.host.kernel))
                    }
                }
                p.question { (found.summary()) "." }
                p.aside { "Method: " (method(found)) ". Above 1 is slower. Dotted lines: the smallest change of interest." }
                @for why in &found.not_comparable { p.notice { "Not comparable: " (safe(why)) } }
                @if !found.differences.is_empty() {
                    ul.warnings { @for difference in &found.differences { li { "Differs: " (safe(difference)) } } }
                }
            }
            @for rows in found.rows.chunk_by(|one, other| one.experiment == other.experiment) {
                section.experiment {
                    h2 { (safe(&rows[0].experiment)) }
                    @for rows in rows.chunk_by(|one, other| one.case == other.case) { (case(rows, found.threshold, axis)) }
                }
            }
        },
    )
}

fn case(rows: &[Row], threshold: f64, axis: Axis) -> Markup {
    html! {
        table.chart {
            caption { b { (safe(&rows[0].case)) } " · " (safe(&rows[0].unit)) }
            thead { tr {
                th scope="col" { "variant" }
                th.n scope="col" { "base" }
                th.n scope="col" { "new" }
                th.n scope="col" { "new / base, 95 %" }
                th.plot scope="col" { (chart::scale(axis, mark, Some(["faster", "slower"]))) }
                th scope="col" { "verdict" }
            } }
            tbody { @for row in rows { (line(row, threshold, axis)) } }
        }
    }
}

fn line(row: &Row, threshold: f64, axis: Axis) -> Markup {
    let symbol = safe(row.unit.split(' ').next().unwrap_or_default());
    let time = |value: Option<f64>| {
        value.map_or_else(|| number::NONE.to_owned(), |value| number::time(value, &symbol))
    };
    let ratio = row.ratio.as_ref().map_or_else(|| number::NONE.to_owned(), number::bare_ratio);
    let class = match row.verdict {
        Verdict::Regression => "badge bad",
        Verdict::Improvement => "badge good",
        Verdict::NoDifference => "badge",
        Verdict::Inconclusive | Verdict::NotComparable => "badge doubt",
    };
    html! {
        tr {
            th scope="row" {
                (safe(&row.name))
                @if let Some(against) = &row.against { small { "by its ratio to " (safe(against)) } }
            }
            td.n { (time(row.base)) }
            td.n { (time(row.new)) }
            td.n { (ratio) }
            td.plot {
                (chart::interval(axis, Interval {
                    value: row.ratio.map(|ratio| ratio.value),
                    ci95: row.ratio.map(|ratio| ratio.ci95),
                    noise: None,
                    smallest_effect: Some(threshold),
                }, &format!("{}, {}: {ratio}, {}", safe(&row.case), safe(&row.name), row.verdict.name())))
            }
            td { span class=(class) { (row.verdict.name()) } small { (safe(&row.why)) } }
        }
    }
}
