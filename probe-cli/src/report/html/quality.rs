//! What stands behind the numbers of an experiment: replication, dropped pairs, witnesses, equal work.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::wide;
use crate::{
    report::{
        model::{CaseReport, ExperimentReport},
        number,
        text::{safe, words::gathered},
    },
    stats::verdict::MAX_DROP_RATE,
};

pub(super) fn write(report: &ExperimentReport) -> Markup {
    html! {
        @if !report.cases.is_empty() {
            h3 { "Quality" }
            p.aside {
                "Rules fixed beforehand drop whole pairs: preempted, migrated or kept waiting, a page fault, stolen time, a
                frequency far from the launch's own. A case that lost more than "
                (number::percent(MAX_DROP_RATE)) " is inconclusive."
            }
            (wide(&html! {
                table.quality {
                    thead { tr {
                        th scope="col" { "case" }
                        th.n scope="col" { "launches × blocks" }
                        th.n scope="col" { "pairs dropped" }
                        th scope="col" { "by reason" }
                        th.n scope="col" { "noise (A/A)" }
                        th.n scope="col" { "frequency witness" }
                        th.n scope="col" { "line CPU to CPU" }
                        th.n scope="col" { "huge pages" }
                    } }
                    tbody { @for case in &report.cases { (row(case, report)) } }
                }
            }))
            @let checks = gathered(report.variants.iter()
                .filter(|row| row.median.is_some() && !row.work_check.is_empty())
                .map(|row| (safe(&row.work_check), safe(&row.case))));
            @if !checks.is_empty() {
                p.aside {
                    "Equal work: "
                    @for (index, (check, cases)) in checks.iter().enumerate() {
                        @if index > 0 { " · " }
                        (cases.join(", ")) ": " (check)
                    }
                }
            }
        }
    }
}

fn row(case: &CaseReport, report: &ExperimentReport) -> Markup {
    let rows = || report.variants.iter().filter(|row| row.case == case.name);
    let launches = rows().map(|row| row.samples.len()).max().unwrap_or(0);
    let blocks = rows().flat_map(|row| &row.samples).map(Vec::len).max().unwrap_or(0);
    let none = || number::NONE.to_owned();
    let range = |ends: Option<[f64; 2]>| {
        ends.map_or_else(none, |[lo, hi]| format!("{} to {}", number::time(lo, "ns"), number::time(hi, "ns")))
    };
    let floor = case.noise_floor.map(|floor| floor.ratio_ci95);
    html! {
        tr {
            th scope="row" { (safe(&case.name)) }
            td.n { (launches) " × " (blocks) }
            td.n { span.badge.doubt[case.drop_rate > MAX_DROP_RATE] { (number::percent(case.drop_rate)) } }
            td { (reasons(&case.drops)) }
            td.n { (floor.map_or_else(none, |[lo, hi]| number::interval(lo, hi))) }
            td.n { (range(case.witness_ns)) }
            td.n { (range(case.line_transfer_ns)) }
            td.n { (case.huge_page_bytes.map_or_else(none, number::bytes)) }
        }
    }
}

fn reasons(drops: &BTreeMap<String, u64>) -> String {
    let reasons = drops.iter().map(|(reason, count)| format!("{} {}", safe(reason), number::count(*count)));
    reasons.collect::<Vec<_>>().join(", ")
}
