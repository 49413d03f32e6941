//! Which batches do not count: rules fixed before measuring, as data.
//!
//! A batch that breaks a rule takes its whole pair with it. The order of the rules decides which of them a
//! dropped pair is counted under.

use super::record::{Batch, TaskRecord};

/// A reason to drop a batch.
#[derive(Clone, Copy)]
pub struct Rule {
    /// As in the report.
    pub name: &'static str,
    /// What it keeps out.
    pub meaning: &'static str,
    /// Where it holds.
    pub scope: Scope,
    broken: fn(&Batch, &Surroundings) -> bool,
}

/// Where a rule holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// In every case.
    Always,
    /// Only where tasks keep their CPUs. With more tasks than CPUs, taking a CPU from one task for another is
    /// the nature of the thing; such cases are labelled, and feed no verdict. And some cases are about that very thing
    /// ([`waits_by_design`](crate::experiment::Comparison::waits_by_design)).
    OwnCpus,
}

/// What a batch is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// More tasks than CPUs, or tasks that lose theirs as part of what is measured.
    pub shared_cpus: bool,
    /// Median of the frequency witness over the case's batches of the same launch, in ticks.
    pub witness_ticks: f64,
    /// Ticks in a nanosecond.
    pub ticks_per_ns: f64,
}

/// The witness may differ from its launch's median by this share.
///
/// Shared hosts step through frequencies three to seven percent apart every few milliseconds. Such steps meet all
/// variants alike, since their order is balanced, and stay in the intervals as noise; what is to be kept out is a CPU
/// that is throttled, or that a sibling holds back.
pub const WITNESS_TOLERANCE: f64 = 0.15;

/// A task may wait for its CPU for this share of the batch.
pub const RUN_DELAY_TOLERANCE: f64 = 0.01;

/// All rules, first reason first.
pub const RULES: &[Rule] = &[
    Rule {
        name: "no-time",
        meaning: "no operation was done, no time passed, or the clock went back",
        scope: Scope::Always,
        broken: |batch, _| batch.operations() == 0 || batch.elapsed_ticks().is_none_or(|ticks| ticks == 0),
    },
    Rule {
        name: "migrated",
        meaning: "a task was not on its CPU at the beginning or at the end",
        scope: Scope::Always,
        broken: |batch, _| {
            any(batch, |task| task.cpu_begin != task.cpu_pinned || task.cpu_end != task.cpu_pinned)
        },
    },
    Rule {
        name: "minor-fault",
        meaning: "a page was missing in the timed part",
        scope: Scope::Always,
        broken: |batch, _| any(batch, |task| task.minor_faults > 0),
    },
    Rule {
        name: "steal",
        meaning: "the hypervisor took a CPU away",
        scope: Scope::Always,
        broken: |batch, _| batch.steal_ticks.is_some_and(|ticks| ticks > 0),
    },
    Rule {
        name: "involuntary-switch",
        meaning: "the kernel took the CPU away from a task",
        scope: Scope::OwnCpus,
        broken: |batch, _| any(batch, |task| task.involuntary_switches > 0),
    },
    Rule {
        name: "run-delay",
        meaning: "a task waited for its CPU for more than 1 % of the batch",
        scope: Scope::OwnCpus,
        broken: |batch, near| {
            let allowed_ns = batch
                .elapsed_ticks()
                .map_or(0.0, |ticks| ticks as f64 / near.ticks_per_ns * RUN_DELAY_TOLERANCE);
            any(batch, |task| task.run_delay_ns.is_some_and(|delay| delay as f64 > allowed_ns))
        },
    },
    Rule {
        name: "frequency",
        meaning: "the frequency witness was more than 15 % off the median of its launch",
        scope: Scope::Always,
        broken: |batch, near| {
            batch.witness.iter().any(|&ticks| {
                (ticks as f64 - near.witness_ticks).abs() > near.witness_ticks * WITNESS_TOLERANCE
            })
        },
    },
];

/// The first rule that `batch` breaks, as an index into [`RULES`].
#[must_use]
pub fn first_broken(batch: &Batch, near: &Surroundings) -> Option<usize> {
    RULES
        .iter()
        .position(|rule| (rule.scope == Scope::Always || !near.shared_cpus) && (rule.broken)(batch, near))
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({}: {})", self.name, self.meaning)
    }
}

fn any(batch: &Batch, broken: impl Fn(&TaskRecord) -> bool) -> bool {
    batch.tasks.iter().any(broken)
}
