//! Does laying out the pool for sharing, and prefetching it, make /dev/urandom scale? (Linux, March 2004.)
//!
//! Two kinds of case. One call of the mixing routine, with the pool's lines in three states, is where the
//! mechanism is judged; its variants are the whole factorial of what the patch changed at once. Reads of 1024
//! bytes by several tasks from one pool are the mail's own workload.

use std::num::NonZeroUsize;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

use entropy_core::pool::{
    ExtractForm, Layout, LockWatch, MemoryVisitor, MixPlan, PerCpuPools, Place, Pool, PoolSize, Prefetch,
};

use super::question::{Candidate, Load, Question};
use super::{Case, Comparison, Experiment, Factor, Level, LockTimes, VariantInfo, Workload};
use crate::claim::Claim;
use crate::harness::clock;
use crate::stats::rng::Rng;
use crate::sys::{affinity, cache};

/// The mail of March 2004.
#[derive(Debug)]
pub struct PoolMix;

static CLAIM: LazyLock<Claim> = LazyLock::new(|| Claim::embedded(include_str!("../../claims/pool-mix.toml")));

/// Words of one mixing call: the 64 bytes that a write to the device mixes at a time.
const WORDS_PER_CALL: usize = 16;

/// Pools of a batch. Each is mixed once, so that every call meets its lines as `reset` left them.
const POOLS: usize = 256;

/// Bytes of one read, as in the mail's `dd bs=1024`.
const READ_BYTES: usize = 1024;

/// Reads of one task in a batch: long enough that starting the tasks is small beside it.
const READS_PER_BATCH: u64 = 16;

/// Ways to trace a getrandom, best first.
const GETRANDOM: &[Candidate] = &[
    Candidate::Function("get_random_bytes_user"),
    Candidate::SyscallEvents("getrandom"),
    Candidate::RawSyscall("getrandom"),
];

/// Ways to trace a read of /dev/urandom, best first.
const READ_URANDOM: &[Candidate] = &[
    Candidate::Function("urandom_read_iter"),
    Candidate::SyscallEvents("read"),
    Candidate::RawSyscall("read"),
];

/// Where the pool's lines are when a mixing call begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Lines {
    /// Dirty in the cache of another CPU: the mail's situation.
    DirtiedElsewhere,
    /// In no cache.
    Cold,
    /// Where the last batch left them.
    Hot,
}

const MIX_CASES: [(&str, &str, Lines); 3] = [
    ("mix-dirtied", "16 words into a 512-byte pool that another CPU has dirtied", Lines::DirtiedElsewhere),
    ("mix-cold", "16 words into a 512-byte pool that is in no cache", Lines::Cold),
    ("mix-hot", "16 words into a 512-byte pool that is in this CPU's cache", Lines::Hot),
];

const READ_CASE: &str = "read-";

/// A way to answer reads: one pool for all tasks, or one for each.
#[derive(Clone, Copy, Debug)]
struct Reader {
    name: &'static str,
    plan: MixPlan,
    pool_per_task: bool,
}

const READERS: [Reader; 5] = [
    Reader { name: "as-it-was", plan: MixPlan::AS_IT_WAS, pool_per_task: false },
    Reader { name: "as-posted", plan: MixPlan::AS_POSTED, pool_per_task: false },
    Reader { name: "lock-alone", plan: MixPlan::LOCK_ALONE, pool_per_task: false },
    Reader { name: "best", plan: MixPlan::BEST, pool_per_task: false },
    Reader { name: "per-cpu", plan: MixPlan::BEST, pool_per_task: true },
];

impl Experiment for PoolMix {
    fn claim(&self) -> &'static Claim {
        &CLAIM
    }

    fn live(&self, tasks: usize) -> Vec<Question> {
        vec![
            Question {
                target: "random:read-urandom",
                question: "what a read of /dev/urandom costs today; where a system call is traced it includes \
                           entry, file lookup, the copy to user space and page faults",
                load: Load::ReadUrandom { bytes: READ_BYTES },
                tasks,
                candidates: READ_URANDOM,
            },
            Question {
                target: "random:getrandom",
                question: "what a getrandom costs today; where a system call is traced it includes entry, the \
                           copy to user space and page faults",
                load: Load::Getrandom { bytes: READ_BYTES },
                tasks,
                candidates: GETRANDOM,
            },
        ]
    }
}

