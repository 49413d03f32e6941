//! The two verdicts of an experiment, in data and in words.

use super::assessed::{AssessedCase, RATIO, pair_ratio, stream};
use super::clock::Clock;
use super::options::Options;
use crate::claim::{Claim, Direction, Quantity};
use crate::report::model::{ClaimNumber, ClaimVerdict, Mechanism, Ratio, VerdictReport};
use crate::stats::ratio::inverse;
use crate::stats::verdict::{self, Evidence, Expectation, Reading, implied_share};

/// Judges mechanism and claim, as the claim's file says.
pub(super) fn verdicts(
    claim: &Claim,
    cases: &[AssessedCase],
    options: &Options,
    clock: &Clock,
    cpus: usize,
) -> VerdictReport {
    let (mechanism, measured, mechanism_why) = judge_mechanism(claim, cases, options, clock, cpus);
    let (claimed, claim_why) = judge_claim(claim, cases, options, clock, cpus);
    // A ratio that says nothing about the mechanism says nothing about its share either.
    let judged = measured.filter(|_| mechanism != Mechanism::Inconclusive);
    let share = judged.and_then(|component| headline_share(claim, component));
    let mut why = format!(
        "mechanism {}: {mechanism_why}. Claim {}: {claim_why}.",
        name(mechanism),
        claim_name(claimed)
    );
    if let Some((_, words)) = &share {
        why.push_str(words);
    }
    VerdictReport {
        mechanism,
        claim: claimed,
        measured_ratio: measured.map(|ratio| ratio.value),
        ci95: measured.map(|ratio| ratio.ci95),
        implied_share: share.map(|(share, _)| share),
        why,
    }
}

fn judge_mechanism(
    claim: &Claim,
    cases: &[AssessedCase],
    options: &Options,
    clock: &Clock,
    cpus: usize,
) -> (Mechanism, Option<Ratio>, String) {
    let test = &claim.mechanism;
    let evidence = match find(cases, &test.case, &test.baseline, &test.candidate) {
        Ok(rows) => weigh(rows, options, clock),
        Err(missing) => return (Mechanism::Inconclusive, None, format!("missing: {missing}")),
    };
    if cpus < test.min_cpus as usize {
        let why = format!("needs {} CPUs, and this run uses {cpus}", test.min_cpus);
        return (Mechanism::Inconclusive, evidence.ratio, why);
    }
    let expected = Expectation { direction: test.direction, smallest_effect: test.smallest_effect };
    let reading = verdict::read(expected, evidence);
    let what = evidence.ratio.map_or_else(String::new, |ratio| {
        format!(
            "{} takes {} times as long as {} in {}: ",
            test.candidate,
            in_words(ratio),
            test.baseline,
            test.case
        )
    });
    let why = format!("{what}{reading}{}", limits(&reading, expected, evidence));
    (verdict::mechanism(reading), evidence.ratio, why)
}

fn judge_claim(
    claim: &Claim,
    cases: &[AssessedCase],
    options: &Options,
    clock: &Clock,
    cpus: usize,
) -> (ClaimVerdict, String) {
    let said = &claim.claim;
    let mut missing = Vec::new();
    if cpus < said.min_cpus as usize {
        missing.push(format!("{} CPUs (this run uses {cpus})", said.min_cpus));
    }
    let Some(test) = &said.test else {
        missing
            .push(format!("a measurement of the {} at the level of the mail ({})", said.metric, said.level));
        return (ClaimVerdict::NotTestableHere, missing_words(&missing, &said.hardware));
    };
    let rows = find(cases, &test.case, &test.baseline, &test.candidate);
    if let Err(reason) = &rows {
        missing.push(reason.clone());
    }
    let Some(rows) = rows.ok().filter(|_| missing.is_empty()) else {
        return (ClaimVerdict::NotTestableHere, missing_words(&missing, &said.hardware));
    };
    let mut evidence = weigh(rows, options, clock);
    // The lab measures time; a rate is its inverse, and so is the floor.
    if said.quantity == Quantity::Rate {
        evidence.ratio = evidence.ratio.map(inverse);
        evidence.floor = evidence.floor.map(|[lo, hi]| [1.0 / hi, 1.0 / lo]);
    }
    let expected = Expectation { direction: said.direction, smallest_effect: said.smallest_effect };
    let reading = verdict::read(expected, evidence);
    let what = evidence.ratio.map_or_else(String::new, |ratio| {
        format!(
            "{} of {} is {} times that of {}: ",
            said.metric,
            test.candidate,
            in_words(ratio),
            test.baseline
        )
    });
    (verdict::claim(reading), format!("{what}{reading}{}", limits(&reading, expected, evidence)))
}

/// Two variants of a case: indices of baseline and candidate.
struct Rows<'a> {
    case: &'a AssessedCase,
    baseline: usize,
    candidate: usize,
}

