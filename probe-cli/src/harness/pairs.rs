//! Two variants of a case against each other, block by block: what a bench against a peer needs of a run.

use super::drops::RULES;
use super::run::Measured;
use super::samples::CaseSamples;
use crate::experiment::Comparison;

/// The samples of two variants, `[launch][block]`, at the same places; both null where a rule dropped the pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// Of the first variant, ns for one operation.
    pub ours: Vec<Vec<Option<f64>>>,
    /// Of the second.
    pub theirs: Vec<Vec<Option<f64>>>,
    /// Share of the pairs that were dropped.
    pub drop_rate: f64,
    /// How many were, by the rule they broke first.
    pub drops: Vec<(&'static str, u64)>,
}

/// The samples of `ours` and `theirs` in `case` of a run on `cpus` CPUs.
///
/// # Errors
///
/// Why there are none: no such case or variant, not available here, or not timed since the work differs.
pub fn paired(
    comparison: &dyn Comparison,
    measured: &Measured,
    cpus: usize,
    case: &str,
    ours: &str,
    theirs: &str,
) -> Result<Paired, String> {
    let (index, case) = comparison
        .cases(cpus)
        .into_iter()
        .enumerate()
        .find(|(_, known)| known.name == case)
        .ok_or_else(|| format!("{} has no case {case} on {cpus} CPUs", comparison.name()))?;
    match measured.checks.get(&index) {
        None => return Err(format!("the case {} was not run", case.name)),
        Some(Err(difference)) => return Err(format!("the variants do not do the same work: {difference}")),
        Some(Ok(_)) => {}
    }
    let slot = |name: &str| {
        let found = case.variants.iter().position(|variant| variant.name == name);
        let slot = found.ok_or_else(|| format!("the case {} has no variant {name}", case.name))?;
        match &case.variants[slot].unavailable {
            Some(reason) => Err(format!("{name} is not available here: {reason}")),
            None => Ok(slot),
        }
    };
    let (ours, theirs) = (slot(ours)?, slot(theirs)?);
    let blocks = measured.launches.iter().flat_map(|launch| &launch.cases);
    let blocks = blocks.flat_map(|record| record.batches.iter().map(|batch| batch.block + 1)).max();
    let shared_cpus = case.tasks > cpus || comparison.waits_by_design(&case);
    let samples = CaseSamples::new(measured, index, &case, shared_cpus, blocks.unwrap_or(0));
    let pairs = samples.pairs(ours, theirs);
    let drop_rate = pairs.drop_rate();
    let by_rule = RULES.iter().zip(&pairs.dropped_by).filter(|(_, dropped)| **dropped > 0);
    let drops = by_rule.map(|(rule, dropped)| (rule.name, *dropped)).collect();
    Ok(Paired { ours: pairs.ours, theirs: pairs.theirs, drop_rate, drops })
}
