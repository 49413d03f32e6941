//! From what was measured to the rows of the report.

use std::collections::BTreeMap;

use probe_abi::batch::{BatchEvent, BatchKey};

use super::clock::Clock;
use super::drops::RULES;
use super::judge;
use super::options::Options;
use super::run::Measured;
use super::samples::{CaseSamples, Pairs};
use crate::claim::{Claim, Figure, Mail};
use crate::experiment::{Case, Experiment};
use crate::report::model::{
    CaseReport, ClaimReport, Effect, ExperimentReport, KernelTime, LockRow, NoiseFloor, Quantiles, VariantRow,
};
use crate::stats::bootstrap::{self, MIN_LAUNCHES};
use crate::stats::effect::main_effect;
use crate::stats::histogram::Histogram;
use crate::stats::quantile::mad;
use crate::stats::ratio::{paired_logs, ratio};
use crate::stats::rng::Rng;

/// All of the report on `experiment` but the live kernel beside it.
///
/// `options` are those of the run, and `cpus` is how many CPUs it used. Pure: the same input gives the same
/// report, to the last digit of every interval.
#[must_use]
pub fn assess(
    experiment: &dyn Experiment,
    measured: &Measured,
    options: &Options,
    cpus: usize,
) -> ExperimentReport {
    let claim = experiment.claim();
    let assessed = assess_cases(experiment, measured, options, cpus);
    let verdict = judge::verdicts(claim, &assessed, options, &measured.clock, cpus);
    let mechanism_case = assessed.iter().find(|found| found.case.name == claim.mechanism.case);
    ExperimentReport {
        name: claim.experiment.clone(),
        mail: mail_line(&claim.mail),
        question: claim.question.clone(),
        claim: claim_report(claim),
        noise_floor: mechanism_case.and_then(|found| found.report.noise_floor),
        effects: assessed.iter().flat_map(|found| effects(experiment, found, options.seed)).collect(),
        locks: assessed.iter().flat_map(|found| locks(found, &measured.clock)).collect(),
        live: Vec::new(),
        verdict,
        cases: assessed.iter().map(|found| found.report.clone()).collect(),
        variants: assessed.into_iter().flat_map(|found| found.rows).collect(),
    }
}

/// A case with everything that was found out about it.
#[derive(Debug)]
pub(super) struct AssessedCase {
    pub(super) index: usize,
    pub(super) case: Case,
    pub(super) samples: CaseSamples,
    pub(super) report: CaseReport,
    /// Share of the A/A pairs that were dropped.
    pub(super) floor_drop_rate: f64,
    rows: Vec<VariantRow>,
}

fn assess_cases(
    experiment: &dyn Experiment,
    measured: &Measured,
    options: &Options,
    cpus: usize,
) -> Vec<AssessedCase> {
    let cases = experiment.cases(cpus).into_iter().enumerate();
    cases
        .filter_map(|(index, case)| {
            let check = measured.checks.get(&index)?;
            Some(assess_case(measured, options, cpus, index, case, check))
        })
        .collect()
}

fn assess_case(
    measured: &Measured,
    options: &Options,
    cpus: usize,
    index: usize,
    case: Case,
    check: &Result<String, String>,
) -> AssessedCase {
    let oversubscribed = case.tasks > cpus;
    let samples = CaseSamples::new(measured, index, &case, oversubscribed, options.blocks);
    let second_turn = case.variants.len();
    let floor_pairs = samples.pairs(second_turn, 0);
    let noise_floor = pair_ratio(&floor_pairs, &mut stream(options.seed, index, second_turn, FLOOR))
        .map(|ratio| NoiseFloor { ratio_ci95: ratio.ci95 });

    let mut drops = BTreeMap::new();
    let (mut total, mut dropped) = (0, 0);
    for pairs in
        (1..case.variants.len()).map(|slot| samples.pairs(slot, 0)).chain([samples.pairs(second_turn, 0)])
    {
        total += pairs.total;
        dropped += pairs.dropped();
        for (rule, &count) in RULES.iter().zip(&pairs.dropped_by).filter(|&(_, &count)| count > 0) {
            *drops.entry(rule.name.to_owned()).or_default() += count;
        }
    }
    let extreme = |pick: fn(f64, f64) -> f64| samples.witness_ns.iter().copied().reduce(pick);
    let report = CaseReport {
        name: case.name.clone(),
        title: case.title.clone(),
        threads: case.tasks as u32,
        oversubscribed,
        baseline: case.variants.first().map(|variant| variant.name.clone()).unwrap_or_default(),
        noise_floor,
        witness_ns: extreme(f64::min).zip(extreme(f64::max)).map(|(fast, slow)| [fast, slow]),
        drop_rate: if total == 0 { 0.0 } else { dropped as f64 / total as f64 },
        drops,
        huge_page_bytes: samples.huge_page_bytes,
    };
    let rows = (0..case.variants.len())
        .map(|variant| row(measured, options, index, &case, &samples, variant, check, oversubscribed))
        .collect();
    AssessedCase { index, floor_drop_rate: floor_pairs.drop_rate(), case, samples, report, rows }
}

