//! The questions this tool can answer.
//!
//! An experiment adapts a library to the harness. As a [`Comparison`] it names the cases to measure, lists the
//! library's variants for each, proves that they do equal work, and prepares a workload for one of them. What the
//! mail claims is not here but in `claims/`, as data. To add one, write a module and name it in [`ALL`].

mod cycles;
pub mod irq_mix;
pub mod page_copy;
pub mod pool_mix;
pub mod prng_noise;
pub mod question;
pub mod route_flush;

use serde::{Deserialize, Serialize};

use self::question::Question;
use crate::claim::Claim;
use crate::report::model::ProgramRow;
use crate::stats::histogram::Histogram;

/// Every experiment, in the order of their mails.
pub const ALL: &[&dyn Experiment] = &[
    &pool_mix::PoolMix,
    &route_flush::RouteFlush::OF_THE_MAIL,
    &page_copy::PageCopy,
    &prng_noise::PrngNoise,
    &irq_mix::IrqMix,
];

/// A comparison that a mail asks for.
pub trait Experiment: Comparison {
    /// The mail's claim.
    fn claim(&self) -> &'static Claim;

    /// What somebody else's program says of the same; none where no program measures that.
    fn program(&self, how: &ProgramRun<'_>) -> Option<ProgramRow> {
        let _ = how;
        None
    }

    /// What to ask of the running kernel beside it, with `tasks` tasks making the calls.
    fn live(&self, tasks: usize) -> Vec<Question> {
        let _ = tasks;
        Vec::new()
    }
}

/// How a program of somebody else's is run.
pub struct ProgramRun<'a> {
    /// In seconds, and not in minutes.
    pub quick: bool,
    /// The CPUs that it may use.
    pub cpus: &'a [usize],
    /// The NUMA node that its memory is to come from.
    pub membind: Option<u32>,
    /// Whether it is to be ended.
    pub stop: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for ProgramRun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { quick, cpus, membind, .. } = self;
        f.debug_struct("ProgramRun")
            .field("quick", quick)
            .field("cpus", cpus)
            .field("membind", membind)
            .finish()
    }
}

/// Several ways to do one job, to be measured against each other: what the harness knows how to run.
pub trait Comparison: Sync {
    /// As typed, kebab-case.
    fn name(&self) -> &str;

    /// The cases to measure on a machine of `cpus` CPUs.
    fn cases(&self, cpus: usize) -> Vec<Case>;

    /// Whether a quick run leaves `case` out, since its batches take too long; it runs if it is asked for by name.
    fn only_in_full_runs(&self, case: &Case) -> bool {
        let _ = case;
        false
    }

    /// Proves that all variants of `case` do the same work, and says what was compared.
    ///
    /// # Errors
    ///
    /// The difference, in words. Such a case is not timed.
    fn work_check(&self, case: &Case) -> Result<String, String>;

    /// A workload that runs the `variant`-th of [`Case::variants`]. All set-up happens here.
    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload>;

    /// Whether the tasks of `case` give up or lose their CPU as part of what is measured: they wait for each other, or
    /// for a thread that goes before them. What the kernel tells of that then drops no batch.
    fn waits_by_design(&self, case: &Case) -> bool {
        let _ = case;
        false
    }

    /// The factors that the variants of `case` are made from, if they form a factorial.
    fn factors(&self, case: &Case) -> Vec<Factor> {
        let _ = case;
        Vec::new()
    }

    /// The same work with every lock timed, for the pass that follows all timed batches of the case; none where
    /// there is no lock to time, or its times are of no interest.
    ///
    /// No workload from here is ever timed as a batch, and none from [`prepare`](Self::prepare) is asked for
    /// lock times: what the instrument costs stays out of every verdict.
    fn prepare_lock_timed(&self, case: &Case, variant: usize, seed: u64) -> Option<Box<dyn Workload>> {
        let _ = (case, variant, seed);
        None
    }

    /// The same work with every operation timed by itself, for another such pass; none where the mean says it all.
    fn prepare_operation_timed(&self, case: &Case, variant: usize, seed: u64) -> Option<Box<dyn Workload>> {
        let _ = (case, variant, seed);
        None
    }
}

/// One choice among several that the variants of a factorial combine.
#[derive(Clone, Debug)]
pub struct Factor {
    /// What is chosen.
    pub name: String,
    /// The levels; the first is the reference that the others are compared with.
    pub levels: Vec<Level>,
}

/// One way to choose.
#[derive(Clone, Debug)]
pub struct Level {
    /// As in the report.
    pub name: String,
    /// Indices into [`Case::variants`]. The `i`-th of every level of a factor has the same choice of all other
    /// factors: they are compared with each other.
    pub variants: Vec<usize>,
}

/// What a workload with timed locks has seen, in ticks of [`crate::harness::clock::now`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct LockTimes {
    /// From asking to holding.
    pub wait: Histogram,
    /// From holding to releasing.
    pub hold: Histogram,
}

/// What a workload with timed operations has seen.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OperationTimes {
    /// Each operation, in ticks of [`crate::harness::clock::now`].
    pub times: Histogram,
    /// Threads that were woken for them.
    pub wakeups: u64,
}

impl OperationTimes {
    /// Adds what `other` has seen.
    pub fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.wakeups = self.wakeups.saturating_add(other.wakeups);
    }
}

/// One situation in which the variants are measured in turn.
#[derive(Clone, Debug)]
pub struct Case {
    /// Kebab-case, unique in the experiment.
    pub name: String,
    /// One line for the report.
    pub title: String,
    /// Tasks at work at a time; each is pinned to a CPU, round robin.
    pub tasks: usize,
    /// What one operation is, as in "ns per {operation}".
    pub operation: &'static str,
    /// The variants; the first is the baseline, and is measured twice.
    pub variants: Vec<VariantInfo>,
}

/// A variant, as a row of a report.
#[derive(Clone, Debug)]
pub struct VariantInfo {
    /// As typed.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Shown in the text report.
    pub named: bool,
    /// Why this machine cannot run it.
    pub unavailable: Option<String>,
}

/// Something to measure.
///
/// The harness calls `reset`, then lets each task `run` once inside one timed interval.
pub trait Workload: Send + Sync {
    /// Rebuilds the state of caches and pages that every batch starts from.
    fn reset(&mut self);

    /// The timed part of one task; returns how many operations it did.
    fn run(&self, task: usize) -> u64;

    /// What the locks of a workload from [`Comparison::prepare_lock_timed`] have seen since it was prepared.
    fn lock_times(&self) -> Option<LockTimes> {
        None
    }

    /// What was seen of the operations of a workload from [`Comparison::prepare_operation_timed`], likewise.
    fn operation_times(&self) -> Option<OperationTimes> {
        None
    }
}
