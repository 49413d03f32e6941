//! The tasks of a case: pinned threads that start a batch together. Task 0 is the caller's own thread.
//!
//! A batch passes four barriers. *Announced*: the workload is reset and named. *Start*: all tasks hold it and
//! have read their counters. *Finish*: all have read the clock at their end, so nothing that follows disturbs
//! a task still at work. *Done*: all records are written. The markers of task 0 lie outside start and finish,
//! so the probe's cost is outside every reading of the clock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;

use nix::errno::Errno;
use probe_abi::batch::BatchKey;
use probe_abi::site;

use super::barrier::SpinBarrier;
use super::record::{Batch, TaskRecord};
use super::{clock, placement, witness};
use crate::experiment::Workload;
use crate::sys::affinity;
use crate::sys::disturbance::{RunDelay, Steal, ThreadUsage};

/// A workload that the crew runs and its coordinator resets in between.
pub type Shared = RwLock<Box<dyn Workload>>;

/// Why a crew could not work.
#[derive(Debug, thiserror::Error)]
pub enum CrewError {
    /// A task could not be put where it belongs.
    #[error(
        "task {task} cannot be pinned to CPU {cpu}: is it online, and allowed to this process (taskset, cpuset)?"
    )]
    Pin {
        /// The task.
        task: usize,
        /// Its CPU.
        cpu: usize,
        /// What the kernel answered.
        source: Errno,
    },
    /// A thread could not be started.
    #[error(
        "the thread of task {task} cannot be started: is there a limit on processes (ulimit -u, pids.max)?"
    )]
    Spawn {
        /// The task.
        task: usize,
        /// What the system answered.
        source: std::io::Error,
    },
    /// The counters of a thread could not be read.
    #[error("the kernel does not tell how often a thread was disturbed (getrusage of a thread)")]
    Usage(#[from] Errno),
    /// A task panicked; its message went to stderr.
    #[error("task {task} of workload {workload} panicked")]
    Panicked {
        /// The task.
        task: usize,
        /// Index of the workload in the crew's list.
        workload: usize,
    },
}

/// The coordinator's hold on its crew.
#[derive(Debug)]
pub struct Crew<'a> {
    shared: &'a Assembly<'a>,
    run_delay: Option<RunDelay>,
    steal: Option<Steal>,
}

/// Runs `inside` with a crew for `workloads`, one task for each of `cpus`; the first is the calling thread,
/// which stays pinned to its CPU afterwards.
///
/// # Errors
///
/// What kept the crew from forming, or what `inside` returned.
///
/// # Panics
///
/// If `cpus` is empty.
pub fn with_crew<T>(
    cpus: &[usize],
    workloads: &[Shared],
    inside: impl FnOnce(&mut Crew<'_>) -> Result<T, CrewError>,
) -> Result<T, CrewError> {
    assert!(!cpus.is_empty(), "a crew of nobody");
    let shared = Assembly {
        workloads,
        cpus,
        next: AtomicUsize::new(0),
        barrier: SpinBarrier::new(cpus.len(), share_a_cpu(cpus)),
        outcomes: cpus.iter().map(|_| Mutex::new(None)).collect(),
    };
    thread::scope(|scope| {
        // Dropped on every way out, also by a panic in a reset: the crew must not wait for ever.
        let mut crew = Crew { shared: &shared, run_delay: None, steal: None };
        for task in 1..cpus.len() {
            thread::Builder::new()
                .name(format!("task-{task}"))
                .spawn_scoped(scope, {
                    let shared = &shared;
                    move || shared.work(task)
                })
                .map_err(|source| CrewError::Spawn { task, source })?;
        }
        crew.run_delay = shared.settle(0);
        shared.barrier.wait();
        shared.outcomes()?;
        crew.steal = Steal::of(cpus);
        inside(&mut crew)
    })
}

/// Whether two tasks have one CPU between them.
fn share_a_cpu(cpus: &[usize]) -> bool {
    cpus.iter().enumerate().any(|(task, cpu)| cpus[..task].contains(cpu))
}

impl Crew<'_> {
    /// Resets the workload with this index and runs one batch of it, between markers if it has a key.
    ///
    /// # Errors
    ///
    /// A task panicked, or the kernel does not tell its counters.
    ///
    /// # Panics
    ///
    /// If there is no such workload, or its reset panics.
    pub fn batch(&mut self, workload: usize, key: Option<BatchKey>, slot: usize) -> Result<Batch, CrewError> {
        let Self { shared, run_delay, steal } = self;
        let stolen_before = steal.as_mut().and_then(Steal::read_ticks);
        // Read before the reset, except for the faults: a reset that was disturbed left another cache behind.
        let before = Counters::read(run_delay.as_ref())?;
        shared.workloads[workload].write().unwrap_or_else(PoisonError::into_inner).reset();
        let faults_before = ThreadUsage::now()?.minor_faults;
        shared.next.store(workload, Ordering::Relaxed);
        shared.barrier.wait();

        let held = shared.workloads[workload].read().unwrap_or_else(PoisonError::into_inner);
        let witness_before = witness::read();
        if let Some(key) = key {
            site::begin(key);
        }
        shared.barrier.wait();
        let timed = Timed::run(&**held, 0);
        shared.barrier.wait();
        if let Some(key) = key {
            site::end(key);
        }
        let witness_after = witness::read();
        let after = Counters::read(run_delay.as_ref())?;
        let before =
            Counters { usage: ThreadUsage { minor_faults: faults_before, ..before.usage }, ..before };
        shared.report(0, workload, timed, before, after);
        drop(held);
        shared.barrier.wait();
        let stolen_after = steal.as_mut().and_then(Steal::read_ticks);

        Ok(Batch {
            slot,
            block: key.map_or(0, |key| key.block),
            tasks: shared.outcomes()?,
            steal_ticks: stolen_before.zip(stolen_after).map(|(before, after)| after.saturating_sub(before)),
            witness: [witness_before, witness_after],
        })
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.shared.barrier.abandon();
    }
}