impl Comparison for PoolMix {
    fn name(&self) -> &str {
        &CLAIM.experiment
    }

    fn cases(&self, cpus: usize) -> Vec<Case> {
        let mixes = MIX_CASES
            .into_iter()
            .filter(|&(.., lines)| cpus > 1 || lines != Lines::DirtiedElsewhere)
            .map(|(name, title, _)| Case {
                name: name.to_owned(),
                title: title.to_owned(),
                tasks: 1,
                operation: "mixing call",
                variants: MixPlan::all().map(mix_variant).collect(),
            });
        let reads = (1..=2 * cpus).map(|tasks| Case {
            name: format!("{READ_CASE}{tasks}"),
            title: format!("reads of {READ_BYTES} bytes from one pool by {}", tasks_in_words(tasks)),
            tasks,
            operation: "read",
            variants: READERS.into_iter().map(read_variant).collect(),
        });
        mixes.chain(reads).collect()
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        match lines_of(case) {
            Some(_) => same_states(),
            None => same_bytes(),
        }
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        match lines_of(case) {
            Some(lines) => Box::new(Mixing::new(plan_of(case, variant), lines, seed)),
            None => Box::new(Reading::new(READERS[variant], case.tasks, seed)),
        }
    }

    fn prepare_lock_timed(&self, case: &Case, variant: usize, seed: u64) -> Option<Box<dyn Workload>> {
        lines_of(case).is_none().then(|| -> Box<dyn Workload> {
            Box::new(LockTimed {
                reading: Reading::new(READERS[variant], case.tasks, seed),
                times: Mutex::default(),
            })
        })
    }

    fn factors(&self, case: &Case) -> Vec<Factor> {
        if lines_of(case).is_none() {
            return Vec::new();
        }
        let plans: Vec<MixPlan> = MixPlan::all().collect();
        let index = |wanted: MixPlan| plans.iter().position(|&plan| plan == wanted);
        let level = |name: String, change: &dyn Fn(MixPlan) -> MixPlan, settings: &[MixPlan]| Level {
            name,
            variants: settings.iter().filter_map(|&plan| index(change(plan))).collect(),
        };
        let factor = |name: &str, keep: &dyn Fn(&MixPlan) -> bool, levels: Vec<(String, Change)>| {
            // One plan for each setting of the other factors: those that stand at the reference level.
            let settings: Vec<MixPlan> = MixPlan::factorial().filter(keep).collect();
            let levels = levels.iter().map(|(name, change)| level(name.clone(), change, &settings)).collect();
            Factor { name: name.to_owned(), levels }
        };
        vec![
            factor(
                "layout",
                &|plan| plan.layout == Layout::Packed,
                [Layout::Packed, Layout::Split]
                    .map(|layout| (layout.to_string(), change(move |plan| MixPlan { layout, ..plan })))
                    .into(),
            ),
            factor(
                "taps and state",
                &|plan| !plan.hoisted,
                [("reloaded", false), ("hoisted", true)]
                    .map(|(name, hoisted)| (name.to_owned(), change(move |plan| MixPlan { hoisted, ..plan })))
                    .into(),
            ),
            factor(
                "input",
                &|plan| !plan.read_ahead,
                [("as needed", false), ("read ahead", true)]
                    .map(|(name, read_ahead)| {
                        (name.to_owned(), change(move |plan| MixPlan { read_ahead, ..plan }))
                    })
                    .into(),
            ),
            factor(
                "prefetch",
                &|plan| plan.prefetch == Prefetch::None,
                Prefetch::all()
                    .map(|prefetch| {
                        (prefetch_in_words(prefetch), change(move |plan| MixPlan { prefetch, ..plan }))
                    })
                    .collect(),
            ),
        ]
    }
}

