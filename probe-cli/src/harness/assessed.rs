//! What the assessment of a run works on: its cases, and the random streams behind their numbers.

use std::collections::BTreeMap;

use super::options::Options;
use super::run::Measured;
use super::samples::{CaseSamples, Pairs};
use crate::experiment::Case;
use crate::report::model::{CaseReport, Ratio, VariantRow};
use crate::stats::ratio::{paired_logs, ratio};
use crate::stats::rng::Rng;

/// What all cases of a run share.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) measured: &'a Measured,
    pub(super) options: &'a Options,
    pub(super) cpus: usize,
    /// The probe's intervals in ns by batch key; none without markers.
    pub(super) probe: Option<BTreeMap<u64, u64>>,
}

/// A case with everything that was found out about it.
#[derive(Debug)]
pub(super) struct AssessedCase {
    pub(super) index: usize,
    pub(super) case: Case,
    pub(super) samples: CaseSamples,
    pub(super) report: CaseReport,
    /// How the variants differ, if they do not do the same work.
    pub(super) difference: Option<String>,
    /// Share of the A/A pairs that were dropped.
    pub(super) floor_drop_rate: f64,
    pub(super) rows: Vec<VariantRow>,
}

/// The ratio of paired slots.
pub(super) fn pair_ratio(pairs: &Pairs, rng: &mut Rng) -> Option<Ratio> {
    ratio(&paired_logs(&pairs.ours, &pairs.theirs), rng)
}

/// A random stream for one number of the report, whatever else is computed.
pub(super) fn stream(seed: u64, case: usize, slot: usize, purpose: u64) -> Rng {
    Rng::derive(seed, &[purpose, case as u64, slot as u64])
}

/// Purposes of random streams, so that no two draw the same numbers.
pub(super) const MEDIAN: u64 = 16;
pub(super) const RATIO: u64 = 17;
pub(super) const FLOOR: u64 = 18;
pub(super) const EFFECT: u64 = 19;
