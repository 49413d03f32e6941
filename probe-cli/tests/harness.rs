//! The harness against a toy: order, records, drop rules, launches, and reports from records made by hand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use probe_abi::batch::{BatchEvent, BatchKey};
use probe_cli::claim::Claim;
use probe_cli::experiment::{
    Case, Comparison, Experiment, Factor, Level, LockTimes, OperationTimes, VariantInfo, Workload,
};
use probe_cli::harness::assess::assess;
use probe_cli::harness::child::Launcher;
use probe_cli::harness::clock::Clock;
use probe_cli::harness::crew::CrewError;
use probe_cli::harness::drops::{RULES, Surroundings, first_broken};
use probe_cli::harness::launch::{LaunchError, run_launch, serve, slots, task_cpus};
use probe_cli::harness::markers::BatchSource;
use probe_cli::harness::options::Options;
use probe_cli::harness::plan::{SlotOrder, shuffled};
use probe_cli::harness::record::{Batch, CaseRecord, LaunchRecord, LaunchSpec, TaskRecord};
use probe_cli::harness::run::{Measured, run_as};
use probe_cli::harness::run_error::RunError;
use probe_cli::report::model::{ClaimVerdict, ExperimentReport, Mechanism, VariantRow};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::sync::watch;

// ---- The toy ----

const CLAIM: &str = r#"
experiment = "toy"
question = "Does half the work take half the time?"
[mail]
from = "A. Author"
date = "2004-03-28"
subject = "half the work"
[claim]
text = "the whole takes 0.9 times as long"
metric = "time of a whole"
level = "a whole operation"
direction = "lower"
quantity = "time"
smallest_effect = 0.05
min_cpus = 4
hardware = "4 CPUs"
[[claim.numbers]]
what = "one task"
before = 10.0
after = 9.0
unit = "s"
rounding = 0.05
[mechanism]
text = "half the work takes less time"
level = "a routine"
case = "alone"
baseline = "whole"
candidate = "half"
direction = "lower"
smallest_effect = 0.05
min_cpus = 1
"#;

/// Variants `whole`, `half`, `quarter` and one that runs nowhere; cases `alone` and `together` (two tasks).
#[derive(Default)]
struct Toy {
    /// The task that panics, if any.
    panics: Option<usize>,
    /// Whether the variants of `together` are found to differ.
    unequal: bool,
    /// Whether a quick run leaves `together` out.
    long: bool,
    /// Whether tasks lose their CPU as part of what is measured.
    waits: bool,
}

const WHOLE: usize = 0;
const HALF: usize = 1;
const NOWHERE: usize = 2;
const QUARTER: usize = 3;
/// The baseline's second turn.
const AGAIN: usize = 4;

impl Experiment for Toy {
    fn claim(&self) -> &'static Claim {
        static PARSED: LazyLock<Claim> = LazyLock::new(|| Claim::embedded(CLAIM));
        &PARSED
    }
}

impl Comparison for Toy {
    fn name(&self) -> &str {
        &self.claim().experiment
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let variant = |name: &str, unavailable: Option<&str>| VariantInfo {
            name: name.into(),
            summary: "toy".into(),
            named: true,
            unavailable: unavailable.map(str::to_owned),
        };
        let case = |name: &str, tasks| Case {
            name: name.into(),
            title: name.into(),
            tasks,
            operation: "step",
            variants: vec![
                variant("whole", None),
                variant("half", None),
                variant("nowhere", Some("no such CPU")),
                variant("quarter", None),
            ],
        };
        vec![case("alone", 1), case("together", 2)]
    }

    fn only_in_full_runs(&self, case: &Case) -> bool {
        self.long && case.name == "together"
    }

    fn waits_by_design(&self, _case: &Case) -> bool {
        self.waits
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        if self.unequal && case.tasks == 2 { Err("they differ".into()) } else { Ok("all equal".into()) }
    }

    fn prepare(&self, case: &Case, variant: usize, _seed: u64) -> Box<dyn Workload> {
        assert_ne!(variant, NOWHERE, "a variant that is not available was prepared");
        Box::new(Steps {
            steps: 4000 >> variant,
            runs: AtomicU64::new(0),
            tasks: case.tasks as u64,
            panics: self.panics,
            locks: None,
        })
    }

    fn factors(&self, _case: &Case) -> Vec<Factor> {
        let level = |name: &str, variants: &[usize]| Level { name: name.into(), variants: variants.into() };
        vec![Factor {
            name: "work".into(),
            levels: vec![level("all", &[WHOLE, HALF]), level("less", &[HALF, QUARTER])],
        }]
    }

    fn prepare_lock_timed(&self, case: &Case, variant: usize, _seed: u64) -> Option<Box<dyn Workload>> {
        let mut times = LockTimes::default();
        times.wait.record(100);
        times.hold.record(40);
        (variant == HALF).then(|| {
            Box::new(Steps {
                steps: 10,
                runs: AtomicU64::new(0),
                tasks: case.tasks as u64,
                panics: None,
                locks: Some(times),
            }) as Box<dyn Workload>
        })
    }
}

