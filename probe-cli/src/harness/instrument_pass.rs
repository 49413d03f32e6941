//! What instruments inside a workload see, from workloads of their own after all timed batches are over.

use std::sync::{PoisonError, RwLock};

use super::crew::{CrewError, Shared, with_crew};
use crate::experiment::{Case, Workload};

/// Batches of each workload. None is a warm-up: the long waits of a first batch are waits too.
const BATCHES: usize = 3;

/// Readings of every variant that `prepare` has a workload for, taken by `read` when its batches are over.
pub(super) fn run<T>(
    case: &Case,
    cpus: &[usize],
    prepare: impl Fn(usize) -> Option<Box<dyn Workload>>,
    read: impl Fn(&dyn Workload) -> Option<T>,
) -> Result<Vec<(usize, T)>, CrewError> {
    let available = case.variants.iter().enumerate().filter(|(_, variant)| variant.unavailable.is_none());
    let (variants, workloads): (Vec<usize>, Vec<Shared>) =
        available.filter_map(|(variant, _)| Some((variant, RwLock::new(prepare(variant)?)))).unzip();
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
    let readings =
        workloads.iter().map(|workload| read(&**workload.read().unwrap_or_else(PoisonError::into_inner)));
    Ok(variants.iter().zip(readings).filter_map(|(&variant, reading)| Some((variant, reading?))).collect())
}
