//! The cases: every variant against the baseline, over the noise of the run.

use maud::{Markup, html};

use super::{mark, wide};
use crate::{
    report::{
        chart::{self, Axis, Interval},
        model::{CaseReport, ExperimentReport, VariantRow},
        number,
        text::safe,
    },
    stats::verdict::MAX_DROP_RATE,
};

/// An axis of ratios is at least this wide, or small differences would look large.
pub(super) const LEAST: [f64; 2] = [0.8, 1.25];

pub(super) fn write(report: &ExperimentReport) -> Markup {
    let axes = Axes::of(report);
    html! {
        h3 { "Variants" }
        @if report.cases.is_empty() { p { "Nothing of it was measured." } } @else {
            p.aside {
                "Time of each variant over the time of the baseline, paired in blocks. Charts from 0.5 to 2 share one
                axis, and so do the wider ones. "
                "Equal work was checked before timing; the section on quality says how."
            }
        }
        (summaries(report))
        @for case in &report.cases { (self::case(case, report, axes.of_case(case, report))) }
        (hidden(report))
    }
}

/// What each variant does, once.
fn summaries(report: &ExperimentReport) -> Markup {
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for row in report.variants.iter().filter(|row| row.named && !row.summary.is_empty()) {
        if !shown.iter().any(|(name, _)| *name == row.name) {
            shown.push((&row.name, &row.summary));
        }
    }
    html! {
        dl.summaries {
            @for (name, summary) in shown { div { dt { (safe(name)) } dd { (safe(summary)) } } }
        }
    }
}

/// The axes of an experiment, so that a length means the same in all charts that share one.
struct Axes {
    /// For cases that stay on it.
    fine: Axis,
    /// For the others.
    wide: Axis,
}

/// What the finer axis holds.
const FINE: [f64; 2] = [0.5, 2.0];

impl Axes {
    fn of(report: &ExperimentReport) -> Self {
        Self {
            fine: Axis::around([], FINE),
            wide: Axis::around(report.cases.iter().flat_map(|case| ends(case, report)), LEAST),
        }
    }

    fn of_case(&self, case: &CaseReport, report: &ExperimentReport) -> Axis {
        let fits = ends(case, report).iter().all(|end| (FINE[0]..=FINE[1]).contains(end));
        if fits { self.fine } else { self.wide }
    }
}

/// Everything that the chart of a case has to hold.
fn ends(case: &CaseReport, report: &ExperimentReport) -> Vec<f64> {
    let rows = report.variants.iter().filter(|row| row.named && row.case == case.name);
    let ratios = rows.filter_map(|row| row.ratio_to_baseline).flat_map(|ratio| ratio.ci95);
    ratios.chain(case.noise_floor.iter().flat_map(|floor| floor.ratio_ci95)).collect()
}

fn case(case: &CaseReport, report: &ExperimentReport, axis: Axis) -> Markup {
    let rows: Vec<&VariantRow> =
        report.variants.iter().filter(|row| row.case == case.name && row.named).collect();
    let unit = rows.first().map_or("", |row| &row.unit);
    let probed = rows.iter().any(|row| row.kernel.is_some());
    let lossy = case.drop_rate > MAX_DROP_RATE;
    let class = if case.oversubscribed || lossy { "chart case unfit" } else { "chart case" };
    html! {
        table class=(class) {
            caption {
                b { (safe(&case.name)) } " " (safe(&case.title)) " · "
                (number::counted(case.threads as usize, "task", "tasks")) " · " (safe(unit)) " "
                @if case.oversubscribed { span.badge.doubt { "oversubscribed: feeds no verdict" } " " }
                @if lossy {
                    span.badge.doubt { (number::percent(case.drop_rate)) " of the pairs dropped: inconclusive" }
                }
            }
            thead { tr {
                th scope="col" { "variant" }
                th.n scope="col" { "median" }
                @if probed { th.n scope="col" { "by probe" } }
                th.n scope="col" { "vs " (safe(&case.baseline)) ", 95 %" }
                th.plot scope="col" { (chart::scale(axis, mark, Some(["faster", "slower"]))) }
            } }
            tbody { @for row in rows { (variant(row, case, report, probed, axis)) } }
        }
    }
}