/// Does `steps` steps, and holds the harness to its promise of one reset before each batch.
struct Steps {
    steps: u64,
    runs: AtomicU64,
    tasks: u64,
    panics: Option<usize>,
    locks: Option<LockTimes>,
}

impl Workload for Steps {
    fn reset(&mut self) {
        *self.runs.get_mut() = 0;
    }

    fn run(&self, task: usize) -> u64 {
        assert!(self.runs.fetch_add(1, Ordering::Relaxed) < self.tasks, "two batches after one reset");
        assert_ne!(Some(task), self.panics, "as the test asked");
        let mut x = 3_u64;
        for _ in 0..self.steps {
            x = std::hint::black_box(x.wrapping_mul(x));
        }
        self.steps
    }

    fn lock_times(&self) -> Option<LockTimes> {
        self.locks.clone()
    }
}

/// The same inputs every time: a run that fails fails again.
fn repeatable() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(42),
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    }
}

// ---- Order ----

proptest! {
    #![proptest_config(repeatable())]

    #[test]
    fn every_slot_runs_once_a_block_and_once_at_every_position(
        count in 1..12_usize, seed: u64, case in 0..4_usize, launches in 1..6_u16, blocks in 1..12_u16,
    ) {
        let slots: Vec<usize> = (0..count).map(|slot| slot * 2).collect();
        let order = SlotOrder::new(&slots, seed, case);
        let all: Vec<&[usize]> = (0..launches)
            .flat_map(|launch| (0..blocks).map(move |block| (launch, block)))
            .map(|(launch, block)| order.block(launch, block, blocks))
            .collect();
        for block in &all {
            let mut sorted = block.to_vec();
            sorted.sort_unstable();
            prop_assert_eq!(&sorted, &slots);
        }
        // Launches fill whole squares together.
        for square in all.chunks_exact(count) {
            for position in 0..count {
                let mut column: Vec<usize> = square.iter().map(|row| row[position]).collect();
                column.sort_unstable();
                prop_assert_eq!(&column, &slots);
            }
        }
    }

    #[test]
    fn the_plan_follows_from_the_seed_alone(seed: u64, launch in 0..20_u16) {
        let slots: Vec<usize> = (0..6).collect();
        prop_assert_eq!(SlotOrder::new(&slots, seed, 1), SlotOrder::new(&slots, seed, 1));
        prop_assert_eq!(shuffled(&slots, seed, launch, 5), shuffled(&slots, seed, launch, 5));
    }
}

#[test]
fn other_seeds_cases_and_launches_have_other_orders() {
    let slots: Vec<usize> = (0..9).collect();
    assert_ne!(SlotOrder::new(&slots, 1, 0), SlotOrder::new(&slots, 2, 0));
    assert_ne!(SlotOrder::new(&slots, 1, 0), SlotOrder::new(&slots, 1, 1));
    assert_ne!(shuffled(&slots, 1, 0, 5), shuffled(&slots, 1, 1, 5));
    assert!(SlotOrder::new(&[], 1, 0).block(0, 0, 5).is_empty());
}

// ---- A launch in this process ----

fn spec(blocks: u16) -> LaunchSpec {
    LaunchSpec {
        comparison: "toy".into(),
        index: 3,
        launch: 1,
        blocks,
        seed: 42,
        cpus: probe_cli::sys::affinity::allowed().unwrap(),
        membind: None,
        cases: vec![0, 1],
        parent: None,
    }
}

#[test]
fn a_launch_runs_every_slot_once_a_block_and_counts_its_work() {
    let spec = spec(5);
    let record = run_launch(&Toy::default(), &spec).unwrap();
    let mut seen: Vec<usize> = record.cases.iter().map(|case| case.case).collect();
    seen.sort_unstable();
    assert_eq!((record.launch, seen), (1, vec![0, 1]));
    for found in &record.cases {
        let case = &Toy::default().cases(1)[found.case];
        let cpus = task_cpus(case, &spec.cpus);
        assert_eq!(found.batches.len(), 5 * 4);
        for block in 0..5 {
            let mut slots: Vec<usize> =
                found.batches.iter().filter(|batch| batch.block == block).map(|batch| batch.slot).collect();
            slots.sort_unstable();
            assert_eq!(slots, [WHOLE, HALF, QUARTER, AGAIN]);
        }
        for batch in &found.batches {
            let steps = if batch.slot == AGAIN { 4000 } else { 4000 >> batch.slot };
            assert_eq!(batch.operations(), steps * case.tasks as u64);
            assert!(batch.elapsed_ticks().is_some_and(|ticks| ticks > 0), "{batch:?}");
            assert_eq!(batch.tasks.len(), case.tasks);
            for (task, &cpu) in batch.tasks.iter().zip(&cpus) {
                let expected = u32::try_from(cpu).unwrap();
                assert_eq!((task.cpu_pinned, task.cpu_begin, task.cpu_end), (expected, expected, expected));
            }
        }
        // The kernel may take pages away at any time, so a few faults prove nothing; pages were there for the rest.
        let faulty =
            found.batches.iter().filter(|batch| batch.tasks.iter().any(|task| task.minor_faults > 0));
        assert!(faulty.count() * 5 <= found.batches.len(), "{:?}", found.batches);
        assert_eq!(found.locks.len(), 1);
        assert_eq!((found.locks[0].0, found.locks[0].1.wait.n()), (HALF, 1));
    }
}

