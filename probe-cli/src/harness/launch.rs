//! One launch: a fresh process that runs every case once through its blocks.

use std::io::{Read, Write};
use std::sync::RwLock;

use nix::errno::Errno;
use probe_abi::batch::BatchKey;

use super::crew::{CrewError, Shared, with_crew};
use super::plan::{SlotOrder, shuffled};
use super::record::{CaseRecord, LaunchRecord, LaunchSpec};
use super::{handover, instrument_pass, placement};
use crate::experiment::{Case, Comparison, Workload};
use crate::stats::rng::Rng;
use crate::sys::{affinity, arena, lifeline, memory_policy};

/// Why a launch measured nothing.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The orders came from another version of this program, or from nobody.
    #[error("the orders of a launch cannot be read from stdin; `probe-cli run` writes them there")]
    Orders(#[source] std::io::Error),
    /// What was measured could not be handed over.
    #[error("the record of a launch cannot be written to stdout")]
    Record(#[source] std::io::Error),
    /// No such comparison.
    #[error("there is no comparison called {0}")]
    Comparison(String),
    /// No such case for that many CPUs.
    #[error("{comparison} has no case number {case} on {cpus} CPUs")]
    Case {
        /// The comparison.
        comparison: String,
        /// The index asked for.
        case: usize,
        /// CPUs in use.
        cpus: usize,
    },
    /// Nowhere to run.
    #[error("a launch needs a CPU to run on; --cpus names none")]
    NoCpu,
    /// The starter ended before the launch began.
    #[error("the process that started this launch is gone")]
    Orphaned,
    /// The kernel refused to tie this process to its starter.
    #[error("this process cannot be tied to the one that started it (PR_SET_PDEATHSIG)")]
    Lifeline(#[source] Errno),
    /// The kernel refused the node.
    #[error("memory cannot be bound to NUMA node {node}: does `--membind` name a node of this machine?")]
    Membind {
        /// The node.
        node: u32,
        /// What the kernel answered.
        #[source]
        source: Errno,
    },
    /// A case could not be run.
    #[error("case {case} of {comparison} cannot be run")]
    Crew {
        /// The comparison.
        comparison: String,
        /// The case.
        case: String,
        /// Why.
        #[source]
        source: CrewError,
    },
}

/// The hidden subcommand `launch`: orders as JSON on stdin, the record as JSON on stdout.
///
/// # Errors
///
/// Why nothing was measured.
pub fn serve(
    comparisons: &[&dyn Comparison],
    mut orders: impl Read,
    mut record: impl Write,
) -> Result<(), LaunchError> {
    let mut text = String::new();
    orders.read_to_string(&mut text).map_err(LaunchError::Orders)?;
    let spec: LaunchSpec = serde_json::from_str(&text).map_err(|error| LaunchError::Orders(error.into()))?;
    let comparison = comparisons
        .iter()
        .find(|comparison| comparison.name() == spec.comparison)
        .ok_or_else(|| LaunchError::Comparison(spec.comparison.clone()))?;
    let launch = run_launch(*comparison, &spec)?;
    serde_json::to_writer(&mut record, &launch).map_err(|error| LaunchError::Record(error.into()))?;
    record.flush().map_err(LaunchError::Record)
}

/// Runs the cases that `spec` names, in an order of this launch's own.
///
/// The calling thread is task 0; it may run on the CPUs it had before once this returns.
///
/// # Errors
///
/// Why nothing was measured.
pub fn run_launch(comparison: &dyn Comparison, spec: &LaunchSpec) -> Result<LaunchRecord, LaunchError> {
    if let Some(parent) = spec.parent
        && !lifeline::end_with(parent).map_err(LaunchError::Lifeline)?
    {
        return Err(LaunchError::Orphaned);
    }
    if let Some(node) = spec.membind {
        memory_policy::bind(node).map_err(|source| LaunchError::Membind { node, source })?;
    }
    if spec.cpus.is_empty() {
        return Err(LaunchError::NoCpu);
    }
    let cases = comparison.cases(spec.cpus.len());
    let allowed_before = affinity::allowed().ok();
    let mut rng = Rng::derive(spec.seed, &[PLACEMENT, u64::from(spec.launch)]);
    let spacer = placement::heap_spacer(&mut rng);
    let mut stack_rng = Rng::derive(spec.seed, &[STACK, u64::from(spec.launch)]);
    let records: Result<Vec<CaseRecord>, LaunchError> = placement::with_stack_offset(&mut stack_rng, || {
        shuffled(&spec.cases, spec.seed, spec.launch, ORDER_OF_CASES)
            .into_iter()
            .map(|index| {
                let case = cases.get(index).ok_or_else(|| LaunchError::Case {
                    comparison: spec.comparison.clone(),
                    case: index,
                    cpus: spec.cpus.len(),
                })?;
                run_case(comparison, spec, index, case, &mut rng).map_err(|source| LaunchError::Crew {
                    comparison: spec.comparison.clone(),
                    case: case.name.clone(),
                    source,
                })
            })
            .collect()
    });
    drop(spacer);
    if let Some(cpus) = allowed_before {
        // What was allowed a moment ago; a change since then is not ours to undo.
        let _ = affinity::allow(&cpus);
    }
    Ok(LaunchRecord { launch: spec.launch, cases: records? })
}

/// The slots of a case: every variant that runs here by its index, and the baseline's second turn after them.
#[must_use]
pub fn slots(case: &Case) -> Vec<usize> {
    let available = |variant: &usize| case.variants[*variant].unavailable.is_none();
    let mut slots: Vec<usize> = (0..case.variants.len()).filter(available).collect();
    if slots.first() == Some(&0) {
        slots.push(case.variants.len());
    }
    slots
}

/// The CPU of every task of a case.
#[must_use]
pub fn task_cpus(case: &Case, cpus: &[usize]) -> Vec<usize> {
    cpus.iter().copied().cycle().take(case.tasks.max(1)).collect()
}

fn run_case(
    comparison: &dyn Comparison,
    spec: &LaunchSpec,
    index: usize,
    case: &Case,
    rng: &mut Rng,
) -> Result<CaseRecord, CrewError> {
    let cpus = task_cpus(case, &spec.cpus);
    let slots = slots(case);
    // All slots get one seed: equal input is part of equal work.
    let seed = Rng::derive(spec.seed, &[INPUT, u64::from(spec.launch), index as u64]).next_u64();
    let order = SlotOrder::new(&slots, spec.seed, index);
    let workloads = prepare(comparison, spec, case, &slots, seed, rng);
    let line_transfer = match spec.cpus[..] {
        [one, other, ..] => handover::read(one, other),
        _ => None,
    };
    let position = |slot: usize| slots.iter().position(|&other| other == slot).unwrap_or_default();

    let (batches, huge_page_bytes) = with_crew(&cpus, &workloads, |crew| {
        // Once through everything without a record: code and data pages become present.
        for &slot in order.block(spec.launch, 0, spec.blocks) {
            crew.batch(position(slot), None, slot)?;
        }
        let huge_page_bytes = arena::huge_page_bytes();
        let mut batches = Vec::with_capacity(slots.len() * usize::from(spec.blocks));
        for block in 0..spec.blocks {
            for &slot in order.block(spec.launch, block, spec.blocks) {
                let key = BatchKey {
                    experiment: spec.index,
                    case: index as u8,
                    slot: slot as u16,
                    launch: spec.launch,
                    block,
                };
                batches.push(crew.batch(position(slot), Some(key), slot)?);
            }
        }
        Ok((batches, huge_page_bytes))
    })?;
    drop(workloads);
    let locks = instrument_pass::run(
        case,
        &cpus,
        |variant| comparison.prepare_lock_timed(case, variant, seed),
        |workload| workload.lock_times(),
    )?;
    let operations = instrument_pass::run(
        case,
        &cpus,
        |variant| comparison.prepare_operation_timed(case, variant, seed),
        |workload| workload.operation_times(),
    )?;
    Ok(CaseRecord { case: index, huge_page_bytes, line_transfer, batches, locks, operations })
}

/// One workload for each of `slots`, prepared in an order of the launch's own, with space of random size
/// between them: the baseline's second turn too has memory of its own, so that the noise floor holds what
/// placement alone does.
fn prepare(
    comparison: &dyn Comparison,
    spec: &LaunchSpec,
    case: &Case,
    slots: &[usize],
    seed: u64,
    rng: &mut Rng,
) -> Vec<Shared> {
    let mut prepared: Vec<(usize, Box<dyn Workload>)> = Vec::with_capacity(slots.len());
    let mut spacers = Vec::with_capacity(slots.len());
    for slot in shuffled(slots, spec.seed, spec.launch, ORDER_OF_PREPARATION) {
        spacers.push(placement::heap_spacer(rng));
        let variant = if slot == case.variants.len() { 0 } else { slot };
        prepared.push((slot, comparison.prepare(case, variant, seed)));
    }
    prepared.sort_by_key(|&(slot, _)| slot);
    prepared.into_iter().map(|(_, workload)| RwLock::new(workload)).collect()
}

/// Purposes of random streams, so that no two draw the same numbers.
const PLACEMENT: u64 = 3;
const STACK: u64 = 7;
const INPUT: u64 = 4;
const ORDER_OF_CASES: u64 = 5;
const ORDER_OF_PREPARATION: u64 = 6;
