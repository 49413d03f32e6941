//! From what was measured to the rows of the report.

use std::collections::BTreeMap;

use probe_abi::batch::BatchEvent;

use super::assessed::{AssessedCase, EFFECT, FLOOR, Run, pair_ratio, stream};
use super::clock::Clock;
use super::drops::RULES;
use super::judge;
use super::options::Options;
use super::rows::{Situation, row};
use super::run::Measured;
use super::samples::CaseSamples;
use crate::claim::{Claim, Figure, Mail};
use crate::experiment::{Case, Experiment, OperationTimes};
use crate::report::model::{
    CaseReport, ClaimReport, Effect, ExperimentReport, LockRow, NoiseFloor, OperationRow, Quantiles,
};
use crate::stats::effect::main_effect;
use crate::stats::histogram::Histogram;
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
    let by_key =
        |events: &Vec<BatchEvent>| events.iter().map(|event| (event.key, event.elapsed_ns)).collect();
    let run = Run { measured, options, cpus, probe: measured.events.as_ref().map(by_key) };
    let assessed: Vec<AssessedCase> = experiment
        .cases(cpus)
        .into_iter()
        .enumerate()
        .filter_map(|(index, case)| {
            let check = measured.checks.get(&index)?;
            let waits = experiment.waits_by_design(&case);
            Some(assess_case(&run, index, case, waits, check))
        })
        .collect();
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
        programs: Vec::new(),
        operations: assessed.iter().flat_map(|found| operations(found, &measured.clock)).collect(),
        live: Vec::new(),
        verdict,
        cases: assessed.iter().map(|found| found.report.clone()).collect(),
        variants: assessed.into_iter().flat_map(|found| found.rows).collect(),
    }
}

fn assess_case(
    run: &Run<'_>,
    index: usize,
    case: Case,
    waits: bool,
    check: &Result<String, String>,
) -> AssessedCase {
    let Run { measured, options, cpus, .. } = *run;
    let oversubscribed = case.tasks > cpus;
    let samples = CaseSamples::new(measured, index, &case, oversubscribed || waits, options.blocks);
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
    let report = CaseReport {
        name: case.name.clone(),
        title: case.title.clone(),
        threads: case.tasks as u32,
        oversubscribed,
        baseline: case.variants.first().map(|variant| variant.name.clone()).unwrap_or_default(),
        noise_floor,
        witness_ns: extremes(&samples.witness_ns),
        line_transfer_ns: extremes(&samples.line_transfer_ns),
        drop_rate: if total == 0 { 0.0 } else { dropped as f64 / total as f64 },
        drops,
        huge_page_bytes: samples.huge_page_bytes,
    };
    let situation = Situation { index, case: &case, samples: &samples, check, oversubscribed };
    let rows = (0..case.variants.len()).map(|variant| row(run, &situation, variant)).collect();
    let difference = check.as_ref().err().cloned();
    AssessedCase { index, difference, floor_drop_rate: floor_pairs.drop_rate(), case, samples, report, rows }
}

/// The least and the greatest of some numbers.
fn extremes(numbers: &[f64]) -> Option<[f64; 2]> {
    let least = numbers.iter().copied().reduce(f64::min)?;
    let greatest = numbers.iter().copied().reduce(f64::max)?;
    Some([least, greatest])
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

fn operations(found: &AssessedCase, clock: &Clock) -> Vec<OperationRow> {
    let rows = found.case.variants.iter().zip(&found.samples.operations).filter_map(|(variant, seen)| {
        let OperationTimes { times, wakeups } = seen.as_ref()?;
        let at = |p| Some(whole_ns(times.quantile(p)?, clock));
        Some(OperationRow {
            case: found.case.name.clone(),
            variant: variant.name.clone(),
            operation: found.case.operation.to_owned(),
            threads: found.case.tasks as u32,
            n: times.n(),
            p50_ns: at(0.5)?,
            p99_ns: at(0.99)?,
            p99_9_ns: at(0.999)?,
            max_ns: whole_ns(times.max()?, clock),
            wakeups_per_million: *wakeups as f64 * 1e6 / times.n() as f64,
            buckets: buckets(times, clock),
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
        max_ns: whole_ns(ticks.max()?, clock),
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