#[test]
fn orders_and_records_travel_as_json() {
    let mut out = Vec::new();
    let orders = serde_json::to_vec(&spec(1)).unwrap();
    serve(&[&Toy::default()], &orders[..], &mut out).unwrap();
    let record: LaunchRecord = serde_json::from_slice(&out).unwrap();
    assert_eq!(record.cases.len(), 2);

    let refused = |orders: &[u8]| serve(&[&Toy::default()], orders, Vec::new()).unwrap_err();
    assert!(matches!(refused(b""), LaunchError::Orders(_)));
    let other = LaunchSpec { comparison: "other".into(), ..spec(1) };
    assert!(matches!(refused(&serde_json::to_vec(&other).unwrap()), LaunchError::Comparison(_)));
    let beyond = LaunchSpec { cases: vec![9], ..spec(1) };
    assert!(matches!(refused(&serde_json::to_vec(&beyond).unwrap()), LaunchError::Case { case: 9, .. }));
    let nowhere = LaunchSpec { cpus: Vec::new(), ..spec(1) };
    assert!(matches!(refused(&serde_json::to_vec(&nowhere).unwrap()), LaunchError::NoCpu));
    let orphan = LaunchSpec { parent: Some(u32::MAX), ..spec(1) };
    assert!(matches!(refused(&serde_json::to_vec(&orphan).unwrap()), LaunchError::Orphaned));
    for cpu in [usize::MAX, 1023] {
        let beyond = LaunchSpec { cpus: vec![0, cpu], cases: vec![1], ..spec(1) };
        let error = refused(&serde_json::to_vec(&beyond).unwrap());
        let LaunchError::Crew { source: CrewError::Pin { task: 1, cpu: refused, .. }, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(refused, cpu);
    }
}

#[test]
fn a_task_that_panics_ends_the_launch_and_does_not_hang_it() {
    for task in [0, 1] {
        let toy = Toy { panics: Some(task), ..Toy::default() };
        let error = run_launch(&toy, &LaunchSpec { cases: vec![1], ..spec(5) }).unwrap_err();
        assert!(matches!(error, LaunchError::Crew { .. }), "{error:?}");
    }
}

#[test]
fn slots_are_the_available_variants_and_the_baseline_again() {
    let mut case = Toy::default().cases(1).remove(0);
    assert_eq!(slots(&case), [WHOLE, HALF, QUARTER, AGAIN]);
    case.variants[WHOLE].unavailable = Some("gone".into());
    assert_eq!(slots(&case), [HALF, QUARTER], "without a baseline there is no second turn of it");
    case.tasks = 5;
    assert_eq!(task_cpus(&case, &[7, 2]), [7, 2, 7, 2, 7]);
}

// ---- Drop rules ----

/// A batch of one task that breaks no rule: 1000 ticks for 10 operations.
fn good(slot: usize, block: u16, ticks: u64) -> Batch {
    let task = TaskRecord {
        begin: 5000,
        end: 5000 + ticks,
        cpu_begin: 0,
        cpu_end: 0,
        cpu_pinned: 0,
        run_delay_ns: Some(0),
        involuntary_switches: 0,
        minor_faults: 0,
        operations: 10,
    };
    Batch { slot, block, tasks: vec![task], steal_ticks: Some(0), witness: [1000, 1000] }
}

#[test]
fn each_rule_drops_what_it_names() {
    let near = |shared_cpus| Surroundings { shared_cpus, witness_ticks: 1000.0, ticks_per_ns: 2.0 };
    let name = |batch: &Batch, oversubscribed| {
        first_broken(batch, &near(oversubscribed)).map(|rule| RULES[rule].name)
    };
    let plain = good(0, 0, 1000);
    assert_eq!(name(&plain, false), None);
    // What a rule sees in a case with a CPU for each task, and in an oversubscribed one.
    type Spoil = fn(&mut Batch);
    let table: [(Spoil, Option<&str>, Option<&str>); 14] = [
        (|batch| batch.tasks[0].operations = 0, Some("no-time"), Some("no-time")),
        (|batch| batch.tasks[0].end = 5000, Some("no-time"), Some("no-time")),
        (|batch| batch.tasks[0].end = 4000, Some("no-time"), Some("no-time")),
        (|batch| batch.tasks.clear(), Some("no-time"), Some("no-time")),
        (|batch| batch.tasks[0].cpu_begin = 1, Some("migrated"), Some("migrated")),
        (|batch| batch.tasks[0].cpu_end = 1, Some("migrated"), Some("migrated")),
        (|batch| batch.tasks[0].minor_faults = 1, Some("minor-fault"), Some("minor-fault")),
        (|batch| batch.steal_ticks = Some(1), Some("steal"), Some("steal")),
        (|batch| batch.tasks[0].involuntary_switches = 1, Some("involuntary-switch"), None),
        // 1000 ticks are 500 ns, and 1 % of them 5 ns.
        (|batch| batch.tasks[0].run_delay_ns = Some(6), Some("run-delay"), None),
        (|batch| batch.tasks[0].run_delay_ns = Some(5), None, None),
        (|batch| batch.witness = [1000, 1151], Some("frequency"), Some("frequency")),
        (|batch| batch.witness = [849, 1000], Some("frequency"), Some("frequency")),
        (
            |batch| {
                // What is not known breaks no rule.
                batch.tasks[0].run_delay_ns = None;
                batch.steal_ticks = None;
                batch.witness = [850, 1150];
            },
            None,
            None,
        ),
    ];
    for (number, (spoil, own, shared)) in table.into_iter().enumerate() {
        let mut batch = plain.clone();
        spoil(&mut batch);
        assert_eq!((name(&batch, false), name(&batch, true)), (own, shared), "row {number}");
    }
}

#[test]
fn a_batch_lasts_from_the_first_beginning_to_the_last_end() {
    let mut batch = good(0, 0, 1000);
    batch.tasks.push(TaskRecord { begin: 4900, end: 5500, ..batch.tasks[0] });
    batch.tasks.push(TaskRecord { begin: 5100, end: 6300, operations: 8, ..batch.tasks[0] });
    assert_eq!((batch.elapsed_ticks(), batch.operations()), (Some(1400), 28));
    assert_eq!(batch.ns_per_operation(&clock()), Some(25.0));
}

// ---- Reports from records made by hand ----

/// Two ticks a nanosecond, and a floor of 1 ns.
fn clock() -> Clock {
    Clock { name: "tsc".into(), ticks_per_second: 2e9, floor_ns: 1.0, fallback: None }
}

fn options(launches: u16, blocks: u16) -> Options {
    Options {
        quick: true,
        launches,
        blocks,
        seed: 1,
        threads: None,
        cases: None,
        cpus: vec![0],
        membind: None,
    }
}

/// Launches in which `whole` takes 1000 ticks, `half` 500, `quarter` 250, the baseline again 1000.
fn measured(launches: u16, blocks: u16) -> Measured {
    let batches = || {
        (0..blocks)
            .flat_map(|block| {
                [(WHOLE, 1000), (HALF, 500), (QUARTER, 250), (AGAIN, 1000)]
                    .map(|(slot, ticks)| good(slot, block, ticks))
            })
            .collect()
    };
    let launches = (0..launches)
        .map(|launch| LaunchRecord {
            launch,
            cases: vec![CaseRecord {
                case: 0,
                huge_page_bytes: Some(0),
                // 100 ns in the first launch, and 20 more in each that follows.
                line_transfer: Some(f64::from(200 + 40 * u32::from(launch))),
                batches: batches(),
                locks: Vec::new(),
                operations: Vec::new(),
            }],
        })
        .collect();
    Measured {
        index: 3,
        clock: clock(),
        checks: BTreeMap::from([(0, Ok("all equal".into()))]),
        launches,
        events: None,
        events_lost: 0,
        interrupted: false,
    }
}

fn spoil(measured: &mut Measured, mut spoil: impl FnMut(&mut Batch)) {
    measured.launches.iter_mut().flat_map(|launch| &mut launch.cases).for_each(|case| {
        case.batches.iter_mut().for_each(&mut spoil);
    });
}

fn assessed(measured: &Measured) -> ExperimentReport {
    let report = assess(&Toy::default(), measured, &options(5, 5), 1);
    let json = serde_json::to_string(&report).unwrap();
    // JSON has no NaN: serde writes null for it, where a field without an Option then refuses to be read.
    let back: ExperimentReport = serde_json::from_str(&json).unwrap();
    assert_eq!(back.variants.len(), report.variants.len());
    report
}

fn row<'a>(report: &'a ExperimentReport, name: &str) -> &'a VariantRow {
    report.variants.iter().find(|row| row.name == name).unwrap()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