fn find<'a>(
    cases: &'a [AssessedCase],
    case: &str,
    baseline: &str,
    candidate: &str,
) -> Result<Rows<'a>, String> {
    let Some(found) = cases.iter().find(|found| found.case.name == case) else {
        return Err(format!("the case {case}, which was not run"));
    };
    if let Some(difference) = &found.difference {
        return Err(format!("equal work in {case}: {difference}"));
    }
    let variant = |name: &str| {
        let Some(index) = found.case.variants.iter().position(|variant| variant.name == name) else {
            return Err(format!("a variant {name} in {case}"));
        };
        match &found.case.variants[index].unavailable {
            Some(reason) => Err(format!("{name}, which is not available here ({reason})")),
            None => Ok(index),
        }
    };
    Ok(Rows { case: found, baseline: variant(baseline)?, candidate: variant(candidate)? })
}

fn weigh(rows: Rows<'_>, options: &Options, clock: &Clock) -> Evidence {
    let Rows { case, baseline, candidate } = rows;
    let pairs = case.samples.pairs(candidate, baseline);
    // The stream of the report's own row when the baseline is the case's, so that both print one interval.
    let mut rng = stream(options.seed, case.index, candidate, RATIO);
    let shortest = [baseline, candidate].map(|slot| case.samples.batch_ns(slot).unwrap_or(f64::INFINITY));
    Evidence {
        ratio: pair_ratio(&pairs, &mut rng),
        floor: case.report.noise_floor.map(|floor| floor.ratio_ci95),
        // A floor from a spoiled A/A pair is no floor.
        drop_rate: pairs.drop_rate().max(case.floor_drop_rate),
        oversubscribed: case.report.oversubscribed,
        replicated: options.launches >= 5 && options.blocks >= 5,
        clock_bound: shortest.iter().any(|&batch_ns| batch_ns < 3.0 * clock.floor_ns),
    }
}

/// The share that the component must have had of the whole, for the figure farthest from 1, and a sentence for
/// each figure. `None` if the mail has no figure, or the component's interval holds 1: then its share is open.
fn headline_share(claim: &Claim, component: Ratio) -> Option<(f64, String)> {
    let [lo, hi] = component.ci95;
    if lo <= 1.0 && hi >= 1.0 {
        return None;
    }
    let figures: Vec<ClaimNumber> = claim.claim.numbers.iter().map(crate::claim::Figure::ratio).collect();
    let mut words = String::from(" Implied share of the routine in the whole:");
    for (number, figure) in figures.iter().enumerate() {
        let share = implied_share(component.value, time_ratio(claim, figure.ratio))?;
        let corners: Vec<f64> = figure
            .interval
            .iter()
            .flat_map(|&whole| component.ci95.map(|part| implied_share(part, time_ratio(claim, whole))))
            .collect::<Option<_>>()?;
        let least = corners.iter().copied().fold(f64::INFINITY, f64::min);
        let most = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let separator = if number == 0 { "" } else { ";" };
        let what = &figure.what;
        words.push_str(&format!(
            "{separator} {what}: {share:.2} [{least:.2}, {most:.2}], {}",
            plausible(least, most)
        ));
    }
    words.push('.');
    let headline = figures.iter().max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))?;
    implied_share(component.value, time_ratio(claim, headline.ratio)).map(|share| (share, words))
}

/// A figure of the mail as a ratio of times.
fn time_ratio(claim: &Claim, ratio: f64) -> f64 {
    match claim.claim.quantity {
        Quantity::Rate => 1.0 / ratio,
        Quantity::Time => ratio,
    }
}

fn plausible(least: f64, most: f64) -> &'static str {
    match (least, most) {
        (_, most) if most <= 0.0 => "so the routine alone cannot explain it: it moved the other way",
        (least, _) if least > 1.0 => "so the routine alone cannot explain it: more than the whole",
        (least, most) if least > 0.0 && most <= 1.0 => "consistent",
        _ => "consistent in a part of the interval only",
    }
}

fn in_words(Ratio { value, ci95: [lo, hi] }: Ratio) -> String {
    format!("{value:.3} [{lo:.3}, {hi:.3}]")
}

/// What the interval was held against, where that was the point.
fn limits(reading: &Reading, expected: Expectation, evidence: Evidence) -> String {
    use verdict::Doubt::{InsideFloor, Straddles};
    let compared = matches!(
        reading,
        Reading::AsExpected
            | Reading::Opposite
            | Reading::Equivalent
            | Reading::Unclear(InsideFloor | Straddles)
    );
    let floor = evidence.floor.filter(|_| compared);
    let way = match expected.direction {
        Direction::Higher => "higher",
        Direction::Lower => "lower",
    };
    floor.map_or_else(String::new, |[lo, hi]| {
        format!(
            " (expected {way} by at least {:.1} %; noise floor [{lo:.3}, {hi:.3}])",
            expected.smallest_effect * 100.0
        )
    })
}

fn missing_words(missing: &[String], hardware: &str) -> String {
    format!("missing: {}. It asks for: {hardware}", missing.join("; "))
}

const fn name(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Confirmed => "confirmed",
        Mechanism::Contradicted => "contradicted",
        Mechanism::Inconclusive => "inconclusive",
    }
}

const fn claim_name(claim: ClaimVerdict) -> &'static str {
    match claim {
        ClaimVerdict::Reproduced => "reproduced",
        ClaimVerdict::NotReproduced => "not reproduced",
        ClaimVerdict::Inconclusive => "inconclusive",
        ClaimVerdict::NotTestableHere => "not testable here",
    }
}
