//! Two sides as one page: the strips, axes and colours of the report's.

use maud::{Markup, html};

use super::{
    Ab, Row,
    judge::{RESOLUTION, method},
    table::{live, probes, side, summary},
};
use crate::{
    compare::Verdict,
    report::{
        chart::{self, Axis, Interval},
        html::{document, mark},
        number,
        text::safe,
    },
};

/// `found` as a whole document.
#[must_use]
pub fn page(found: &Ab) -> String {
    let ends =
        found.rows.iter().flat_map(|row| row.ratio.map(|ratio| ratio.ci95).into_iter().chain(row.noise));
    let axis = Axis::around(ends.flatten(), [0.8, 1.25]);
    document(
        "Hot-path lab, A against B",
        &html! {
            header {
                h1 { "A against B" }
                p.run { b { "A: " } (side(&found.a)) }
                p.run { b { "B: " } (side(&found.b)) }
                @if let Some(load) = &found.load { p.run { b { "Load: " } (safe(load)) } }
                @if let Some(undo) = &found.undo { p.run { b { "Undo: " } (safe(undo)) } }
                p.question { (summary(found)) "." }
                p.aside {
                    (found.pairs) " pairs of launches, " (safe(&found.started)) ", kernel " (safe(&found.host.kernel))
                    ". Method: " (method(found.threshold)) ". Above 1, B takes longer. Band: each side against itself.
                    Dotted lines: the smallest change of interest."
                }
                @if found.interrupted { p.notice { "Interrupted: these are the pairs of launches until then." } }
                @if !found.warnings.is_empty() {
                    ul.warnings {
                        @for warning in &found.warnings { li { b { (safe(&warning.code)) } ": " (safe(&warning.text)) } }
                    }
                }
            }
            section.experiment {
                h2 { "Rows" }
                table.chart {
                    thead { tr {
                        th scope="col" { "what" }
                        th.n scope="col" { "A" }
                        th.n scope="col" { "B" }
                        th.n scope="col" { "B / A, 95 %" }
                        th.plot scope="col" { (chart::scale(axis, mark, Some(["faster", "slower"]))) }
                        th scope="col" { "verdict" }
                    } }
                    tbody { @for row in &found.rows { (line(row, found, axis)) } }
                }
            }
            @if !found.live.is_empty() {
                section.experiment {
                    h2 { "Live targets, all launches of a side together" }
                    @for target in &found.live {
                        h3 { (safe(&target.a.target)) " by " (safe(&target.a.backend)) }
                        p { b { "A: " } (live(&target.a)) }
                        p { b { "B: " } (live(&target.b)) }
                        p.aside { (safe(&target.a.question)) }
                    }
                    @if let Some(words) = probes(found) { p.aside { "Probes: " (words) "." } }
                }
            }
        },
    )
}

fn line(row: &Row, found: &Ab, axis: Axis) -> Markup {
    let time =
        |value: Option<f64>| value.map_or_else(|| number::NONE.to_owned(), |value| number::time(value, "ns"));
    let ratio = row.ratio.as_ref().map_or_else(|| number::NONE.to_owned(), number::bare_ratio);
    let class = match row.verdict {
        Verdict::Regression => "badge bad",
        Verdict::Improvement => "badge good",
        Verdict::NoDifference => "badge",
        Verdict::Inconclusive | Verdict::NotComparable => "badge doubt",
    };
    let of_live = found.live.iter().any(|live| row.name.starts_with(&live.a.target));
    let threshold = if of_live { found.threshold.max(RESOLUTION) } else { found.threshold };
    html! {
        tr {
            th scope="row" { (safe(&row.name)) }
            td.n { (time(row.a)) }
            td.n { (time(row.b)) }
            td.n { (ratio) }
            td.plot {
                (chart::interval(axis, Interval {
                    value: row.ratio.map(|ratio| ratio.value),
                    ci95: row.ratio.map(|ratio| ratio.ci95),
                    noise: row.noise,
                    smallest_effect: Some(threshold),
                }, &format!("{}: {ratio}, {}", safe(&row.name), row.verdict.name())))
            }
            td { span class=(class) { (row.verdict.name()) } small { (safe(&row.why)) } }
        }
    }
}