#[test]
fn a_clean_run_gives_exact_rows_and_both_verdicts() {
    let report = assessed(&measured(5, 5));
    assert_eq!(report.mail, "A. Author, March 2004: half the work");
    let (whole, half) = (row(&report, "whole"), row(&report, "half"));
    // 1000 ticks are 500 ns, for 10 steps.
    assert_eq!((whole.median, whole.mad, whole.ci95), (Some(50.0), Some(0.0), Some([50.0, 50.0])));
    assert_eq!((half.median, half.unit.as_str()), (Some(25.0), "ns per step"));
    assert_eq!(whole.ratio_to_baseline.unwrap().value, 1.0);
    let ratio = half.ratio_to_baseline.unwrap();
    assert!(near(ratio.value, 0.5) && near(ratio.ci95[0], 0.5) && near(ratio.ci95[1], 0.5), "{ratio:?}");
    assert_eq!(half.samples, vec![vec![Some(25.0); 5]; 5]);
    assert_eq!((half.dropped_pairs, half.reason.as_deref(), half.kernel), (0, None, None));

    let nowhere = row(&report, "nowhere");
    assert_eq!((nowhere.available, nowhere.median, nowhere.ci95), (false, None, None));
    assert_eq!(nowhere.reason.as_deref(), Some("not available here"));

    let case = &report.cases[0];
    assert_eq!(report.cases.len(), 1, "a case that was not asked for is not reported");
    assert_eq!((case.drop_rate, case.baseline.as_str(), case.oversubscribed), (0.0, "whole", false));
    assert_eq!(case.noise_floor.unwrap().ratio_ci95, [1.0, 1.0]);
    // 1000 ticks are 500 ns, for 512 steps of the witness.
    assert_eq!(case.witness_ns, Some([500.0 / 512.0; 2]));
    assert_eq!(case.line_transfer_ns, Some([100.0, 180.0]));

    // Both settings of the one factor halve the time.
    assert_eq!(report.effects.len(), 1);
    let effect = &report.effects[0];
    assert_eq!(
        (effect.factor.as_str(), effect.level.as_str(), effect.reference.as_str()),
        ("work", "less", "all")
    );
    assert!(near(effect.ratio.value, 0.5));

    let verdict = &report.verdict;
    assert_eq!((verdict.mechanism, verdict.claim), (Mechanism::Confirmed, ClaimVerdict::NotTestableHere));
    assert!(near(verdict.measured_ratio.unwrap(), 0.5));
    // (1 - 0.9) / (1 - 0.5).
    assert!(near(verdict.implied_share.unwrap(), 0.2), "{verdict:?}");
    for words in ["4 CPUs (this run uses 1)", "time of a whole", "a whole operation", "0.20", "consistent"] {
        assert!(verdict.why.contains(words), "{words:?} is not in {:?}", verdict.why);
    }
}

