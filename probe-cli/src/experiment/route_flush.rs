//! Does flushing a routing cache lock by lock, and not bucket by bucket, cost less? (Linux, May 2007.)
//!
//! One operation is one flush. Deleting an interface flushed once, so the mail's 256 deletions were 256 of these and
//! much else, which is not here.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use entropy_core::pool::{ExtractForm, MixPlan, Pool, PoolSize};
use nix::unistd::{self, SysconfVar};
use route_cache::{
    FlushObserver, FlushPlan, FlushReport, Freeing, Geometry, RandomSource, RouteKey, RouteTable, Smp,
    Traits, Tunables, locks_for_cpus,
};

use super::{Case, Comparison, Experiment, LockTimes, VariantInfo, Workload};
use crate::claim::Claim;
use crate::harness::clock;
use crate::stats::rng::Rng;

/// The mails of May 2007, on a table for machines of some size.
#[derive(Debug)]
pub struct RouteFlush {
    name: &'static str,
    locks: usize,
}

static CLAIM: LazyLock<Claim> =
    LazyLock::new(|| Claim::embedded(include_str!("../../claims/route-flush.toml")));

/// The mail's "16K buckets".
const BUCKETS: usize = 16 * 1024;

/// A few routes for each of the mail's 256 interfaces.
const SPARSE: usize = 640;

/// Four entries a bucket: the kernel collected garbage from one a bucket on, and refused beyond sixteen.
const FULL: usize = 64 * 1024;

/// Buckets from which a table is large: tens of MiB, and milliseconds a flush.
const LARGE: usize = 1 << 20;

/// Flushes of a batch on an empty table, which needs no filling in between.
const FLUSHES_OF_EMPTY: u64 = 4;

/// With the table's own part of an entry, about the 236 bytes of a `struct rtable`.
type Route = [u8; 140];

/// What a flush meets.
#[derive(Clone, Copy, Debug)]
struct Situation {
    name: &'static str,
    title: &'static str,
    buckets: usize,
    locks: usize,
    entries: usize,
    /// A second task looks routes up until the flush is over.
    reader: bool,
    freeing: Freeing,
    /// Filling takes so long that a quick run leaves it out.
    long: bool,
}

/// `rt_free` of 2007 queued an entry for the end of the grace period.
const LATER: Freeing = Freeing::Deferred { backlog: usize::MAX };

const BASE: Situation = Situation {
    name: "sparse-alone",
    title: "640 entries in 16K buckets, queued for freeing",
    buckets: BUCKETS,
    locks: RouteFlush::OF_THE_MAIL.locks,
    entries: SPARSE,
    reader: false,
    freeing: LATER,
    long: false,
};

const SITUATIONS: [Situation; 12] = [
    BASE,
    Situation {
        name: "sparse-reader",
        title: "640 entries in 16K buckets, queued for freeing; a second task looks routes up meanwhile",
        reader: true,
        ..BASE
    },
    Situation { name: "empty-alone", title: "no entries in 16K buckets", entries: 0, ..BASE },
    Situation {
        name: "empty-reader",
        title: "no entries in 16K buckets; a second task looks routes up meanwhile",
        entries: 0,
        reader: true,
        ..BASE
    },
    Situation {
        name: "full-alone",
        title: "64K entries in 16K buckets, queued for freeing",
        entries: FULL,
        long: true,
        ..BASE
    },
    Situation {
        name: "full-reader",
        title: "64K entries in 16K buckets, queued for freeing; a second task looks routes up meanwhile",
        entries: FULL,
        reader: true,
        long: true,
        ..BASE
    },
    Situation {
        name: "sparse-freed",
        title: "640 entries in 16K buckets, freed by the flush",
        freeing: Freeing::Immediate,
        ..BASE
    },
    Situation {
        name: "full-freed",
        title: "64K entries in 16K buckets, freed by the flush",
        entries: FULL,
        freeing: Freeing::Immediate,
        long: true,
        ..BASE
    },
    Situation {
        name: "buckets-1k",
        title: "640 entries in 1K buckets, queued for freeing",
        buckets: 1 << 10,
        ..BASE
    },
    Situation {
        name: "buckets-64k",
        title: "640 entries in 64K buckets, queued for freeing",
        buckets: 1 << 16,
        ..BASE
    },
    Situation {
        name: "buckets-1m",
        title: "640 entries in 1M buckets, queued for freeing",
        buckets: 1 << 20,
        long: true,
        ..BASE
    },
    Situation {
        name: "buckets-4m",
        title: "640 entries in 4M buckets, queued for freeing",
        buckets: 1 << 22,
        long: true,
        ..BASE
    },
];

