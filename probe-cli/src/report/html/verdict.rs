//! What the mail claims, and the two verdicts, in words for who knows the mail and not this tool.

use maud::{Markup, html};

use super::{mark, times};
use crate::report::{
    chart::{self, Axis, Spread},
    model::{ClaimReport, ClaimVerdict, ExperimentReport, Mechanism},
    number,
    text::safe,
    why::Why,
};

pub(super) fn mechanism(verdict: Mechanism) -> Markup {
    let (class, word) = match verdict {
        Mechanism::Confirmed => ("badge good", "✓ confirmed"),
        Mechanism::Contradicted => ("badge bad", "✗ contradicted"),
        Mechanism::Inconclusive => ("badge doubt", "? inconclusive"),
    };
    html! { span class=(class) { (word) } }
}

pub(super) fn claim(verdict: ClaimVerdict) -> Markup {
    let (class, word) = match verdict {
        ClaimVerdict::Reproduced => ("badge good", "✓ reproduced"),
        ClaimVerdict::NotReproduced => ("badge bad", "✗ not reproduced"),
        ClaimVerdict::Inconclusive => ("badge doubt", "? inconclusive"),
        ClaimVerdict::NotTestableHere => ("badge doubt", "– not testable here"),
    };
    html! { span class=(class) { (word) } }
}

const fn mechanism_means(verdict: Mechanism) -> &'static str {
    match verdict {
        Mechanism::Confirmed => "The changed routine does what the mail says it does.",
        Mechanism::Contradicted => {
            "The changed routine does not do what the mail says: it makes no difference of interest, or the opposite one."
        }
        Mechanism::Inconclusive => "These measurements do not decide it, one way or the other.",
    }
}

const fn claim_means(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Reproduced => {
            "The effect that the mail reports is seen here, at the level where the mail saw it."
        }
        ClaimVerdict::NotReproduced => {
            "At the level where the mail saw its effect, there is none of interest here."
        }
        ClaimVerdict::Inconclusive => {
            "It was measured at the mail's level, and the interval does not decide it."
        }
        ClaimVerdict::NotTestableHere => {
            "This run could not put the mail's question at the mail's level, and says nothing about its figure."
        }
    }
}

pub(super) fn write(report: &ExperimentReport) -> Markup {
    let verdict = &report.verdict;
    let why = Why::of(&verdict.why);
    html! {
        (claimed(&report.claim))
        div.verdicts {
            section.card {
                h3 { "The mechanism" }
                p.asked { "Does the changed routine do what the mail says, at its own level, on equal work?" }
                p { (mechanism(verdict.mechanism)) }
                p { (mechanism_means(verdict.mechanism)) }
                @if let Some(ratio) = verdict.measured_ratio {
                    p {
                        "Measured: "
                        @if let Some((candidate, baseline)) = why.as_ref().and_then(|why| why.compared) {
                            b { (safe(candidate)) } " takes " b { (times(ratio)) }
                            @if let Some([lo, hi]) = verdict.ci95 { " " (number::interval(lo, hi)) }
                            " the time of " (safe(baseline)) "."
                        } @else {
                            b { (times(ratio)) }
                            @if let Some([lo, hi]) = verdict.ci95 { " " (number::interval(lo, hi)) }
                            ", time after over time before."
                        }
                    }
                }
                @if let Some(why) = &why { p.reason { "Because: " (safe(why.mechanism)) "." } }
            }
            section.card {
                h3 { "The mail's claim" }
                p.asked { "Is the mail's own figure seen, by the mail's own measure: " (safe(&report.claim.metric)) "?" }
                p { (claim(verdict.claim)) }
                p { (claim_means(verdict.claim)) }
                @if let Some(share) = verdict.implied_share.filter(|_| !verdict.why.contains("Implied share")) {
                    p {
                        "Implied share: for the mail's figure to follow from the measured mechanism, the routine must have
                        been " b { (number::percent(share)) } " of the whole."
                    }
                }
                @if let Some(why) = &why { p.reason { "Because: " (safe(why.claim)) } }
            }
        }
        @if why.is_none() && !verdict.why.is_empty() { p.reason { (safe(&verdict.why)) } }
    }
}

fn claimed(claim: &ClaimReport) -> Markup {
    let reach =
        claim.numbers.iter().flat_map(|number| [number.ratio, number.interval[0], number.interval[1]]);
    let axis = Axis::around(reach, [0.8, 1.25]);
    html! {
        blockquote { (safe(&claim.text)) }
        @if !claim.numbers.is_empty() {
            table.chart.claimed {
                caption {
                    "The mail's figures: " (safe(&claim.metric)) " after / before, at the level of " (safe(&claim.level))
                    ", with what its rounding leaves open"
                }
                thead { tr {
                    th scope="col" { "condition" }
                    th.n scope="col" { "after / before" }
                    th.plot scope="col" { (chart::scale(axis, mark, None)) }
                } }
                tbody {
                    @for figure in &claim.numbers {
                        @let [lo, hi] = figure.interval;
                        @let words = format!("{}: {} {}", safe(&figure.what), times(figure.ratio), number::interval(lo, hi));
                        tr {
                            th scope="row" { (safe(&figure.what)) }
                            td.n { (times(figure.ratio)) " " (number::interval(lo, hi)) }
                            td.plot {
                                (chart::spread(axis, Spread {
                                    middle: Some(figure.ratio), near: Some([lo, hi]), ..Spread::default()
                                }, "mail", &words))
                            }
                        }
                    }
                }
            }
        }
    }
}