#[test]
fn a_spoiled_baseline_takes_all_pairs_of_its_block_with_it() {
    let mut measured = measured(5, 5);
    spoil(&mut measured, |batch| {
        if batch.slot == WHOLE && batch.block == 2 {
            batch.tasks[0].minor_faults = 1;
        }
        if batch.slot == HALF && batch.block == 3 {
            batch.steal_ticks = Some(4);
        }
    });
    let report = assessed(&measured);
    // Pairs: half, quarter and the second turn against the baseline, 25 each; block 2 of all, block 3 of half.
    let case = &report.cases[0];
    assert!(near(case.drop_rate, 20.0 / 75.0), "{}", case.drop_rate);
    assert_eq!(case.drops, BTreeMap::from([("minor-fault".to_owned(), 15), ("steal".to_owned(), 5)]));
    let half = row(&report, "half");
    assert_eq!(half.dropped_pairs, 10);
    assert_eq!(half.samples[0], [Some(25.0), Some(25.0), None, None, Some(25.0)]);
    assert_eq!((row(&report, "quarter").dropped_pairs, row(&report, "whole").dropped_pairs), (5, 5));
    assert_eq!(half.median, Some(25.0));
    // 10 of 25 pairs are more than 20 %.
    assert_eq!(report.verdict.mechanism, Mechanism::Inconclusive);
    assert!(report.verdict.why.contains("40 %"), "{}", report.verdict.why);
}

#[test]
fn if_everything_was_dropped_all_is_null_and_says_why() {
    let mut measured = measured(5, 5);
    spoil(&mut measured, |batch| batch.tasks[0].operations = 0);
    let report = assessed(&measured);
    for name in ["whole", "half", "quarter"] {
        let row = row(&report, name);
        assert_eq!((row.median, row.mad, row.ci95, row.ratio_to_baseline), (None, None, None, None));
        assert_eq!((row.dropped_pairs, row.samples.clone()), (25, vec![vec![None; 5]; 5]));
        assert!(row.reason.as_ref().unwrap().contains("all 25 pairs were dropped"), "{:?}", row.reason);
    }
    assert_eq!((report.cases[0].drop_rate, report.noise_floor), (1.0, None));
    assert!(report.effects.is_empty());
    assert_eq!(report.verdict.mechanism, Mechanism::Inconclusive);
    assert_eq!((report.verdict.measured_ratio, report.verdict.implied_share), (None, None));
}

#[test]
fn times_of_zero_are_dropped_not_divided_by() {
    let mut measured = measured(5, 5);
    spoil(&mut measured, |batch| batch.tasks[0].end = batch.tasks[0].begin);
    let report = assessed(&measured);
    assert_eq!(report.cases[0].drops, BTreeMap::from([("no-time".to_owned(), 75)]));
    assert_eq!((row(&report, "half").median, row(&report, "half").ratio_to_baseline), (None, None));
}

#[test]
fn one_sample_is_a_median_without_an_interval() {
    let report = assess(&Toy::default(), &measured(1, 1), &options(1, 1), 1);
    let half = row(&report, "half");
    assert_eq!(
        (half.median, half.mad, half.ci95, half.ratio_to_baseline),
        (Some(25.0), Some(0.0), None, None)
    );
    assert!(half.reason.as_ref().unwrap().contains("no interval: samples from 1 of"), "{:?}", half.reason);
    assert_eq!(report.verdict.mechanism, Mechanism::Inconclusive);
}

#[test]
fn no_launch_at_all_leaves_rows_that_say_so() {
    let report = assessed(&measured(0, 5));
    assert_eq!(report.variants.len(), 4);
    assert!(row(&report, "half").reason.as_ref().unwrap().contains("no launch"));
    assert_eq!((report.cases[0].drop_rate, report.cases[0].witness_ns), (0.0, None));
    assert_eq!(report.verdict.mechanism, Mechanism::Inconclusive);
}

