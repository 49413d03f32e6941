//! From two reports to rows with verdicts.

use super::{Comparison, FALSE_DISCOVERY_RATE, Row, SCHEMA, Side, Verdict, same};
use crate::{
    harness::drops::WITNESS_TOLERANCE,
    report::model::{CaseReport, ExperimentReport, LiveRow, Ratio, Report, VariantRow},
    stats::{
        bootstrap::launch_medians,
        fdr::benjamini_hochberg,
        ratio::{log_ratio, paired_logs},
        shift::{Shift, shift},
        verdict::MAX_DROP_RATE,
    },
};

/// Compares `new` with `base`, both with the name of their file; `threshold` is the smallest change of interest, as a
/// share of one.
#[must_use]
pub fn compare(base: (&str, &Report), new: (&str, &Report), threshold: f64) -> Comparison {
    let (not_comparable, differences) = same::differences(base.1, new.1);
    let mut found: Vec<Found> = Vec::new();
    for experiment in &base.1.experiments {
        let other = new.1.experiments.iter().find(|other| other.name == experiment.name);
        found.extend(variants(experiment, other));
        found.extend(live(experiment, other));
    }
    found.extend(only_new(base.1, new.1));
    if let Some(why) = not_comparable.first() {
        for found in &mut found {
            found.doubt = Some((Verdict::NotComparable, why.clone()));
        }
    }
    let judged: Vec<f64> =
        found.iter().filter(|found| found.doubt.is_none()).filter_map(|found| Some(found.shift?.p)).collect();
    let mut q_values = benjamini_hochberg(&judged).into_iter();
    let rows = found
        .into_iter()
        .map(|found| {
            let q = if found.doubt.is_none() && found.shift.is_some() { q_values.next() } else { None };
            found.judge(q, threshold)
        })
        .collect();
    Comparison {
        schema: SCHEMA.to_owned(),
        base: side(base),
        new: side(new),
        threshold,
        not_comparable,
        differences,
        rows,
    }
}

fn side((file, report): (&str, &Report)) -> Side {
    Side {
        file: file.to_owned(),
        started: report.started.clone(),
        host: report.host.clone(),
        tool: report.tool.clone(),
    }
}

/// A row before the number of rows is known.
struct Found {
    row: Row,
    shift: Option<Shift>,
    /// Why it may not be judged.
    doubt: Option<(Verdict, String)>,
}

impl Found {
    fn judge(self, q: Option<f64>, threshold: f64) -> Row {
        let Self { mut row, shift, doubt } = self;
        row.ratio = row.ratio.or_else(|| shift.and_then(as_ratio));
        row.q = q;
        (row.verdict, row.why) = match (doubt, q, row.ratio) {
            (Some(doubt), _, _) => doubt,
            (None, Some(q), Some(ratio)) => read(ratio, q, threshold),
            _ => (Verdict::Inconclusive, "fewer than five launches on a side, so no interval".to_owned()),
        };
        row
    }
}

fn as_ratio(shift: Shift) -> Option<Ratio> {
    let ratio = Ratio { value: shift.value.exp(), ci95: shift.ci95.map(f64::exp) };
    let holds = |value: &f64| value.is_finite() && *value > 0.0;
    [ratio.value, ratio.ci95[0], ratio.ci95[1]].iter().all(holds).then_some(ratio)
}

fn read(ratio: Ratio, q: f64, threshold: f64) -> (Verdict, String) {
    let (least, most) = (1.0 / (1.0 + threshold), 1.0 + threshold);
    let percent = threshold * 100.0;
    let [lo, hi] = ratio.ci95;
    let certain = q <= FALSE_DISCOVERY_RATE;
    if certain && ratio.value >= most {
        (Verdict::Regression, format!("slower by {percent} % or more, and no chance find (q {q:.2e})"))
    } else if certain && ratio.value <= least {
        (Verdict::Improvement, format!("faster by {percent} % or more, and no chance find (q {q:.2e})"))
    } else if least < lo && hi < most {
        (Verdict::NoDifference, format!("the interval lies inside {percent} % either way"))
    } else if certain {
        (Verdict::Inconclusive, format!("a difference (q {q:.2e}), that may be smaller than {percent} %"))
    } else {
        (
            Verdict::Inconclusive,
            format!("the interval reaches beyond {percent} %, and may be chance (q {q:.2})"),
        )
    }
}

fn variants(base: &ExperimentReport, new: Option<&ExperimentReport>) -> Vec<Found> {
    let rows = base.variants.iter().filter(|row| row.named && row.available);
    rows.map(|row| {
        let other = new.and_then(|new| Some((new, find(new, row)?)));
        variant(base, row, other)
    })
    .collect()
}

fn find<'a>(experiment: &'a ExperimentReport, row: &VariantRow) -> Option<&'a VariantRow> {
    experiment.variants.iter().find(|other| (&other.case, &other.name) == (&row.case, &row.name))
}

fn case_of<'a>(experiment: &'a ExperimentReport, row: &VariantRow) -> Option<&'a CaseReport> {
    experiment.cases.iter().find(|case| case.name == row.case)
}

