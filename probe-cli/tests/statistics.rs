//! Statistics on synthetic data of known truth: coverage, false alarms, power.
//!
//! All of it is deterministic: the seeds are fixed, and a run that fails fails again. An optimised build
//! simulates 1000 runs for a rate, a debug build 200; a rate may leave its bounds by two standard errors.

use probe_cli::claim::Direction;
use probe_cli::report::model::{ClaimVerdict, Mechanism, Ratio};
use probe_cli::stats::bootstrap::{estimate, p_value};
use probe_cli::stats::effect::main_effect;
use probe_cli::stats::fdr::benjamini_hochberg;
use probe_cli::stats::ratio::{inverse, paired_logs, ratio};
use probe_cli::stats::rng::Rng;
use probe_cli::stats::verdict::{self, Evidence, Expectation, Reading, read};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

type Samples = Vec<Vec<Option<f64>>>;

/// A machine that measures: what makes its numbers differ.
#[derive(Clone, Copy)]
struct Machine {
    launches: usize,
    blocks: usize,
    /// Standard deviation between launches of the logarithm of a variant's time: placement.
    between: f64,
    /// Standard deviation of one batch inside its launch.
    within: f64,
    /// Correlation of a batch's deviation with that of the batch before.
    correlation: f64,
    /// Share of batches that something slowed down and no rule saw.
    spoiled: f64,
}

const QUICK: Machine =
    Machine { launches: 5, blocks: 5, between: 0.03, within: 0.03, correlation: 0.5, spoiled: 0.02 };
const FULL: Machine = Machine { launches: 10, blocks: 9, ..QUICK };
const BOTH: [(&str, Machine); 2] = [("quick", QUICK), ("full", FULL)];

/// Standard normal, by Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

impl Machine {
    /// Times of a variant whose true time is `truth`.
    fn measure(&self, truth: f64, rng: &mut Rng) -> Samples {
        let fresh = (1.0 - self.correlation * self.correlation).sqrt();
        (0..self.launches)
            .map(|_| {
                let placement = self.between * normal(rng);
                let mut drift = normal(rng);
                (0..self.blocks)
                    .map(|_| {
                        drift = self.correlation * drift + fresh * normal(rng);
                        let spoiled = if rng.unit() < self.spoiled { 1.5 } else { 1.0 };
                        Some(truth * (placement + self.within * drift).exp() * spoiled)
                    })
                    .collect()
            })
            .collect()
    }

    fn ratio(&self, truth: f64, rng: &mut Rng) -> Ratio {
        let (baseline, variant) = (self.measure(100.0, rng), self.measure(100.0 * truth, rng));
        ratio(&paired_logs(&variant, &baseline), rng).expect("five launches give an interval")
    }

    /// Evidence on a variant, with an A/A pair of its own.
    fn evidence(&self, truth: f64, rng: &mut Rng) -> Evidence {
        Evidence {
            ratio: Some(self.ratio(truth, rng)),
            floor: Some(self.ratio(1.0, rng).ci95),
            drop_rate: 0.0,
            oversubscribed: false,
            replicated: true,
            clock_bound: false,
        }
    }
}

/// Simulated runs behind a rate.
const RUNS: u64 = if cfg!(debug_assertions) { 200 } else { 1000 };

/// Share of simulated runs for which `holds`.
fn share(seed: u64, holds: impl Fn(&mut Rng) -> bool) -> f64 {
    share_of(RUNS, seed, holds)
}

fn share_of(runs: u64, seed: u64, holds: impl Fn(&mut Rng) -> bool) -> f64 {
    let hits = (0..runs).filter(|&run| holds(&mut Rng::derive(seed, &[run]))).count();
    hits as f64 / runs as f64
}

/// Twice the standard error of a rate near `rate`.
fn slack(rate: f64) -> f64 {
    2.0 * (rate * (1.0 - rate) / RUNS as f64).sqrt()
}

