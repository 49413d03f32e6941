//! The rows of two reports of the lab.

use std::collections::HashMap;

use super::{Quantity, Row, Verdict, judge::Found};
use crate::{
    harness::drops::WITNESS_TOLERANCE,
    report::model::{CaseReport, ExperimentReport, LiveRow, Report, VariantRow},
    stats::{
        ratio::{log_ratio, paired_logs},
        rng::Rng,
        shift::shift,
        verdict::MAX_DROP_RATE,
    },
};

/// One experiment of a report, with its rows by name: a report may have any number of them.
struct Indexed<'a> {
    experiment: &'a ExperimentReport,
    cases: HashMap<&'a str, &'a CaseReport>,
    variants: HashMap<(&'a str, &'a str), &'a VariantRow>,
    live: HashMap<LiveKey<'a>, &'a LiveRow>,
}

/// Target, smallest size, largest size, tasks.
type LiveKey<'a> = (&'a str, Option<u64>, Option<u64>, u32);

fn live_key(row: &LiveRow) -> LiveKey<'_> {
    (&row.target, row.size_lo, row.size_hi, row.threads)
}

impl<'a> Indexed<'a> {
    fn new(experiment: &'a ExperimentReport) -> Self {
        Self {
            experiment,
            cases: experiment.cases.iter().map(|case| (&*case.name, case)).collect(),
            variants: experiment.variants.iter().map(|row| ((&*row.case, &*row.name), row)).collect(),
            live: experiment.live.iter().map(|row| (live_key(row), row)).collect(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = &'a VariantRow> + use<'a> {
        self.experiment.variants.iter().filter(|row| row.named && row.available)
    }

    fn variant(&self, row: &VariantRow) -> Option<&'a VariantRow> {
        self.variants.get(&(&*row.case, &*row.name)).copied()
    }

    /// The logarithms of a row, `[launch][block]`: of its ratio to `against`, or of its time.
    fn logs(&self, row: &VariantRow, against: Option<&str>) -> Option<Vec<Vec<f64>>> {
        let Some(baseline) = against else { return Some(time_logs(row)) };
        Some(paired_logs(&row.samples, &self.variants.get(&(&*row.case, baseline))?.samples))
    }
}

/// Logarithms of the times.
fn time_logs(row: &VariantRow) -> Vec<Vec<f64>> {
    let blocks = |blocks: &Vec<Option<f64>>| -> Vec<f64> {
        blocks.iter().filter_map(|&time| log_ratio(time, Some(1.0))).collect()
    };
    row.samples.iter().map(blocks).collect()
}

fn index(report: &Report) -> HashMap<&str, Indexed<'_>> {
    report.experiments.iter().map(|experiment| (&*experiment.name, Indexed::new(experiment))).collect()
}

pub(super) fn rows(base: &Report, new: &Report, rng: &mut Rng) -> Vec<Found> {
    let (known, others) = (index(base), index(new));
    let mut found = Vec::new();
    for experiment in &base.experiments {
        let base = &known[&*experiment.name];
        let other = others.get(&*experiment.name);
        found.extend(base.rows().map(|row| {
            let other = other.and_then(|new| Some((new, new.variant(row)?)));
            variant(base, row, other, rng)
        }));
        found.extend(experiment.live.iter().map(|row| live(base.experiment, row, other)));
    }
    for experiment in &new.experiments {
        let (new, known) = (&others[&*experiment.name], known.get(&*experiment.name));
        let only = new.rows().filter(|row| known.is_none_or(|known| known.variant(row).is_none()));
        found.extend(only.map(|row| {
            let case = new.cases.get(&*row.case).copied();
            let mut alone = described(experiment, row, case);
            (alone.base, alone.new) = (None, row.median);
            Found::alone(alone, "new")
        }));
    }
    found
}

fn described(experiment: &ExperimentReport, row: &VariantRow, case: Option<&CaseReport>) -> Row {
    let against = case.map(|case| &case.baseline).filter(|baseline| **baseline != row.name);
    Row {
        experiment: experiment.name.clone(),
        case: row.case.clone(),
        name: row.name.clone(),
        quantity: if against.is_some() { Quantity::Ratio } else { Quantity::Time },
        against: against.cloned(),
        unit: row.unit.clone(),
        base: row.median,
        new: None,
        ratio: None,
        q: None,
        verdict: Verdict::Inconclusive,
        why: String::new(),
    }
}

fn variant(
    base: &Indexed<'_>,
    row: &VariantRow,
    new: Option<(&Indexed<'_>, &VariantRow)>,
    rng: &mut Rng,
) -> Found {
    let case = base.cases.get(&*row.case).copied();
    let mut line = described(base.experiment, row, case);
    let Some((new, other)) = new else { return Found::alone(line, "base") };
    let other_case = new.cases.get(&*other.case).copied();
    let (Some(case), Some(other_case)) = (case, other_case) else { return Found::alone(line, "base") };
    line.new = other.median;
    let against = line.against.as_deref();
    let logs = base.logs(row, against).zip(new.logs(other, against));
    Found {
        shift: logs.and_then(|(base, new)| shift(&base, &new, rng)),
        noise: noise(case).max(noise(other_case)),
        doubt: doubt(row, other, [case, other_case], line.quantity),
        row: line,
    }
}

/// How far the baseline differs from itself, as a logarithm, whichever way.
fn noise(case: &CaseReport) -> f64 {
    let ends = case.noise_floor.map_or([1.0; 2], |floor| floor.ratio_ci95);
    ends.into_iter().map(|end| end.ln().abs()).filter(|end| end.is_finite()).fold(0.0, f64::max)
}

/// Why a row of a variant may not be judged, if there is a reason.
fn doubt(
    row: &VariantRow,
    other: &VariantRow,
    [before, after]: [&CaseReport; 2],
    quantity: Quantity,
) -> Option<(Verdict, String)> {
    let stop = |why: &str| Some((Verdict::NotComparable, why.to_owned()));
    let unsure = |why: String| Some((Verdict::Inconclusive, why));
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
    if quantity == Quantity::Time && frequency {
        return unsure(
            "the CPUs ran at another frequency, as the witness beside the batches tells".to_owned(),
        );
    }
    None
}

/// A row of the live kernel, which is shown and not judged.
fn live(experiment: &ExperimentReport, row: &LiveRow, new: Option<&Indexed<'_>>) -> Found {
    let size = row.size_lo.map_or_else(|| "any size".to_owned(), |size| format!("{size} B"));
    let mut line = Row {
        experiment: experiment.name.clone(),
        case: format!("live, {size}, {} tasks", row.threads),
        name: row.target.clone(),
        quantity: Quantity::Time,
        against: None,
        unit: "ns".to_owned(),
        base: row.p50_ns.map(|ns| ns as f64),
        new: None,
        ratio: None,
        q: None,
        verdict: Verdict::Inconclusive,
        why: String::new(),
    };
    let Some(other) = new.and_then(|new| new.live.get(&live_key(row)).copied()) else {
        return Found::alone(line, "base");
    };
    line.new = other.p50_ns.map(|ns| ns as f64);
    let doubt = if other.backend != row.backend {
        (Verdict::NotComparable, format!("another mechanism: {}, then {}", row.backend, other.backend))
    } else if other.probe_bound || row.probe_bound {
        (Verdict::Inconclusive, "probe-bound: the median is under three times the floor".to_owned())
    } else {
        let why = "one distribution a side: there are no launches to take an interval from; trace it with -i and \
                   compare the sessions";
        (Verdict::Inconclusive, why.to_owned())
    };
    Found { row: line, shift: None, noise: 0.0, doubt: Some(doubt) }
}