/// Sets one factor of a plan and leaves the others.
type Change = Box<dyn Fn(MixPlan) -> MixPlan>;

fn change(change: impl Fn(MixPlan) -> MixPlan + 'static) -> Change {
    Box::new(change)
}

fn prefetch_in_words(prefetch: Prefetch) -> String {
    match prefetch {
        Prefetch::None => "none".to_owned(),
        Prefetch::At { extent, place } => format!(
            "{extent}, {}",
            match place {
                Place::BeforeLock => "before the lock",
                Place::InsideLock => "inside it",
            }
        ),
    }
}

fn tasks_in_words(tasks: usize) -> String {
    if tasks == 1 { "1 task".to_owned() } else { format!("{tasks} tasks") }
}

fn lines_of(case: &Case) -> Option<Lines> {
    MIX_CASES.into_iter().find(|&(name, ..)| name == case.name).map(|(.., lines)| lines)
}

fn mix_variant(plan: MixPlan) -> VariantInfo {
    let name = plan.to_string();
    let named = MixPlan::NAMED.iter().any(|&(known, _)| known == name);
    VariantInfo { name, summary: plan.summary(), named, unavailable: None }
}

fn read_variant(reader: Reader) -> VariantInfo {
    let summary = if reader.pool_per_task {
        format!("a pool for each task; each {}", reader.plan.summary())
    } else {
        reader.plan.summary()
    };
    VariantInfo { name: reader.name.to_owned(), summary, named: true, unavailable: None }
}

fn plan_of(case: &Case, variant: usize) -> MixPlan {
    let name = &case.variants[variant].name;
    MixPlan::all().find(|plan| plan.to_string() == *name).unwrap_or(MixPlan::AS_IT_WAS)
}

fn words(rng: &mut Rng, count: usize) -> Vec<u32> {
    (0..count).map(|_| rng.next_u64() as u32).collect()
}

/// All plans end in one state after each of a hundred calls of every length to 40 words.
fn same_states() -> Result<String, String> {
    let mut rng = Rng::new(2004);
    let pools: Vec<Pool> = MixPlan::all().map(|plan| Pool::new(PoolSize::PRIMARY, plan)).collect();
    for call in 0..100 {
        let input = words(&mut rng, call % 41);
        pools.iter().for_each(|pool| pool.mix(&input));
        let expected = pools[0].state();
        if let Some(other) = pools.iter().find(|pool| pool.state() != expected) {
            return Err(format!("{} and {} differ after call {call}", pools[0].plan(), other.plan()));
        }
    }
    Ok(format!("{} plans, 100 calls: one state after every call", pools.len()))
}

/// All readers give one task the same bytes from the same pool, and take the lock as often.
fn same_bytes() -> Result<String, String> {
    let outcome = |reader: Reader| {
        let reading = Reading::new(reader, 1, 2004);
        let mut count = LockCount::default();
        let mut bytes = vec![0; 3 * READ_BYTES];
        reading.pool(0).extract_watched(FORM, &mut bytes, &mut count);
        (bytes, count.0)
    };
    let expected = outcome(READERS[0]);
    match READERS.into_iter().find(|&reader| outcome(reader) != expected) {
        Some(other) => Err(format!("{} and {} differ for one task", READERS[0].name, other.name)),
        None => Ok(format!(
            "{} readers, {} bytes: the same bytes, the lock taken {} times by each",
            READERS.len(),
            expected.0.len(),
            expected.1
        )),
    }
}

/// The form of the mail's kernel, 2.6.5.
const FORM: ExtractForm = ExtractForm::DirectFold;

#[derive(Default)]
struct LockCount(u64);

impl LockWatch for LockCount {
    fn acquired(&mut self) {
        self.0 += 1;
    }
}

/// One mixing call into each of many pools, in an order that no prefetcher of the hardware can guess.
#[derive(Debug)]
struct Mixing {
    pools: Vec<Pool>,
    order: Vec<usize>,
    input: Vec<u32>,
    lines: Lines,
}