/// Whether a 95 % interval that held the truth `covered` of the time is one of 93 to 98 %.
fn is_near_95_percent(covered: f64) -> bool {
    (0.93 - slack(0.93)..=0.98 + slack(0.98)).contains(&covered)
}

fn covers(ratio: Ratio, truth: f64) -> bool {
    ratio.ci95[0] <= truth && truth <= ratio.ci95[1]
}

fn assert_coverage(name: &str, machine: Machine) {
    let covered = share(11, |rng| covers(machine.ratio(0.8, rng), 0.8));
    println!("coverage, {name}: {covered}");
    assert!(is_near_95_percent(covered), "{name}: a 95 % interval holds the truth {covered} of the time");
}

#[test]
fn intervals_of_a_quick_run_hold_the_truth_as_often_as_they_say() {
    assert_coverage("quick", QUICK);
}

#[test]
fn intervals_of_a_full_run_hold_the_truth_as_often_as_they_say() {
    assert_coverage("full", FULL);
}

#[test]
fn intervals_hold_the_truth_where_launches_differ_more_than_batches() {
    for (name, machine) in BOTH {
        assert_coverage(name, Machine { between: 0.2, within: 0.01, ..machine });
    }
}

#[test]
fn intervals_hold_the_truth_where_batches_differ_more_than_launches() {
    for (name, machine) in BOTH {
        let machine = Machine { between: 0.001, within: 0.1, correlation: 0.0, ..machine };
        let covered = share(12, |rng| covers(machine.ratio(0.8, rng), 0.8));
        println!("coverage, noisy batches, {name}: {covered}");
        assert!(covered >= 0.93 - slack(0.93), "{name}: {covered}");
    }
}

#[test]
fn medians_are_covered_like_ratios() {
    for (name, machine) in BOTH {
        // What spoils a batch only ever slows it; a ratio has it on both sides, a median on one.
        let machine = Machine { spoiled: 0.0, ..machine };
        let covered = share(13, |rng| {
            let samples = machine.measure(100.0, rng);
            let kept: Vec<Vec<f64>> =
                samples.into_iter().map(|blocks| blocks.into_iter().flatten().collect()).collect();
            let [lo, hi] = estimate(&kept, rng).unwrap().ci95.unwrap();
            lo <= 100.0 && 100.0 <= hi
        });
        println!("coverage of medians, {name}: {covered}");
        assert!(is_near_95_percent(covered), "{name}: {covered}");
    }
}

const LOWER: Expectation = Expectation { direction: Direction::Lower, smallest_effect: 0.05 };

#[test]
fn a_variant_that_is_the_baseline_is_hardly_ever_judged_different() {
    for (name, machine) in BOTH {
        let alarms = share(21, |rng| {
            matches!(read(LOWER, machine.evidence(1.0, rng)), Reading::AsExpected | Reading::Opposite)
        });
        println!("false alarms, {name}: {alarms}");
        assert!(
            alarms <= 0.025 + slack(0.025),
            "{name}: {alarms} of the A/A runs gave a verdict on a difference"
        );
    }
}

#[test]
fn a_variant_on_the_edge_of_the_smallest_effect_is_rarely_confirmed() {
    // The hardest case for a false alarm: the effect is exactly the smallest of interest, and no larger.
    for (name, machine) in BOTH {
        let alarms = share(22, |rng| read(LOWER, machine.evidence(0.95, rng)) == Reading::AsExpected);
        println!("false alarms on the edge, {name}: {alarms}");
        assert!(alarms <= 0.025 + slack(0.025), "{name}: {alarms}");
    }
}

#[test]
fn an_effect_of_twenty_percent_is_found() {
    for ((name, machine), least) in BOTH.into_iter().zip([0.8, 0.98]) {
        let found = share(23, |rng| read(LOWER, machine.evidence(0.8, rng)) == Reading::AsExpected);
        println!("power, {name}: {found}");
        assert!(found >= least, "{name}: an effect of 20 % is found {found} of the time");
    }
}