fn variant(
    row: &VariantRow,
    case: &CaseReport,
    report: &ExperimentReport,
    probed: bool,
    axis: Axis,
) -> Markup {
    let symbol = safe(row.unit.split(' ').next().unwrap_or_default());
    let baseline = row.name == case.baseline;
    let noise = case.noise_floor.map(|floor| floor.ratio_ci95);
    let absent = if row.available {
        row.median.is_none().then(|| row.reason.as_deref().unwrap_or(&row.work_check))
    } else {
        Some(row.unavailable.as_deref().unwrap_or("not on this machine"))
    };
    html! {
        tr {
            th scope="row" { (safe(&row.name)) }
            @if let Some(why) = absent {
                td.absent colspan=(if probed { "4" } else { "3" }) { "not measured: " (safe(why)) }
            } @else {
                td.n { (row.median.map_or_else(|| number::NONE.to_owned(), |median| number::time(median, &symbol))) }
                @if probed { td.n { (number::by_probe(row.kernel.as_ref(), &symbol)) } }
                td.n { (compared(row, baseline, noise)) }
                td.plot {
                    (chart::interval(axis, Interval {
                        value: if baseline { Some(1.0) } else { row.ratio_to_baseline.map(|ratio| ratio.value) },
                        ci95: if baseline { None } else { row.ratio_to_baseline.map(|ratio| ratio.ci95) },
                        noise,
                        smallest_effect: Some(report.claim.smallest_effect),
                    }, &words(row, case)))
                }
            }
        }
    }
}

fn compared(row: &VariantRow, baseline: bool, noise: Option<[f64; 2]>) -> Markup {
    html! {
        @if baseline {
            "1.00"
            @if let Some([lo, hi]) = noise { span.soft { " " (number::interval(lo, hi)) " A/A" } }
        } @else if let Some(ratio) = &row.ratio_to_baseline {
            @let (words, interval) = number::ratio(ratio);
            (words) span.soft { " " (interval) }
        } @else {
            (number::NONE)
            @if let Some(why) = &row.reason { small { (safe(why)) } }
        }
    }
}

/// What the strip of a variant shows, for who does not see it.
fn words(row: &VariantRow, case: &CaseReport) -> String {
    let name = safe(&row.name);
    if row.name == case.baseline {
        return match case.noise_floor.map(|floor| floor.ratio_ci95) {
            Some([lo, hi]) => format!("{name}: the baseline; against itself {}", number::interval(lo, hi)),
            None => format!("{name}: the baseline; its noise is not known"),
        };
    }
    match &row.ratio_to_baseline {
        Some(ratio) => {
            let (words, interval) = number::ratio(ratio);
            format!("{name}: {words} {interval} than {}", safe(&case.baseline))
                .replace("the time", "the time")
        }
        None => format!("{name}: no ratio"),
    }
}

/// The rest of a factorial: many rows that the effects below sum up.
fn hidden(report: &ExperimentReport) -> Markup {
    let rows: Vec<&VariantRow> = report.variants.iter().filter(|row| !row.named).collect();
    html! {
        @if !rows.is_empty() {
            details.factorial {
                summary { "The other " (rows.len()) " rows of the factorial" }
                (wide(&html! {
                    table {
                        thead { tr {
                            th scope="col" { "case" } th scope="col" { "variant" }
                            th.n scope="col" { "median" } th.n scope="col" { "vs baseline, 95 %" }
                        } }
                        tbody {
                            @for row in rows {
                                @let symbol = safe(row.unit.split(' ').next().unwrap_or_default());
                                tr {
                                    td { (safe(&row.case)) } td { (safe(&row.name)) }
                                    td.n { (row.median.map_or_else(|| number::NONE.to_owned(), |median| number::time(median, &symbol))) }
                                    td.n { (row.ratio_to_baseline.as_ref().map_or_else(|| number::NONE.to_owned(), number::bare_ratio)) }
                                }
                            }
                        }
                    }
                }))
            }
        }
    }
}
