//! What a launch is told, and what it brings back; they travel as JSON between the two processes.

use serde::{Deserialize, Serialize};

use super::clock::Clock;
use crate::experiment::{LockTimes, OperationTimes};

/// The orders of one launch.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LaunchSpec {
    /// Name of the comparison.
    pub comparison: String,
    /// Index of the comparison in [`probe_abi::batch::BatchKey`].
    pub index: u8,
    /// Launch, counted from zero.
    pub launch: u16,
    /// Blocks to run.
    pub blocks: u16,
    /// Seed of the run; the launch's own choices follow from it and from `launch`.
    pub seed: u64,
    /// CPUs to use.
    pub cpus: Vec<usize>,
    /// NUMA node to take memory from.
    pub membind: Option<u32>,
    /// Indices of the cases to run, among those for that many CPUs.
    pub cases: Vec<usize>,
    /// Process to end with; none if the launch runs inside its starter.
    pub parent: Option<u32>,
}

/// What one launch measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LaunchRecord {
    /// Which launch.
    pub launch: u16,
    /// The cases, in the order in which they ran.
    pub cases: Vec<CaseRecord>,
}

/// What one launch measured of one case.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CaseRecord {
    /// Index of the case.
    pub case: usize,
    /// Memory of the process in huge pages when the batches began, in bytes.
    pub huge_page_bytes: Option<u64>,
    /// Ticks of the neighbourhood witness between the first two CPUs of the run, just before the batches; none with
    /// one CPU.
    #[serde(default)]
    pub line_transfer: Option<f64>,
    /// The batches, in the order in which they ran.
    pub batches: Vec<Batch>,
    /// Lock times by variant, from the separate pass.
    pub locks: Vec<(usize, LockTimes)>,
    /// Times of single operations by variant, from another.
    #[serde(default)]
    pub operations: Vec<(usize, OperationTimes)>,
}

/// One timed batch.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Batch {
    /// Index of a variant, or the number of variants for the baseline's second turn.
    pub slot: usize,
    /// Block, counted from zero.
    pub block: u16,
    /// One entry a task.
    pub tasks: Vec<TaskRecord>,
    /// Scheduler ticks stolen from the CPUs in use, from before the reset to the end; none where not told.
    pub steal_ticks: Option<u64>,
    /// Ticks of the frequency witness just before and just after, on the first task's CPU.
    pub witness: [u64; 2],
}

/// One task's part of a batch.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct TaskRecord {
    /// Ticks at the beginning.
    pub begin: u64,
    /// Ticks at the end.
    pub end: u64,
    /// CPU at the beginning.
    pub cpu_begin: u32,
    /// CPU at the end.
    pub cpu_end: u32,
    /// CPU the task was pinned to.
    pub cpu_pinned: u32,
    /// Time it was ready and had no CPU, in ns; none where the kernel does not tell.
    pub run_delay_ns: Option<u64>,
    /// Times the CPU was taken away.
    pub involuntary_switches: u64,
    /// Page faults inside the timed part.
    pub minor_faults: u64,
    /// Operations done.
    pub operations: u64,
}

impl Batch {
    /// Ticks from the first beginning to the last end; `None` if there is no task, or the clock went back.
    #[must_use]
    pub fn elapsed_ticks(&self) -> Option<u64> {
        let begin = self.tasks.iter().map(|task| task.begin).min()?;
        let end = self.tasks.iter().map(|task| task.end).max()?;
        let forward = self.tasks.iter().all(|task| task.begin <= task.end);
        if forward { end.checked_sub(begin) } else { None }
    }

    /// Operations of all tasks together.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.tasks.iter().map(|task| task.operations).sum()
    }

    /// Time for one operation, of all tasks together; `None` if nothing was done, or no time passed.
    #[must_use]
    pub fn ns_per_operation(&self, clock: &Clock) -> Option<f64> {
        let (elapsed, operations) = (self.elapsed_ticks()?, self.operations());
        (elapsed > 0 && operations > 0).then(|| clock.ns(elapsed) / operations as f64)
    }
}
