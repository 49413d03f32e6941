//! One row of the report: a variant in a case.

use probe_abi::batch::BatchKey;

use super::assessed::{MEDIAN, RATIO, Run, pair_ratio, stream};
use super::drops::RULES;
use super::samples::{CaseSamples, Pairs};
use crate::experiment::Case;
use crate::report::model::{KernelTime, VariantRow};
use crate::stats::bootstrap::{self, MIN_LAUNCHES, launch_medians};
use crate::stats::quantile::{mad, median};

/// The case that a row belongs to.
#[derive(Debug)]
pub(super) struct Situation<'a> {
    pub(super) index: usize,
    pub(super) case: &'a Case,
    pub(super) samples: &'a CaseSamples,
    /// What was compared before timing, or the difference that was found.
    pub(super) check: &'a Result<String, String>,
    pub(super) oversubscribed: bool,
}

/// The row of one variant. Its samples are those whose pair with the baseline counts.
pub(super) fn row(run: &Run<'_>, situation: &Situation<'_>, variant: usize) -> VariantRow {
    let Situation { index, case, samples, check, oversubscribed } = *situation;
    let seed = run.options.seed;
    let info = &case.variants[variant];
    let baseline_runs = case.variants[0].unavailable.is_none();
    let pairs = if baseline_runs { samples.pairs(variant, 0) } else { samples.alone(variant) };
    let kept = pairs.kept();
    let estimate = bootstrap::estimate(&kept, &mut stream(seed, index, variant, MEDIAN));
    let ratio = baseline_runs.then(|| pair_ratio(&pairs, &mut stream(seed, index, variant, RATIO))).flatten();
    let kernel = kernel_time(run, situation, variant);
    let reason = Nulls {
        unavailable: info.unavailable.is_some(),
        check_failed: check.is_err(),
        pairs: &pairs,
        launches: estimate.map_or(0, |estimate| estimate.launches),
        baseline_runs,
        kernel_missing: run.probe.is_some() && kernel.is_none(),
    }
    .in_words();
    let together = if case.tasks > 1 { ", all tasks together" } else { "" };
    VariantRow {
        case: case.name.clone(),
        name: info.name.clone(),
        summary: info.summary.clone(),
        available: info.unavailable.is_none(),
        unavailable: info.unavailable.clone(),
        named: info.named,
        threads: case.tasks as u32,
        oversubscribed,
        unit: format!("ns per {}{together}", case.operation),
        median: estimate.map(|estimate| estimate.value),
        mad: mad(&launch_medians(&kept)),
        ci95: estimate.and_then(|estimate| estimate.ci95),
        ratio_to_baseline: ratio,
        dropped_pairs: pairs.dropped(),
        samples: pairs.ours,
        work_check: match check {
            Ok(compared) => compared.clone(),
            Err(difference) => format!("failed: {difference}"),
        },
        kernel,
        reason,
    }
}

/// Why something in a row is null.
struct Nulls<'a> {
    unavailable: bool,
    check_failed: bool,
    pairs: &'a Pairs,
    launches: usize,
    baseline_runs: bool,
    kernel_missing: bool,
}

impl Nulls<'_> {
    fn in_words(&self) -> Option<String> {
        if self.unavailable {
            return Some("not available here".to_owned());
        }
        let mut reasons = Vec::new();
        if self.check_failed {
            reasons.push("not timed: the variants do not do the same work".to_owned());
        } else if self.pairs.total == 0 {
            reasons.push("not timed: no launch came to its end".to_owned());
        } else if self.launches == 0 {
            let worst = RULES.iter().zip(&self.pairs.dropped_by).max_by_key(|&(_, &count)| count);
            let rule = worst.map_or("", |(rule, _)| rule.meaning);
            reasons.push(format!("all {} pairs were dropped, most since {rule}", self.pairs.total));
        } else if self.launches < MIN_LAUNCHES {
            reasons.push(format!(
                "no interval: samples from {} of the {MIN_LAUNCHES} launches that it needs at least",
                self.launches
            ));
        }
        if !self.baseline_runs {
            reasons.push("no ratio: the baseline is not available here".to_owned());
        }
        if self.kernel_missing && self.pairs.total > 0 {
            reasons.push("no kernel time: no batch of this row that counts came from the probe".to_owned());
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// The probe's view of a variant's batches; `None` without markers, or if none of its batches that count came.
fn kernel_time(run: &Run<'_>, situation: &Situation<'_>, variant: usize) -> Option<KernelTime> {
    let probe = run.probe.as_ref()?;
    let (mut n, mut lost) = (0, 0);
    let mut launches = vec![Vec::new(); run.measured.launches.len()];
    for (launch, block, cell) in situation.samples.batches(variant) {
        let key = BatchKey {
            experiment: run.measured.index,
            case: situation.index as u8,
            slot: variant as u16,
            launch: run.measured.launches[launch].launch,
            block: block as u16,
        };
        let Some(&elapsed_ns) = probe.get(&key.to_raw()) else {
            lost += 1;
            continue;
        };
        n += 1;
        if cell.broken.is_none() && cell.operations > 0 {
            launches[launch].push(elapsed_ns as f64 / cell.operations as f64);
        }
    }
    Some(KernelTime { median: median(&launch_medians(&launches))?, n, lost })
}