fn variant(
    base: &ExperimentReport,
    row: &VariantRow,
    new: Option<(&ExperimentReport, &VariantRow)>,
) -> Found {
    let (before, after) = (case_of(base, row), new.and_then(|(new, row)| case_of(new, row)));
    let against = before.map(|case| &case.baseline).filter(|baseline| **baseline != row.name);
    let logs = |experiment: &ExperimentReport, row: &VariantRow| match against {
        Some(baseline) => {
            let same_case = |other: &&VariantRow| other.case == row.case && other.name == *baseline;
            let reference = experiment.variants.iter().find(same_case)?;
            Some(launch_medians(&paired_logs(&row.samples, &reference.samples)))
        }
        None => Some(time_logs(row)),
    };
    let shift = new.and_then(|(new, other)| shift(&logs(base, row)?, &logs(new, other)?));
    let doubt = doubt(row, new.map(|(_, row)| row), before, after, against.is_none());
    Found {
        row: Row {
            experiment: base.name.clone(),
            case: row.case.clone(),
            name: row.name.clone(),
            against: against.cloned(),
            unit: row.unit.clone(),
            base: row.median,
            new: new.and_then(|(_, row)| row.median),
            ratio: None,
            q: None,
            verdict: Verdict::Inconclusive,
            why: String::new(),
        },
        shift,
        doubt,
    }
}

/// Logarithms of the times, one a launch.
fn time_logs(row: &VariantRow) -> Vec<f64> {
    let blocks = |blocks: &Vec<Option<f64>>| -> Vec<f64> {
        blocks.iter().filter_map(|&time| log_ratio(time, Some(1.0))).collect()
    };
    launch_medians(&row.samples.iter().map(blocks).collect::<Vec<_>>())
}

/// Why a row of a variant may not be judged, if there is a reason.
fn doubt(
    row: &VariantRow,
    other: Option<&VariantRow>,
    before: Option<&CaseReport>,
    after: Option<&CaseReport>,
    by_time: bool,
) -> Option<(Verdict, String)> {
    let stop = |why: &str| Some((Verdict::NotComparable, why.to_owned()));
    let unsure = |why: String| Some((Verdict::Inconclusive, why));
    let (Some(other), Some(before), Some(after)) = (other, before, after) else {
        return stop("only in the base run");
    };
    if !other.available {
        return stop("not available in the new run");
    }
    if row.unit != other.unit {
        return stop("another unit");
    }
    if before.baseline != after.baseline {
        return stop("another baseline");
    }
    if before.threads != after.threads {
        return stop("another number of tasks");
    }
    if before.oversubscribed || after.oversubscribed {
        return unsure("more tasks than CPUs, which feeds no verdict".to_owned());
    }
    let lost = before.drop_rate.max(after.drop_rate);
    if lost > MAX_DROP_RATE {
        return unsure(format!("{:.0} % of the pairs were dropped in one of the runs", lost * 100.0));
    }
    let frequency =
        before.witness_ns.zip(after.witness_ns).is_some_and(|([lo, hi], [other_lo, other_hi])| {
            let apart = 1.0 + WITNESS_TOLERANCE;
            hi * apart < other_lo || other_hi * apart < lo
        });
    if by_time && frequency {
        return unsure(
            "the CPUs ran at another frequency, as the witness beside the batches tells".to_owned(),
        );
    }
    None
}

fn live(base: &ExperimentReport, new: Option<&ExperimentReport>) -> Vec<Found> {
    let key = |row: &LiveRow| (row.target.clone(), row.size_lo, row.size_hi, row.threads);
    base.live
        .iter()
        .map(|row| {
            let other = new.and_then(|new| new.live.iter().find(|other| key(other) == key(row)));
            let doubt = match other {
                None => (Verdict::NotComparable, "only in the base run".to_owned()),
                Some(other) if other.backend != row.backend => {
                    let why = format!("another mechanism: {}, then {}", row.backend, other.backend);
                    (Verdict::NotComparable, why)
                }
                Some(other) if other.probe_bound || row.probe_bound => (
                    Verdict::Inconclusive,
                    "probe-bound: the median is under three times the floor".to_owned(),
                ),
                Some(_) => {
                    let why = "one distribution a side: there are no launches to take an interval from";
                    (Verdict::Inconclusive, why.to_owned())
                }
            };
            Found { row: live_row(base, row, other), shift: None, doubt: Some(doubt) }
        })
        .collect()
}

fn live_row(experiment: &ExperimentReport, row: &LiveRow, other: Option<&LiveRow>) -> Row {
    let size = row.size_lo.map_or_else(|| "any size".to_owned(), |size| format!("{size} B"));
    Row {
        experiment: experiment.name.clone(),
        case: format!("live, {size}, {} tasks", row.threads),
        name: row.target.clone(),
        against: None,
        unit: "ns".to_owned(),
        base: row.p50_ns.map(|ns| ns as f64),
        new: other.and_then(|row| row.p50_ns).map(|ns| ns as f64),
        ratio: None,
        q: None,
        verdict: Verdict::Inconclusive,
        why: String::new(),
    }
}

/// Rows that the base run does not have.
fn only_new(base: &Report, new: &Report) -> Vec<Found> {
    let mut found = Vec::new();
    for experiment in &new.experiments {
        let known = base.experiments.iter().find(|known| known.name == experiment.name);
        let rows = experiment.variants.iter().filter(|row| row.named && row.available);
        for row in rows.filter(|row| known.is_none_or(|known| find(known, row).is_none())) {
            let mut alone = variant(experiment, row, None);
            (alone.row.base, alone.row.new) = (None, row.median);
            alone.doubt = Some((Verdict::NotComparable, "only in the new run".to_owned()));
            found.push(alone);
        }
    }
    found
}
