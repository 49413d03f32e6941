//! The lock times of a case, from workloads of their own after all timed batches are over.

use std::sync::{PoisonError, RwLock};

use super::crew::{CrewError, Shared, with_crew};
use crate::experiment::{Case, Comparison, LockTimes};

/// Batches of each workload. None is a warm-up: the long waits of a first batch are waits too.
const BATCHES: usize = 3;

/// Lock times of every variant whose comparison offers a workload for them.
pub(super) fn run(
    comparison: &dyn Comparison,
    case: &Case,
    cpus: &[usize],
    seed: u64,
) -> Result<Vec<(usize, LockTimes)>, CrewError> {
    let available = case.variants.iter().enumerate().filter(|(_, variant)| variant.unavailable.is_none());
    let (variants, workloads): (Vec<usize>, Vec<Shared>) = available
        .filter_map(|(variant, _)| {
            Some((variant, RwLock::new(comparison.prepare_lock_timed(case, variant, seed)?)))
        })
        .unzip();
    if variants.is_empty() {
        return Ok(Vec::new());
    }
    with_crew(cpus, &workloads, |crew| {
        for _ in 0..BATCHES {
            for (workload, &variant) in variants.iter().enumerate() {
                crew.batch(workload, None, variant)?;
            }
        }
        Ok(())
    })?;
    let times =
        workloads.iter().map(|workload| workload.read().unwrap_or_else(PoisonError::into_inner).lock_times());
    Ok(variants.iter().zip(times).filter_map(|(&variant, times)| Some((variant, times?))).collect())
}