#[test]
fn no_effect_is_recognised_as_none_on_a_quiet_machine() {
    let quiet = Machine { between: 0.01, within: 0.01, ..FULL };
    let found = share(24, |rng| read(LOWER, quiet.evidence(1.0, rng)) == Reading::Equivalent);
    println!("equivalence found: {found}");
    assert!(found >= 0.95, "{found}");
    // And never where there is an effect twice as large as the smallest of interest.
    let missed = share(25, |rng| read(LOWER, quiet.evidence(0.9, rng)) == Reading::Equivalent);
    assert!(missed <= 0.01, "{missed}");
}

#[test]
fn many_equal_rows_give_few_false_discoveries() {
    // 40 rows without an effect: the chance of even one discovery is the false discovery rate. It takes p-values
    // far in the tail, and more runs than a rate needs elsewhere; there is no bootstrap in them. The spoiled
    // batches make the tails a little thicker than Student's.
    let alarms = share_of(5 * RUNS, 31, |rng| {
        let p: Vec<f64> = (0..40)
            .map(|_| {
                let (baseline, variant) = (QUICK.measure(100.0, rng), QUICK.measure(100.0, rng));
                p_value(&paired_logs(&variant, &baseline)).unwrap()
            })
            .collect();
        benjamini_hochberg(&p).iter().any(|&q| q <= 0.05)
    });
    println!("false discoveries: {alarms}");
    assert!(alarms <= 0.06 + slack(0.06), "{alarms}");
}

#[test]
fn p_values_without_an_effect_are_uniform() {
    for level in [0.05, 0.2, 0.5] {
        let below = share(32, |rng| {
            let (baseline, variant) = (FULL.measure(100.0, rng), FULL.measure(100.0, rng));
            p_value(&paired_logs(&variant, &baseline)).unwrap() <= level
        });
        assert!((below - level).abs() < 0.015 + slack(level), "{below} of the p-values are at most {level}");
    }
}

#[test]
fn a_main_effect_is_told_apart_from_another_factor() {
    // Two factors: one takes a tenth off, one makes it five times slower. Only the first is asked for.
    let covered = share(41, |rng| {
        let mut cell = |first: f64, second: f64| FULL.measure(100.0 * first * second, rng);
        let (a, b, c, d) = (cell(1.0, 1.0), cell(0.9, 1.0), cell(1.0, 5.0), cell(0.9, 5.0));
        covers(main_effect(&[(&b, &a), (&d, &c)], rng).unwrap(), 0.9)
    });
    println!("coverage of effects: {covered}");
    assert!(covered >= 0.93 - slack(0.93), "{covered}");
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let draw = |seed| FULL.ratio(0.9, &mut Rng::new(seed));
    assert_eq!(draw(5), draw(5));
    assert_ne!(draw(5), draw(6));
}

#[test]
fn verdicts_follow_the_readings() {
    let straddles = Reading::Unclear(verdict::Doubt::Straddles);
    for (reading, mechanism, claim) in [
        (Reading::AsExpected, Mechanism::Confirmed, ClaimVerdict::Reproduced),
        (Reading::Opposite, Mechanism::Contradicted, ClaimVerdict::Inconclusive),
        (Reading::Equivalent, Mechanism::Contradicted, ClaimVerdict::NotReproduced),
        (straddles, Mechanism::Inconclusive, ClaimVerdict::Inconclusive),
    ] {
        assert_eq!((verdict::mechanism(reading), verdict::claim(reading)), (mechanism, claim), "{reading:?}");
    }
}

/// The same inputs every time: a run that fails fails again.
fn repeatable() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(42),
        failure_persistence: None,
        ..ProptestConfig::with_cases(128)
    }
}

