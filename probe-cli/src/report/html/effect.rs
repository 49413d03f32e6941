//! What each factor of a factorial does alone.

use maud::{Markup, html};

use super::{case::LEAST, mark};
use crate::report::{
    chart::{self, Axis, Interval},
    model::{Effect, ExperimentReport},
    number,
    text::safe,
};

pub(super) fn write(report: &ExperimentReport) -> Markup {
    let axis = Axis::around(report.effects.iter().flat_map(|effect| effect.ratio.ci95), LEAST);
    let cases: Vec<&[Effect]> = report.effects.chunk_by(|one, other| one.case == other.case).collect();
    html! {
        @if !cases.is_empty() {
            h3 { "One factor at a time" }
            p.aside { "Time with the factor over time without it, all other factors averaged over." }
        }
        @for effects in cases {
            @let noise = report.cases.iter().find(|case| case.name == effects[0].case)
                .and_then(|case| case.noise_floor).map(|floor| floor.ratio_ci95);
            table.chart {
                caption { b { (safe(&effects[0].case)) } }
                thead { tr {
                    th scope="col" { "factor" }
                    th.n scope="col" { "time, 95 %" }
                    th.plot scope="col" { (chart::scale(axis, mark, Some(["faster", "slower"]))) }
                } }
                tbody {
                    @for effect in effects {
                        @let label = format!("{}: {} vs {}", safe(&effect.factor), safe(&effect.level), safe(&effect.reference));
                        tr {
                            th scope="row" { (label) }
                            td.n { (number::bare_ratio(&effect.ratio)) }
                            td.plot {
                                (chart::interval(axis, Interval {
                                    value: Some(effect.ratio.value), ci95: Some(effect.ratio.ci95), noise,
                                    smallest_effect: Some(report.claim.smallest_effect),
                                }, &format!("{label}: {}", number::bare_ratio(&effect.ratio))))
                            }
                        }
                    }
                }
            }
        }
    }
}