#[expect(clippy::too_many_arguments, reason = "a row draws on everything that is known about its case")]
fn row(
    measured: &Measured,
    options: &Options,
    index: usize,
    case: &Case,
    samples: &CaseSamples,
    variant: usize,
    check: &Result<String, String>,
    oversubscribed: bool,
) -> VariantRow {
    let info = &case.variants[variant];
    let baseline_runs = case.variants[0].unavailable.is_none();
    let pairs = if baseline_runs { samples.pairs(variant, 0) } else { samples.alone(variant) };
    let kept = launches_of(&pairs);
    let estimate = bootstrap::estimate(&kept, &mut stream(options.seed, index, variant, MEDIAN));
    let ratio =
        baseline_runs.then(|| pair_ratio(&pairs, &mut stream(options.seed, index, variant, RATIO))).flatten();
    let kernel = kernel_time(measured, index, variant, samples);
    let reason = Nulls {
        unavailable: info.unavailable.is_some(),
        check_failed: check.is_err(),
        pairs: &pairs,
        launches: estimate.map_or(0, |estimate| estimate.launches),
        baseline_runs,
        kernel_missing: measured.events.is_some() && kernel.is_none(),
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
        mad: mad(&bootstrap::launch_medians(&kept)),
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
        let mut reasons = Vec::new();
        if self.unavailable {
            reasons.push("not available here".to_owned());
        } else if self.check_failed {
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
        if !self.baseline_runs && !self.unavailable {
            reasons.push("no ratio: the baseline is not available here".to_owned());
        }
        if self.kernel_missing && self.pairs.total > 0 {
            reasons.push("no kernel time: no batch of this row that counts came from the probe".to_owned());
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// The probe's view of a variant's batches; `None` without markers, or if none of its batches that count came.
fn kernel_time(
    measured: &Measured,
    case: usize,
    variant: usize,
    samples: &CaseSamples,
) -> Option<KernelTime> {
    let events: BTreeMap<u64, &BatchEvent> =
        measured.events.as_ref()?.iter().map(|event| (event.key, event)).collect();
    let (mut n, mut lost) = (0, 0);
    let mut launches = vec![Vec::new(); measured.launches.len()];
    for (launch, block, cell) in samples.batches(variant) {
        let key = BatchKey {
            experiment: measured.index,
            case: case as u8,
            slot: variant as u16,
            launch: measured.launches[launch].launch,
            block: block as u16,
        };
        let Some(event) = events.get(&key.to_raw()) else {
            lost += 1;
            continue;
        };
        n += 1;
        if cell.broken.is_none() && cell.operations > 0 {
            launches[launch].push(event.elapsed_ns as f64 / cell.operations as f64);
        }
    }
    let median = crate::stats::quantile::median(&bootstrap::launch_medians(&launches))?;
    Some(KernelTime { median, n, lost })
}

fn effects(experiment: &dyn Experiment, found: &AssessedCase, seed: u64) -> Vec<Effect> {
    let alone: Vec<Vec<Vec<Option<f64>>>> =
        (0..found.case.variants.len()).map(|variant| found.samples.alone(variant).ours).collect();
    let mut effects = Vec::new();
    for (number, factor) in experiment.factors(&found.case).into_iter().enumerate() {
        let Some((reference, levels)) = factor.levels.split_first() else { continue };
        for (level_number, level) in levels.iter().enumerate() {
            let pairs: Vec<_> = level
                .variants
                .iter()
                .zip(&reference.variants)
                .filter_map(|(&ours, &theirs)| {
                    Some((alone.get(ours)?.as_slice(), alone.get(theirs)?.as_slice()))
                })
                .collect();
            let mut rng =
                Rng::derive(seed, &[EFFECT, found.index as u64, number as u64, level_number as u64]);
            if let Some(ratio) = main_effect(&pairs, &mut rng) {
                effects.push(Effect {
                    case: found.case.name.clone(),
                    factor: factor.name.clone(),
                    level: level.name.clone(),
                    reference: reference.name.clone(),
                    ratio,
                });
            }
        }
    }
    effects
}

fn locks(found: &AssessedCase, clock: &Clock) -> Vec<LockRow> {
    let rows = found.case.variants.iter().zip(&found.samples.locks).filter_map(|(variant, times)| {
        let times = times.as_ref()?;
        Some(LockRow {
            case: found.case.name.clone(),
            variant: variant.name.clone(),
            threads: found.case.tasks as u32,
            n: times.hold.n(),
            wait: quantiles(&times.wait, clock)?,
            hold: quantiles(&times.hold, clock)?,
            wait_buckets: buckets(&times.wait, clock),
            hold_buckets: buckets(&times.hold, clock),
        })
    });
    rows.collect()
}

fn whole_ns(ticks: u64, clock: &Clock) -> u64 {
    clock.ns(ticks).round() as u64
}

fn quantiles(ticks: &Histogram, clock: &Clock) -> Option<Quantiles> {
    let at = |p| Some(whole_ns(ticks.quantile(p)?, clock));
    Some(Quantiles {
        p50_ns: at(0.5)?,
        p90_ns: at(0.9)?,
        p99_ns: at(0.99)?,
        max_ns: whole_ns(ticks.max(), clock),
    })
}

/// Buckets in ns. Where a tick is less than a ns, several may round to the same numbers, and become one.
fn buckets(ticks: &Histogram, clock: &Clock) -> Vec<[u64; 3]> {
    let mut found: Vec<[u64; 3]> = Vec::new();
    for bucket in ticks.buckets() {
        let lo = whole_ns(bucket.lo, clock);
        let hi = whole_ns(bucket.hi, clock).max(lo + 1);
        match found.last_mut() {
            Some(last) if last[1] > lo => {
                last[1] = last[1].max(hi);
                last[2] += bucket.count;
            }
            _ => found.push([lo, hi, bucket.count]),
        }
    }
    found
}

/// The kept samples, launch by launch.
fn launches_of(pairs: &Pairs) -> Vec<Vec<f64>> {
    pairs.ours.iter().map(|blocks| blocks.iter().copied().flatten().collect()).collect()
}

pub(super) fn pair_ratio(pairs: &Pairs, rng: &mut Rng) -> Option<crate::report::model::Ratio> {
    ratio(&paired_logs(&pairs.ours, &pairs.theirs), rng)
}

/// A random stream for one number of the report, whatever else is computed.
pub(super) fn stream(seed: u64, case: usize, slot: usize, purpose: u64) -> Rng {
    Rng::derive(seed, &[purpose, case as u64, slot as u64])
}

/// Purposes of random streams, so that no two draw the same numbers.
const MEDIAN: u64 = 16;
pub(super) const RATIO: u64 = 17;
const FLOOR: u64 = 18;
const EFFECT: u64 = 19;

fn claim_report(claim: &Claim) -> ClaimReport {
    let said = &claim.claim;
    ClaimReport {
        text: said.text.clone(),
        metric: said.metric.clone(),
        level: said.level.clone(),
        numbers: said.numbers.iter().map(Figure::ratio).collect(),
        smallest_effect: said.smallest_effect,
        min_cpus: said.min_cpus,
    }
}

/// Author, month and subject.
fn mail_line(mail: &Mail) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut parts = mail.date.split('-');
    let (year, month) = (parts.next(), parts.next().and_then(|month| month.parse::<usize>().ok()));
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?));
    match (year, month) {
        (Some(year), Some(month)) => format!("{}, {month} {year}: {}", mail.from, mail.subject),
        _ => format!("{}, {}: {}", mail.from, mail.date, mail.subject),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_named_by_author_month_and_subject() {
        let mail =
            |date: &str| Mail { from: "A. Author".into(), date: date.into(), subject: "a patch".into() };
        assert_eq!(mail_line(&mail("2004-03-28")), "A. Author, March 2004: a patch");
        assert_eq!(mail_line(&mail("spring")), "A. Author, spring: a patch");
        assert_eq!(mail_line(&mail("2004-13-28")), "A. Author, 2004-13-28: a patch");
    }

    #[test]
    fn buckets_that_round_together_become_one_and_lose_nothing() {
        let mut ticks = Histogram::default();
        (0..100).for_each(|value| ticks.record(value));
        let clock = Clock { name: "tsc".into(), ticks_per_second: 4e9, floor_ns: 0.0, fallback: None };
        let found = buckets(&ticks, &clock);
        assert_eq!(found.iter().map(|[_, _, count]| count).sum::<u64>(), 100);
        assert!(found.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{found:?}");
        assert!(found.iter().all(|[lo, hi, _]| lo < hi));
    }
}