/// Samples as a hostile machine might give them: gaps, zeros, huge and tiny numbers, ragged launches.
fn wild_samples() -> impl Strategy<Value = Samples> {
    let odd = prop::sample::select(vec![0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX]);
    let sample = prop_oneof![4 => (1e-3..1e9_f64).prop_map(Some), 1 => Just(None), 1 => odd.prop_map(Some)];
    prop::collection::vec(prop::collection::vec(sample, 0..7), 0..9)
}

fn is_sound(ratio: Ratio) -> bool {
    let Ratio { value, ci95: [lo, hi] } = ratio;
    [value, lo, hi].iter().all(|end| end.is_finite() && *end > 0.0) && lo <= value && value <= hi
}

proptest! {
    #![proptest_config(repeatable())]

    #[test]
    fn no_input_gives_a_ratio_that_is_not_a_number(ours in wild_samples(), theirs in wild_samples(), seed: u64) {
        if let Some(found) = ratio(&paired_logs(&ours, &theirs), &mut Rng::new(seed)) {
            prop_assert!(is_sound(found), "{found:?}");
            prop_assert!(is_sound(inverse(found)), "{:?}", inverse(found));
        }
        if let Some(found) = main_effect(&[(&ours, &theirs)], &mut Rng::new(seed)) {
            prop_assert!(is_sound(found), "{found:?}");
        }
        if let Some(p) = p_value(&paired_logs(&ours, &theirs)) {
            prop_assert!((0.0..=1.0).contains(&p));
        }
    }

    #[test]
    fn anything_against_itself_is_one(samples in wild_samples(), seed: u64) {
        if let Some(found) = ratio(&paired_logs(&samples, &samples), &mut Rng::new(seed)) {
            prop_assert_eq!(found, Ratio { value: 1.0, ci95: [1.0, 1.0] });
        }
    }

    #[test]
    fn the_order_of_launches_does_not_matter(samples in wild_samples(), seed: u64) {
        let logs = paired_logs(&samples, &vec![vec![Some(1.0); 7]; samples.len()]);
        let mut shuffled = logs.clone();
        Rng::new(seed).shuffle(&mut shuffled);
        prop_assert_eq!(estimate(&logs, &mut Rng::new(1)), estimate(&shuffled, &mut Rng::new(1)));
    }

    #[test]
    fn the_order_of_blocks_does_not_matter_to_the_value(samples in wild_samples(), seed: u64) {
        let logs = paired_logs(&samples, &vec![vec![Some(1.0); 7]; samples.len()]);
        let mut shuffled = logs.clone();
        shuffled.iter_mut().for_each(|blocks| Rng::new(seed).shuffle(blocks));
        let value = |logs: &[Vec<f64>]| estimate(logs, &mut Rng::new(1)).map(|found| found.value);
        prop_assert_eq!(value(&logs), value(&shuffled));
    }

    #[test]
    fn a_common_factor_leaves_the_ratio(factor in 0.01..100.0_f64, seed: u64) {
        let rng = &mut Rng::new(seed);
        let (ours, theirs) = (QUICK.measure(80.0, rng), QUICK.measure(100.0, rng));
        let scale = |samples: &Samples| -> Samples {
            let blocks = |blocks: &Vec<Option<f64>>| blocks.iter().map(|time| time.map(|time| time * factor)).collect();
            samples.iter().map(blocks).collect()
        };
        let plain = ratio(&paired_logs(&ours, &theirs), &mut Rng::new(1)).unwrap();
        let scaled = ratio(&paired_logs(&scale(&ours), &scale(&theirs)), &mut Rng::new(1)).unwrap();
        prop_assert!((plain.value / scaled.value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn q_values_lie_between_the_p_value_and_one(p in prop::collection::vec(0.0..=1.0_f64, 0..50)) {
        let q = benjamini_hochberg(&p);
        prop_assert_eq!(q.len(), p.len());
        for (p, q) in p.iter().zip(&q) {
            prop_assert!(*q >= *p && *q <= 1.0);
        }
    }
}