#[test]
fn too_few_blocks_and_too_short_batches_feed_no_verdict() {
    let few = assess(&Toy::default(), &measured(5, 4), &options(5, 4), 1);
    assert!(row(&few, "half").ratio_to_baseline.is_some());
    assert_eq!(few.verdict.mechanism, Mechanism::Inconclusive);

    // A quarter of 1000 ticks is 125 ns; `half`, the candidate, lasts 250 ns: less than three floors of 100.
    let mut measured = measured(5, 5);
    measured.clock.floor_ns = 100.0;
    let short = assessed(&measured);
    assert_eq!(short.verdict.mechanism, Mechanism::Inconclusive);
    assert!(short.verdict.why.contains("clock"), "{}", short.verdict.why);
}

#[test]
fn unequal_work_is_not_timed_and_more_tasks_than_cpus_are_labelled() {
    let mut measured = measured(5, 5);
    measured.checks.insert(1, Err("they differ".into()));
    let report = assessed(&measured);
    let together: Vec<&VariantRow> = report.variants.iter().filter(|row| row.case == "together").collect();
    assert_eq!(together.len(), 4);
    assert!(together.iter().all(|row| row.oversubscribed && row.threads == 2 && row.median.is_none()));
    assert!(together[0].work_check.contains("they differ"));
    assert!(together[0].reason.as_ref().unwrap().contains("same work"));
    assert!(report.cases[1].oversubscribed);
    assert_eq!(together[0].unit, "ns per step, all tasks together");
    assert!(!assess(&Toy::default(), &measured, &options(5, 5), 2).cases[1].oversubscribed);

    // The case that judges the mechanism.
    measured.checks.insert(0, Err("half is not half".into()));
    let report = assessed(&measured);
    assert_eq!((report.verdict.mechanism, report.verdict.implied_share), (Mechanism::Inconclusive, None));
    assert!(report.verdict.why.contains("half is not half"), "{}", report.verdict.why);
}

#[test]
fn the_probes_view_is_matched_by_key_and_its_losses_are_counted() {
    let mut measured = measured(5, 5);
    let key =
        |experiment, slot, launch, block| BatchKey { experiment, case: 0, slot, launch, block }.to_raw();
    let event = |key| BatchEvent { key, start_ns: 0, elapsed_ns: 300, cpu: 0, tid: 1 };
    let mut events: Vec<BatchEvent> = (0..5)
        .flat_map(|launch| (0..5).map(move |block| (launch, block)))
        .filter(|place| *place != (0, 0) && *place != (4, 2))
        .map(|(launch, block)| event(key(3, HALF as u16, launch, block)))
        .collect();
    // Of another experiment, and of no batch of ours.
    events.push(event(key(2, HALF as u16, 0, 0)));
    events.push(event(key(3, 77, 0, 0)));
    measured.events = Some(events);
    let report = assessed(&measured);
    let kernel = row(&report, "half").kernel.unwrap();
    // 300 ns for 10 steps.
    assert_eq!((kernel.median, kernel.n, kernel.lost), (30.0, 23, 2));
    let whole = row(&report, "whole");
    assert_eq!(whole.kernel, None);
    assert!(whole.reason.as_ref().unwrap().contains("no kernel time"));
}

#[test]
fn lock_times_are_merged_over_launches_and_shown_in_ns() {
    let mut measured = measured(5, 5);
    for launch in &mut measured.launches {
        let mut times = LockTimes::default();
        times.wait.record(20);
        times.hold.record(8);
        launch.cases[0].locks.push((HALF, times));
    }
    let report = assessed(&measured);
    assert_eq!(report.locks.len(), 1);
    let lock = &report.locks[0];
    assert_eq!((lock.variant.as_str(), lock.threads, lock.n), ("half", 1, 5));
    // 20 ticks lie in the bucket of 20 and 21: its middle, 21, is 10.5 ns, and its upper edge, 22, is 11; 8 ticks
    // have a bucket of their own, and are 4 ns.
    assert_eq!((lock.wait.p50_ns, lock.wait.max_ns, lock.hold.p99_ns), (11, 11, 4));
    assert_eq!((lock.wait_buckets.clone(), lock.hold_buckets.len()), (vec![[10, 11, 5]], 1));
}

#[test]
fn times_of_operations_are_merged_over_launches_and_shown_in_ns() {
    let mut measured = measured(5, 5);
    for launch in &mut measured.launches {
        let mut seen = OperationTimes { wakeups: 3, ..OperationTimes::default() };
        (0..999).for_each(|_| seen.times.record(8));
        seen.times.record(20);
        launch.cases[0].operations.push((HALF, seen));
    }
    let report = assessed(&measured);
    let [row] = &report.operations[..] else { panic!("{:?}", report.operations) };
    assert_eq!((row.variant.as_str(), row.operation.as_str(), row.n), ("half", "step", 5000));
    // Ticks and edges as above: 8 are 4 ns and their bucket ends at 9; 20 ends at 11 ns. Exactly one in a thousand is
    // longer than the rest, so that is what 99.9 % lie at or below.
    assert_eq!((row.p50_ns, row.p99_9_ns, row.max_ns), (4, 4, 11));
    assert_eq!((row.wakeups_per_million, row.buckets.len()), (3000.0, 2));
}