impl Mixing {
    fn new(plan: MixPlan, lines: Lines, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let pools: Vec<Pool> = (0..POOLS).map(|_| Pool::new(PoolSize::PRIMARY, plan)).collect();
        let prepared = words(&mut rng, PoolSize::PRIMARY.words());
        pools.iter().for_each(|pool| pool.mix(&prepared));
        let mut order: Vec<usize> = (0..POOLS).collect();
        rng.shuffle(&mut order);
        Self { pools, order, input: words(&mut rng, WORDS_PER_CALL), lines }
    }
}

impl Workload for Mixing {
    fn reset(&mut self) {
        match self.lines {
            Lines::DirtiedElsewhere => {
                on_another_cpu(|| self.pools.iter().for_each(Pool::touch_for_write));
            }
            Lines::Cold => self.pools.iter().for_each(|pool| pool.visit_memory(&mut Flush)),
            Lines::Hot => self.pools.iter().for_each(Pool::touch_for_write),
        }
    }

    fn run(&self, _task: usize) -> u64 {
        self.order.iter().for_each(|&pool| self.pools[pool].mix(&self.input));
        self.order.len() as u64
    }
}

/// Runs `work` on a CPU that is not this one, and waits for it.
///
/// # Panics
///
/// If there is none: then the case would measure something else than it says.
fn on_another_cpu(work: impl FnOnce() + Send) {
    let here = affinity::current().expect("the kernel tells a thread where it runs");
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(affinity::pin_elsewhere(here), "no other CPU takes a thread");
            work();
        });
    });
}

/// Reads of [`READ_BYTES`] from one secondary pool, or from one for each task.
#[derive(Debug)]
struct Reading {
    pools: PerCpuPools,
}

impl Reading {
    fn new(reader: Reader, tasks: usize, seed: u64) -> Self {
        let count =
            NonZeroUsize::new(if reader.pool_per_task { tasks } else { 1 }).unwrap_or(NonZeroUsize::MIN);
        let pools = PerCpuPools::new(count, PoolSize::SECONDARY, reader.plan);
        let prepared = words(&mut Rng::new(seed), 2 * PoolSize::SECONDARY.words());
        pools.iter().for_each(|pool| pool.mix(&prepared));
        Self { pools }
    }

    fn pool(&self, task: usize) -> &Pool {
        self.pools.for_cpu(task)
    }

    fn read(&self, task: usize, watch: &mut impl LockWatch) -> u64 {
        let mut out = [0; READ_BYTES];
        let pool = self.pool(task);
        for _ in 0..READS_PER_BATCH {
            pool.account(READ_BYTES, false);
            pool.extract_watched(FORM, &mut out, watch);
            std::hint::black_box(&mut out);
        }
        READS_PER_BATCH
    }
}

impl Workload for Reading {
    fn reset(&mut self) {
        self.pools.iter().for_each(|pool| pool.visit_memory(&mut Flush));
    }

    fn run(&self, task: usize) -> u64 {
        self.read(task, &mut ())
    }
}

/// The same reads with every lock timed.
#[derive(Debug)]
struct LockTimed {
    reading: Reading,
    times: Mutex<LockTimes>,
}

impl Workload for LockTimed {
    fn reset(&mut self) {
        self.reading.reset();
    }

    fn run(&self, task: usize) -> u64 {
        let mut watch = LockClock::default();
        let reads = self.reading.read(task, &mut watch);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.wait.merge(&watch.times.wait);
        times.hold.merge(&watch.times.hold);
        reads
    }

