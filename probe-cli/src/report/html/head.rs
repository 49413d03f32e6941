//! The top of the page: which run this was, and every verdict at a glance.

use maud::{Markup, html};

use super::{anchor, times, verdict};
use crate::report::{
    model::{MechanismRow, Report},
    number,
    text::{self, safe},
};

pub(super) fn write(report: &Report) -> Markup {
    html! {
        header {
            h1 { "Kernel hot-path lab" }
            p.run {
                (text::machine(&report.host)) " · kernel " (or_unknown(&report.host.kernel))
                " · " (safe(&report.started)) " · seed " (report.seed)
                @if report.quick { " · " span.badge.doubt { "quick" } }
            }
            @if report.quick {
                p.aside { "A quick run has fewer launches and blocks: its intervals are wider than those of a full run." }
            }
            @if report.interrupted {
                p.notice { "Interrupted: what had been measured by then follows." }
            }
            p.aside { (live(&report.mechanisms)) }
        }
        @if report.experiments.is_empty() { p { "Nothing was measured." } } @else { (glance(report)) (guide()) }
    }
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { safe(text) }
}

fn live(rows: &[MechanismRow]) -> Markup {
    let names = |works| -> Vec<String> {
        rows.iter().filter(|row| row.works == works).map(|row| safe(&row.name)).collect()
    };
    let (working, refused) = (names(true), names(false));
    html! {
        @if rows.is_empty() { "The live kernel was not watched." }
        @if !working.is_empty() { "The live kernel was watched by " (working.join(", ")) ". " }
        @if !refused.is_empty() { "Not available here: " (refused.join(", ")) " (" a href="#machine" { "why" } ")." }
    }
}

fn glance(report: &Report) -> Markup {
    html! {
        table.glance {
            caption { "Verdicts at a glance" }
            thead { tr {
                th scope="col" { "experiment" }
                th scope="col" { "mechanism" }
                th scope="col" { "mail's claim" }
                th scope="col" { "time after / before, 95 %" }
            } }
            tbody {
                @for experiment in &report.experiments {
                    @let verdict = &experiment.verdict;
                    tr {
                        th scope="row" {
                            a href={ "#" (anchor(&experiment.name)) } { (safe(&experiment.name)) }
                            small { (safe(&experiment.question)) }
                        }
                        td { (verdict::mechanism(verdict.mechanism)) }
                        td { (verdict::claim(verdict.claim)) }
                        td.n {
                            (verdict.measured_ratio.map_or_else(|| "–".to_owned(), times))
                            @if let Some([lo, hi]) = verdict.ci95 { " " (number::interval(lo, hi)) }
                        }
                    }
                }
            }
        }
    }
}

fn guide() -> Markup {
    html! {
        details.guide {
            summary { "How to read the charts" }
            p {
                "Every axis is logarithmic: half the time is as far from 1 as twice the time. A "
                b { "dot" } " is the estimate, the " b { "line" } " through it the 95 % interval, drawn from fresh starts of the
                program. The " b { "grey band" } " is this run's noise: the baseline measured against itself (A/A). The "
                b { "dotted lines" } " are the smallest effect that would matter. An interval counts as an effect where it
                lies beyond both. Blue lies on the faster side of 1, orange on the slower; a hollow dot says that the interval
                holds 1."
            }
            p {
                "Rows marked " span.badge.doubt { "oversubscribed" } " had more tasks than CPUs. They show what happens then,
                and feed no verdict."
            }
        }
    }
}