impl RouteFlush {
    /// With the locks of the mail's machine, which had four CPUs.
    pub const OF_THE_MAIL: Self = Self { name: "route-flush", locks: locks_for_cpus(4) };

    /// With those of a smaller one.
    pub const OF_TWO_CPUS: Self = Self { name: "route-flush-two-cpus", locks: locks_for_cpus(2) };

    fn situation(&self, case: &Case) -> Situation {
        let known = SITUATIONS.into_iter().find(|situation| situation.name == case.name).unwrap_or(BASE);
        Situation { locks: self.locks, ..known }
    }
}

impl Experiment for RouteFlush {
    fn claim(&self) -> &'static Claim {
        &CLAIM
    }
}

impl Comparison for RouteFlush {
    fn name(&self) -> &str {
        self.name
    }

    fn cases(&self, cpus: usize) -> Vec<Case> {
        let possible = |situation: &Situation| cpus > 1 || !situation.reader;
        SITUATIONS.into_iter().filter(possible).map(case).collect()
    }

    fn only_in_full_runs(&self, case: &Case) -> bool {
        self.situation(case).long
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        same_work(self.situation(case))
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        Box::new(Flushing::new(self.situation(case), FlushPlan::ALL[variant], seed))
    }

    fn prepare_lock_timed(&self, case: &Case, variant: usize, seed: u64) -> Option<Box<dyn Workload>> {
        let situation = self.situation(case);
        // Reading the clock twice for each of a million locks says nothing that the smaller tables do not.
        (situation.buckets < LARGE).then(|| -> Box<dyn Workload> {
            let flushing = Flushing::new(situation, FlushPlan::ALL[variant], seed);
            Box::new(LockTimed { flushing, times: Mutex::default() })
        })
    }
}

fn case(situation: Situation) -> Case {
    let variant = |plan: &FlushPlan| VariantInfo {
        name: plan.name().to_owned(),
        summary: plan.summary().to_owned(),
        named: true,
        unavailable: too_large(situation.buckets),
    };
    Case {
        name: situation.name.to_owned(),
        title: situation.title.to_owned(),
        tasks: if situation.reader { 2 } else { 1 },
        operation: "flush",
        variants: FlushPlan::ALL.iter().map(variant).collect(),
    }
}

/// Why this machine cannot hold a table of so many buckets for each plan at once.
fn too_large(buckets: usize) -> Option<String> {
    // Two sets of buckets, each bucket a pointer, for every plan and for the baseline's second turn.
    let needed = 2 * size_of::<usize>() * buckets * (FlushPlan::ALL.len() + 1);
    let of =
        |variable| unistd::sysconf(variable).ok().flatten().and_then(|value| usize::try_from(value).ok());
    let memory = of(SysconfVar::_PHYS_PAGES)?.saturating_mul(of(SysconfVar::PAGE_SIZE)?);
    (needed > memory / 4).then(|| {
        let [needed, memory] = [needed, memory].map(|bytes| bytes >> 20);
        format!("its tables take {needed} MiB, more than a quarter of this machine's {memory} MiB")
    })
}

/// The kernel's random numbers of the time: 4 bytes of a secondary pool, which hashes all of it.
#[derive(Debug)]
struct RandomBytes(Pool);

impl RandomBytes {
    fn new(rng: &mut Rng) -> Self {
        let pool = Pool::new(PoolSize::SECONDARY, MixPlan::AS_POSTED);
        let words: Vec<u32> = (0..pool.size().words()).map(|_| rng.next_u64() as u32).collect();
        pool.mix(&words);
        Self(pool)
    }
}

impl RandomSource for RandomBytes {
    fn next_u32(&self) -> u32 {
        let mut bytes = [0; 4];
        self.0.extract(ExtractForm::FinalHash, &mut bytes);
        u32::from_ne_bytes(bytes)
    }
}

/// A table, and the routes that fill it again before each flush.
#[derive(Debug)]
struct Filled {
    table: RouteTable<Route, Smp>,
    keys: Vec<RouteKey>,
}

impl Filled {
    fn new(situation: Situation, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let random = RandomBytes::new(&mut rng);
        let tunables = Tunables {
            // Neither collection nor eviction: all plans are to find the same entries.
            gc_thresh: usize::MAX,
            gc_elasticity: usize::MAX,
            freeing: situation.freeing,
            ..Tunables::for_buckets(situation.buckets)
        };
        // The kernel's clock for routes was a variable in memory.
        let jiffies = || 0;
        let table =
            RouteTable::with(Geometry::new(situation.buckets, situation.locks), tunables, jiffies, random);
        let key = |saddr| RouteKey { daddr: rng.next_u64() as u32, saddr, ..RouteKey::default() };
        let keys = (0..situation.entries as u32).map(key).collect();
        let filled = Self { table, keys };
        filled.refill();
        filled
    }