    fn lock_times(&self) -> Option<LockTimes> {
        Some(self.times.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

#[derive(Default)]
struct LockClock {
    asked: u64,
    acquired: u64,
    times: LockTimes,
}

impl LockWatch for LockClock {
    fn asked(&mut self) {
        self.asked = clock::now().ticks;
    }

    fn acquired(&mut self) {
        self.acquired = clock::now().ticks;
    }

    fn released(&mut self) {
        let released = clock::now().ticks;
        self.times.wait.record(self.acquired.saturating_sub(self.asked));
        self.times.hold.record(released.saturating_sub(self.acquired));
    }
}

/// Takes memory out of every cache.
struct Flush;

impl MemoryVisitor for Flush {
    fn visit<T>(&mut self, memory: &[T]) {
        cache::flush(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_does_equal_work() {
        for case in PoolMix.cases(2) {
            PoolMix.work_check(&case).unwrap_or_else(|difference| panic!("{}: {difference}", case.name));
        }
    }

    #[test]
    fn two_cpus_have_three_mixing_cases_and_reads_by_one_to_four_tasks() {
        let names: Vec<String> = PoolMix.cases(2).into_iter().map(|case| case.name).collect();
        assert_eq!(names, ["mix-dirtied", "mix-cold", "mix-hot", "read-1", "read-2", "read-3", "read-4"]);
    }

    #[test]
    fn one_cpu_has_nobody_to_dirty_its_lines() {
        assert!(PoolMix.cases(1).iter().all(|case| case.name != "mix-dirtied"));
    }

    #[test]
    fn the_claim_names_cases_and_variants_that_exist() {
        let mechanism = &PoolMix.claim().mechanism;
        let test = PoolMix.claim().claim.test.as_ref().unwrap();
        let cases = PoolMix.cases(4);
        for (case, variant) in [
            (&mechanism.case, &mechanism.baseline),
            (&mechanism.case, &mechanism.candidate),
            (&test.case, &test.baseline),
            (&test.case, &test.candidate),
        ] {
            let case = cases.iter().find(|known| known.name == *case).unwrap_or_else(|| panic!("no {case}"));
            assert!(
                case.variants.iter().any(|known| known.name == *variant),
                "no {variant} in {}",
                case.name
            );
        }
    }

    #[test]
    fn levels_of_a_factor_differ_in_that_factor_alone() {
        let case = &PoolMix.cases(2)[0];
        let factors = PoolMix.factors(case);
        let expected = [("layout", 2, 36), ("taps and state", 2, 36), ("input", 2, 36), ("prefetch", 9, 8)];
        let found: Vec<_> =
            factors.iter().map(|f| (f.name.as_str(), f.levels.len(), f.levels[0].variants.len())).collect();
        assert_eq!(found, expected);
        for factor in &factors {
            for level in &factor.levels[1..] {
                for (&at, &reference) in level.variants.iter().zip(&factor.levels[0].variants) {
                    let (at, reference) = (plan_of(case, at), plan_of(case, reference));
                    let differences = [
                        at.layout != reference.layout,
                        at.hoisted != reference.hoisted,
                        at.read_ahead != reference.read_ahead,
                        at.prefetch != reference.prefetch,
                    ];
                    assert_eq!(differences.iter().filter(|&&differs| differs).count(), 1, "{at} {reference}");
                }
            }
        }
    }

    #[test]
    fn every_variant_does_the_operations_it_counts() {
        for case in PoolMix.cases(2) {
            for variant in 0..case.variants.len() {
                let mut workload = PoolMix.prepare(&case, variant, 1);
                workload.reset();
                let expected = if lines_of(&case).is_some() { POOLS as u64 } else { READS_PER_BATCH };
                assert_eq!(workload.run(0), expected, "{} {}", case.name, case.variants[variant].name);
            }
        }
    }

    #[test]
    fn timed_locks_see_every_time_the_lock_is_taken() {
        let case = PoolMix.cases(2).into_iter().find(|case| case.name == "read-1").unwrap();
        let workload = PoolMix.prepare_lock_timed(&case, 0, 1).unwrap();
        workload.run(0);
        // Two blocks of a 32-word pool in each round of ten bytes.
        let taken = 2 * READ_BYTES.div_ceil(10) as u64 * READS_PER_BATCH;
        let times = workload.lock_times().unwrap();
        assert_eq!((times.wait.n(), times.hold.n()), (taken, taken));
    }
}