/// What the coordinator and its crew share.
struct Assembly<'a> {
    workloads: &'a [Shared],
    cpus: &'a [usize],
    /// Index of the announced workload; the barrier orders it.
    next: AtomicUsize,
    barrier: SpinBarrier,
    outcomes: Vec<Mutex<Option<Result<TaskRecord, CrewError>>>>,
}

impl Assembly<'_> {
    /// The life of a task but the first.
    fn work(&self, task: usize) {
        let run_delay = self.settle(task);
        if !self.barrier.wait() {
            return;
        }
        while self.barrier.wait() {
            let workload = self.next.load(Ordering::Relaxed);
            let held = self.workloads[workload].read().unwrap_or_else(PoisonError::into_inner);
            let before = Counters::read(run_delay.as_ref());
            if !self.barrier.wait() {
                return;
            }
            let timed = Timed::run(&**held, task);
            self.barrier.wait();
            match (before, Counters::read(run_delay.as_ref())) {
                (Ok(before), Ok(after)) => self.report(task, workload, timed, before, after),
                (Err(errno), _) | (_, Err(errno)) => self.put(task, Err(CrewError::Usage(errno))),
            }
            drop(held);
            self.barrier.wait();
        }
    }

    /// Pins this thread, makes its stack present, and opens its counter.
    fn settle(&self, task: usize) -> Option<RunDelay> {
        let cpu = self.cpus[task];
        if let Err(source) = affinity::pin(cpu) {
            self.put(task, Err(CrewError::Pin { task, cpu, source }));
        }
        placement::prefault_stack();
        RunDelay::of_this_thread()
    }

    fn report(&self, task: usize, workload: usize, timed: Timed, before: Counters, after: Counters) {
        let record = timed.operations.map(|operations| TaskRecord {
            begin: timed.begin.ticks,
            end: timed.end.ticks,
            cpu_begin: timed.begin.cpu,
            cpu_end: timed.end.cpu,
            cpu_pinned: self.cpus[task] as u32,
            run_delay_ns: before.run_delay_ns.zip(after.run_delay_ns).map(|(b, a)| a.saturating_sub(b)),
            involuntary_switches: after
                .usage
                .involuntary_switches
                .saturating_sub(before.usage.involuntary_switches),
            minor_faults: after.usage.minor_faults.saturating_sub(before.usage.minor_faults),
            operations,
        });
        self.put(task, record.ok_or(CrewError::Panicked { task, workload }));
    }

    fn put(&self, task: usize, outcome: Result<TaskRecord, CrewError>) {
        *self.outcomes[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// Takes what the tasks left, in their order; the first error stands for all.
    fn outcomes(&self) -> Result<Vec<TaskRecord>, CrewError> {
        self.outcomes
            .iter()
            .filter_map(|outcome| outcome.lock().unwrap_or_else(PoisonError::into_inner).take())
            .collect()
    }
}

impl std::fmt::Debug for Assembly<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Assembly on CPUs {:?}", self.cpus)
    }
}

/// The timed part of one task.
struct Timed {
    begin: crate::tsc::Stamp,
    end: crate::tsc::Stamp,
    /// None after a panic.
    operations: Option<u64>,
}

impl Timed {
    #[inline]
    fn run(workload: &dyn Workload, task: usize) -> Self {
        let begin = clock::now();
        // A panic must not leave the others at a barrier. A workload is only read after one.
        let operations = catch_unwind(AssertUnwindSafe(|| workload.run(task)));
        let end = clock::now();
        Self { begin, end, operations: operations.ok() }
    }
}

/// A thread's counters at one moment.
#[derive(Clone, Copy)]
struct Counters {
    usage: ThreadUsage,
    run_delay_ns: Option<u64>,
}

impl Counters {
    fn read(run_delay: Option<&RunDelay>) -> Result<Self, Errno> {
        Ok(Self { usage: ThreadUsage::now()?, run_delay_ns: run_delay.and_then(RunDelay::read_ns) })
    }
}