    /// Brings the table to the state that every flush begins with: full, nothing waiting, and visited.
    fn refill(&self) {
        self.table.flush(FlushPlan::SkipEmptyPerLock);
        self.table.reclaim(usize::MAX);
        for key in &self.keys {
            self.table
                .intern(*key, [0; size_of::<Route>()], Traits::default())
                .expect("the table has no limit");
        }
        // Reads every bucket: the caches hold of them what fits, whichever plan ran before.
        black_box(self.table.longest_chain());
    }

    /// Routes that are found.
    fn found(&self) -> usize {
        self.keys.iter().filter(|key| self.table.lookup(key).is_some()).count()
    }

    /// The buckets that have entries.
    fn occupied(&self) -> BTreeSet<usize> {
        self.keys.iter().map(|key| self.table.bucket_of(key)).collect()
    }
}

/// Every plan, on one table: the entries all gone, the locks taken that the plan is made of.
fn same_work(situation: Situation) -> Result<String, String> {
    let filled = Filled::new(situation, 2007);
    for &plan in FlushPlan::ALL {
        filled.refill();
        let present = filled.found();
        if present != situation.entries {
            return Err(format!("{plan} begins with {present} of {} entries", situation.entries));
        }
        let occupied = filled.occupied();
        let FlushReport { entries, locks, stale, .. } = filled.table.flush(plan);
        let expected = expected_locks(plan, situation, &occupied);
        if locks != expected {
            return Err(format!("{plan} takes {locks} locks and not {expected}"));
        }
        let (unlinked, lingering) =
            if plan == FlushPlan::Generation { (0, situation.entries) } else { (situation.entries, 0) };
        if (entries, stale) != (unlinked, lingering) || filled.table.len() != lingering {
            return Err(format!(
                "{plan} unlinks {entries} and leaves {stale} of {} entries",
                situation.entries
            ));
        }
        let left = filled.found();
        if left > 0 {
            return Err(format!("{left} entries are found after {plan}"));
        }
    }
    Ok(format!(
        "{} plans, {} entries in {} buckets: none found after the flush, and each plan takes the locks it should; \
         all unlink every entry but generation, which leaves that to later insertions",
        FlushPlan::ALL.len(),
        situation.entries,
        situation.buckets
    ))
}

/// Locks that a plan takes, from which buckets have entries.
fn expected_locks(
    plan: FlushPlan,
    Situation { buckets, locks, .. }: Situation,
    occupied: &BTreeSet<usize>,
) -> usize {
    match plan {
        FlushPlan::PerBucket => buckets,
        FlushPlan::PerLock | FlushPlan::Linked | FlushPlan::Array | FlushPlan::SharedArray => locks,
        FlushPlan::SkipEmpty => occupied.len(),
        FlushPlan::SkipEmptyPerLock | FlushPlan::Seqlock => {
            occupied.iter().map(|bucket| bucket % locks).collect::<BTreeSet<_>>().len()
        }
        FlushPlan::Detached => locks.min(buckets),
        FlushPlan::Generation => 0,
    }
}

/// Flushes by task 0; a second task looks routes up until it is done.
#[derive(Debug)]
struct Flushing {
    filled: Filled,
    plan: FlushPlan,
    flushes: u64,
    /// What the reader asks for; on an empty table it finds none.
    wanted: Vec<RouteKey>,
    over: AtomicBool,
}

impl Flushing {
    fn new(situation: Situation, plan: FlushPlan, seed: u64) -> Self {
        let filled = Filled::new(situation, seed);
        let wanted = if filled.keys.is_empty() {
            (0..SPARSE as u32).map(|daddr| RouteKey { daddr, ..RouteKey::default() }).collect()
        } else {
            filled.keys.clone()
        };
        let flushes = if situation.entries == 0 { FLUSHES_OF_EMPTY } else { 1 };
        Self { filled, plan, flushes, wanted, over: AtomicBool::new(false) }
    }

    fn flush(&self, observer: &mut impl FlushObserver) -> u64 {
        for _ in 0..self.flushes {
            black_box(self.filled.table.flush_observed(self.plan, observer));
        }
        self.over.store(true, Ordering::Relaxed);
        self.flushes
    }

    /// Not counted: what is measured is the flush.
    fn look_up_until_over(&self) -> u64 {
        for key in self.wanted.iter().cycle() {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            black_box(self.filled.table.lookup(key));
        }
        0
    }
}

impl Workload for Flushing {
    fn reset(&mut self) {
        self.filled.refill();
        self.over.store(false, Ordering::Relaxed);
    }