#[test]
fn tasks_that_lose_their_cpu_by_design_keep_their_batches_and_their_verdict() {
    let mut measured = measured(5, 5);
    for batch in measured.launches.iter_mut().flat_map(|launch| &mut launch.cases[0].batches) {
        batch.tasks[0].involuntary_switches = 1;
    }
    assert_eq!(assessed(&measured).cases[0].drop_rate, 1.0);
    let toy = Toy { waits: true, ..Toy::default() };
    let report = assess(&toy, &measured, &options(5, 5), 1);
    assert_eq!((report.cases[0].drop_rate, report.cases[0].oversubscribed), (0.0, false));
    assert_eq!(report.verdict.mechanism, Mechanism::Confirmed);
}

proptest! {
    #![proptest_config(repeatable())]

    #[test]
    fn no_record_makes_the_report_unreadable(
        numbers in prop::collection::vec((0..6_usize, 0..7_u16, 0..3000_u64, 0..20_u64, 0..2_u64), 0..60),
        launches in 0..7_u16,
    ) {
        let mut measured = measured(launches, 0);
        for launch in &mut measured.launches {
            launch.cases[0].batches = numbers
                .iter()
                .map(|&(slot, block, ticks, operations, faults)| {
                    let mut batch = good(slot, block, ticks);
                    batch.tasks[0].operations = operations;
                    batch.tasks[0].minor_faults = faults;
                    batch.witness = [ticks, 0];
                    batch
                })
                .collect();
        }
        assessed(&measured);
    }
}

// ---- The parent of the launches ----

/// A launcher that runs a shell script in the place of a launch.
fn script(text: &str) -> Launcher {
    Launcher { program: PathBuf::from("/bin/sh"), arguments: vec!["-c".into(), text.into()] }
}

fn run_script(
    text: &str,
    options: &Options,
    stop: watch::Receiver<bool>,
) -> Result<(Measured, Vec<u16>), RunError> {
    run_with(&script(text), options, stop)
}

fn run_with(
    launcher: &Launcher,
    options: &Options,
    stop: watch::Receiver<bool>,
) -> Result<(Measured, Vec<u16>), RunError> {
    let mut seen = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let toy = Toy { unequal: true, ..Toy::default() };
    let mut progress = |progress: probe_cli::harness::run::Progress| seen.push(progress.done);
    let measured = runtime.block_on(run_as(launcher, &toy, 3, options, None, stop, &mut progress))?;
    Ok((measured, seen))
}

#[test]
fn launches_run_one_after_another_and_their_records_are_kept() {
    let (_keep, stop) = watch::channel(false);
    // The launch answers with its own orders: number, and cases that passed the check of equal work.
    let answer = r#"orders=$(cat); case "$orders" in *'"cases":[0]'*) ;; *) exit 9;; esac
        number=$(printf %s "$orders" | sed 's/.*"launch":\([0-9]*\).*/\1/')
        printf '{"launch":%s,"cases":[]}' "$number""#;
    let (measured, seen) = run_script(answer, &options(3, 5), stop).unwrap();
    let launches: Vec<u16> = measured.launches.iter().map(|launch| launch.launch).collect();
    assert_eq!((launches, seen, measured.interrupted), (vec![0, 1, 2], vec![0, 1, 2, 3], false));
    assert_eq!(measured.checks[&0], Ok("all equal".to_owned()));
    assert_eq!(measured.checks[&1], Err("they differ".to_owned()));
    assert!(measured.events.is_none());
}

