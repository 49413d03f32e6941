//! Which experiments were meant.

use crate::{
    error::{Error, Result},
    experiment::{self, Experiment},
    nearest,
};

/// An experiment, and its index in batch keys.
pub(super) type Selected = (u8, &'static dyn Experiment);

/// The experiments called `names`, each once, in the order of [`experiment::ALL`]; all where none is named.
pub(super) fn experiments(names: &[String]) -> Result<Vec<Selected>> {
    let known = || experiment::ALL.iter().map(|experiment| experiment.name());
    for name in names {
        if !known().any(|known| known == name) {
            return Err(Error::UnknownExperiment {
                name: name.clone(),
                candidates: nearest::to(name, known()),
            });
        }
    }
    let wanted =
        |experiment: &dyn Experiment| names.is_empty() || names.iter().any(|name| name == experiment.name());
    Ok((0..).zip(experiment::ALL.iter().copied()).filter(|(_, experiment)| wanted(*experiment)).collect())
}