    fn run(&self, task: usize) -> u64 {
        if task == 0 { self.flush(&mut ()) } else { self.look_up_until_over() }
    }
}

/// The same with every lock of the flush timed; the reader's are not.
#[derive(Debug)]
struct LockTimed {
    flushing: Flushing,
    times: Mutex<LockTimes>,
}

impl Workload for LockTimed {
    fn reset(&mut self) {
        self.flushing.reset();
    }

    fn run(&self, task: usize) -> u64 {
        if task > 0 {
            return self.flushing.run(task);
        }
        let mut watch = LockClock::default();
        let flushes = self.flushing.flush(&mut watch);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.wait.merge(&watch.times.wait);
        times.hold.merge(&watch.times.hold);
        flushes
    }

    fn lock_times(&self) -> Option<LockTimes> {
        Some(self.times.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

#[derive(Default)]
struct LockClock {
    asked: u64,
    locked: u64,
    times: LockTimes,
}

impl FlushObserver for LockClock {
    fn asking(&mut self, _lock: usize) {
        self.asked = clock::now().ticks;
    }

    fn locked(&mut self, _lock: usize) {
        self.locked = clock::now().ticks;
    }

    fn unlocking(&mut self, _lock: usize) {
        let unlocking = clock::now().ticks;
        self.times.wait.record(self.locked.saturating_sub(self.asked));
        self.times.hold.record(unlocking.saturating_sub(self.locked));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIL: RouteFlush = RouteFlush::OF_THE_MAIL;

    /// Those whose tables a test without optimisation can walk by every plan.
    fn small_cases() -> impl Iterator<Item = Case> {
        MAIL.cases(2).into_iter().filter(|case| MAIL.situation(case).buckets <= 1 << 16)
    }

    #[test]
    fn every_plan_does_equal_work() {
        // A reader is no part of the check, and the tables are the same without one.
        for case in small_cases().filter(|case| case.tasks == 1) {
            for table in [MAIL, RouteFlush::OF_TWO_CPUS] {
                table.work_check(&case).unwrap_or_else(|difference| panic!("{}: {difference}", case.name));
            }
        }
    }

    #[test]
    fn one_cpu_has_no_reader_beside_the_flush() {
        assert!(MAIL.cases(1).iter().all(|case| case.tasks == 1));
        assert_eq!(MAIL.cases(1).len() + 3, MAIL.cases(2).len());
    }

    #[test]
    fn the_mail_s_table_has_512_locks_and_its_claim_s_name() {
        assert_eq!((MAIL.locks, RouteFlush::OF_TWO_CPUS.locks), (512, 256));
        assert_eq!(MAIL.name, MAIL.claim().experiment);
    }

    #[test]
    fn the_claim_names_a_case_of_quick_runs_and_variants_that_exist() {
        let mechanism = &MAIL.claim().mechanism;
        let cases = MAIL.cases(mechanism.min_cpus as usize);
        let case = cases.iter().find(|known| known.name == mechanism.case).unwrap();
        assert!(!MAIL.only_in_full_runs(case));
        for variant in [&mechanism.baseline, &mechanism.candidate] {
            assert!(case.variants.iter().any(|known| known.name == *variant), "no {variant}");
        }
        assert!(MAIL.claim().claim.test.is_none(), "no case has whole deletions");
    }

    #[test]
    fn a_batch_flushes_what_its_reset_filled_and_the_reader_ends_with_it() {
        for case in small_cases().filter(|case| MAIL.situation(case).entries != FULL) {
            for variant in 0..case.variants.len() {
                let mut workload = MAIL.prepare(&case, variant, 1);
                let expected = if MAIL.situation(&case).entries == 0 { FLUSHES_OF_EMPTY } else { 1 };
                for _ in 0..2 {
                    workload.reset();
                    assert_eq!(workload.run(0), expected, "{}", case.name);
                    assert_eq!(workload.run(1), 0, "{}", case.name);
                }
            }
        }
    }

    #[test]
    fn timed_locks_are_those_that_the_plan_takes() {
        let case = MAIL.cases(2).into_iter().find(|case| case.name == "empty-alone").unwrap();
        for (variant, &plan) in FlushPlan::ALL.iter().enumerate() {
            let mut workload = MAIL.prepare_lock_timed(&case, variant, 1).unwrap();
            workload.reset();
            workload.run(0);
            let taken =
                FLUSHES_OF_EMPTY * expected_locks(plan, MAIL.situation(&case), &BTreeSet::new()) as u64;
            let times = workload.lock_times().unwrap();
            assert_eq!((times.wait.n(), times.hold.n()), (taken, taken), "{plan}");
        }
    }
}