#[test]
fn a_long_case_runs_in_full_runs_and_where_it_is_named() {
    let checked = |options: Options| {
        let (_keep, stop) = watch::channel(false);
        let toy = Toy { long: true, ..Toy::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let answer = script(r#"printf '{"launch":0,"cases":[]}'"#);
        let mut progress = |_| {};
        let run = run_as(&answer, &toy, 3, &options, None, stop, &mut progress);
        runtime.block_on(run).unwrap().checks.into_keys().collect::<Vec<_>>()
    };
    let named = Some(vec!["together".to_owned()]);
    assert_eq!(checked(options(1, 1)), [0]);
    assert_eq!(checked(Options { quick: false, ..options(1, 1) }), [0, 1]);
    assert_eq!(checked(Options { cases: named, ..options(1, 1) }), [1]);
}

#[test]
fn a_launch_that_fails_is_quoted() {
    let (_keep, stop) = watch::channel(false);
    let error =
        run_script("cat >/dev/null; echo no such luck >&2; exit 3", &options(3, 5), stop).unwrap_err();
    let RunError::Failed { launch, status, stderr, .. } = &error else { panic!("{error:?}") };
    assert_eq!((*launch, status.code(), stderr.as_str()), (0, Some(3), "no such luck"));

    let (_keep, stop) = watch::channel(false);
    let error = run_script("cat >/dev/null; echo hello", &options(3, 5), stop).unwrap_err();
    assert!(matches!(error, RunError::Record { launch: 0, .. }), "{error:?}");

    // One that does not read its orders fails by what it says, not by a broken pipe.
    let (_keep, stop) = watch::channel(false);
    let error = run_script("echo deaf >&2; exit 4", &options(3, 5), stop).unwrap_err();
    assert!(matches!(&error, RunError::Failed { stderr, .. } if stderr == "deaf"), "{error:?}");
}

#[test]
fn a_stop_ends_the_launch_under_way_and_keeps_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("second");
    // The first launch answers; the second says that it runs, and then would sleep for a minute.
    let text = format!(
        r#"if grep -q '"launch":0' ; then printf '{{"launch":0,"cases":[]}}'; else : > {}; exec sleep 60; fi"#,
        flag.display()
    );
    let (say, stop) = watch::channel(false);
    let watcher = std::thread::spawn(move || {
        while !flag.exists() {
            std::thread::yield_now();
        }
        say.send(true).unwrap();
        say
    });
    let (measured, _) = run_script(&text, &options(5, 5), stop).unwrap();
    watcher.join().unwrap();
    assert_eq!((measured.launches.len(), measured.interrupted), (1, true));
}

#[test]
fn what_cannot_be_run_is_said_before_anything_is_started() {
    let ask = |options: &Options| {
        let (_keep, stop) = watch::channel(false);
        run_script("exit 1", options, stop).unwrap_err()
    };
    let threads = Options { threads: Some(vec![7]), ..options(5, 5) };
    let error = ask(&threads);
    assert!(matches!(&error, RunError::NoCase { available, .. } if *available == [1, 2]), "{error:?}");
    assert!(matches!(ask(&Options { cpus: Vec::new(), ..options(5, 5) }), RunError::NoCpu { .. }));
    let beyond = Options { cpus: vec![0, usize::MAX], ..options(5, 5) };
    assert!(matches!(ask(&beyond), RunError::Cpu { cpu: usize::MAX, .. }));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let (_keep, stop) = watch::channel(false);
    let launcher = Launcher { program: "/nowhere/at-all".into(), arguments: Vec::new() };
    let error = run_with(&launcher, &options(1, 1), stop).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at-all"), "{error}");
}

/// Events that a probe might have sent: those of one batch with each look, and two that got lost.
struct Fake(u16);

impl BatchSource for Fake {
    fn drain(&mut self) -> Vec<BatchEvent> {
        self.0 += 1;
        let key = BatchKey { experiment: 3, case: 0, slot: 0, launch: 0, block: self.0 };
        vec![BatchEvent { key: key.to_raw(), start_ns: 0, elapsed_ns: 1, cpu: 0, tid: 1 }]
    }

    fn lost(&self) -> u64 {
        if self.0 == 0 { 5 } else { 7 }
    }
}

/// Where the child of the test below finds its orders, and where it leaves its record: the test runner writes
/// words of its own to stdout.
const FOLDER: &str = "TOY_LAUNCH_FOLDER";

#[test]
#[ignore = "started by the test of fresh processes, as its child"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let orders = std::fs::read(folder.join("orders")).unwrap();
    // Between the harness and this process there is a shell.
    let mut spec: LaunchSpec = serde_json::from_slice(&orders).unwrap();
    spec.parent = spec.parent.map(|_| std::os::unix::process::parent_id());
    let orders = serde_json::to_vec(&spec).unwrap();
    let record = std::fs::File::create(folder.join("record")).unwrap();
    serve(&[&Toy::default()], &orders[..], record).unwrap();
}

#[test]
fn fresh_processes_are_measured_and_assessed() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "cat > {folder}/orders && {FOLDER}={folder} {program} --exact child --ignored >{folder}/words && cat {folder}/record",
        folder = folder.path().display(),
        program = std::env::current_exe().unwrap().display(),
    );
    let options = Options { seed: 9, ..Options::quick(9).unwrap() };
    let cpus = options.cpus.len();
    let (_keep, stop) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (toy, mut fake) = (Toy::default(), Fake(0));
    let launcher = script(&text);
    let mut silent = |_| ();
    let run = run_as(&launcher, &toy, 3, &options, Some(&mut fake), stop, &mut silent);
    let measured = runtime.block_on(run).unwrap();

    assert_eq!((measured.launches.len(), measured.interrupted, measured.events_lost), (5, false, 2));
    assert_eq!(measured.events.as_ref().map(Vec::len), Some(usize::from(fake.0)));
    let orders = |case| -> Vec<Vec<usize>> {
        let records = measured.launches.iter().flat_map(|launch| &launch.cases);
        let records = records.filter(|record: &&CaseRecord| record.case == case);
        records.map(|record| record.batches.iter().map(|batch| batch.slot).collect()).collect()
    };
    let distinct: std::collections::BTreeSet<Vec<usize>> = orders(0).into_iter().collect();
    assert!(distinct.len() > 1, "every launch has an order of its own");

    let report = assess(&toy, &measured, &options, cpus);
    assert_eq!((report.cases.len(), report.variants.len(), report.locks.len()), (2, 8, 2));
    // Each launch adds one wait of the toy's made-up lock.
    assert!(report.locks.iter().all(|lock| lock.n == 5));
    for row in report.variants.iter().filter(|row| row.available) {
        assert_eq!(row.samples.iter().map(Vec::len).collect::<Vec<_>>(), [5; 5]);
    }
}
