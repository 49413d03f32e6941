//! From the records of the launches to samples: which batches count, and in which pairs.

use super::clock::Clock;
use super::drops::{RULES, Surroundings, first_broken};
use super::record::{Batch, CaseRecord};
use super::run::Measured;
use crate::experiment::{Case, LockTimes, OperationTimes};
use crate::stats::quantile::median;

/// One batch as far as statistics care.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// Time for one operation.
    pub(super) ns: Option<f64>,
    /// The first rule it broke.
    pub(super) broken: Option<usize>,
    /// The whole batch.
    pub(super) elapsed_ns: f64,
    pub(super) operations: u64,
}

impl Cell {
    fn sample(self) -> Option<f64> {
        self.ns.filter(|_| self.broken.is_none())
    }
}

/// All batches of a case, `[slot][launch][block]`.
#[derive(Debug)]
pub(super) struct CaseSamples {
    cells: Vec<Vec<Vec<Option<Cell>>>>,
    /// Median of the frequency witness of each launch, ns for one step.
    pub(super) witness_ns: Vec<f64>,
    /// The neighbourhood witness of each launch that has one, ns.
    pub(super) line_transfer_ns: Vec<f64>,
    pub(super) huge_page_bytes: Option<u64>,
    /// Lock times by variant, of all launches together.
    pub(super) locks: Vec<Option<LockTimes>>,
    /// Times of single operations, likewise.
    pub(super) operations: Vec<Option<OperationTimes>>,
}

/// Two slots, block by block.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Samples of the first; `None` where either was dropped or is missing.
    pub(super) ours: Vec<Vec<Option<f64>>>,
    /// Samples of the second, at the same places.
    pub(super) theirs: Vec<Vec<Option<f64>>>,
    /// Pairs that ran.
    pub(super) total: u64,
    /// Pairs dropped, by rule.
    pub(super) dropped_by: Vec<u64>,
}

impl Pairs {
    pub(super) fn dropped(&self) -> u64 {
        self.dropped_by.iter().sum()
    }

    /// The samples of the first that count, launch by launch.
    pub(super) fn kept(&self) -> Vec<Vec<f64>> {
        self.ours.iter().map(|blocks| blocks.iter().copied().flatten().collect()).collect()
    }

    /// Share of pairs dropped; 0 if none ran.
    pub(super) fn drop_rate(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.dropped() as f64 / self.total as f64 }
    }
}

impl CaseSamples {
    /// The batches of the `index`-th case.
    pub(super) fn new(
        measured: &Measured,
        index: usize,
        case: &Case,
        shared_cpus: bool,
        blocks: u16,
    ) -> Self {
        let slots = case.variants.len() + 1;
        let empty_launch = vec![None; blocks.into()];
        let mut found = Self {
            cells: vec![vec![empty_launch; measured.launches.len()]; slots],
            witness_ns: Vec::new(),
            line_transfer_ns: Vec::new(),
            huge_page_bytes: None,
            locks: vec![None; case.variants.len()],
            operations: vec![None; case.variants.len()],
        };
        for (launch, record) in measured.launches.iter().enumerate() {
            for record in record.cases.iter().filter(|record| record.case == index) {
                found.add(record, launch, &measured.clock, shared_cpus);
            }
        }
        found
    }

    fn add(&mut self, record: &CaseRecord, launch: usize, clock: &Clock, shared_cpus: bool) {
        let readings: Vec<f64> =
            record.batches.iter().flat_map(|batch| batch.witness).map(|ticks| ticks as f64).collect();
        let witness_ticks = median(&readings).unwrap_or(0.0);
        let ticks_per_ns = clock.ticks_per_second / 1e9;
        let near = Surroundings { shared_cpus, witness_ticks, ticks_per_ns };
        if !readings.is_empty() {
            self.witness_ns.push(witness_ticks / ticks_per_ns / f64::from(super::witness::STEPS));
        }
        self.line_transfer_ns.extend(record.line_transfer.map(|ticks| ticks / ticks_per_ns));
        for batch in &record.batches {
            let cell = self
                .cells
                .get_mut(batch.slot)
                .and_then(|slot| slot[launch].get_mut(usize::from(batch.block)));
            if let Some(cell) = cell {
                *cell = Some(judge(batch, &near, clock));
            }
        }
        self.huge_page_bytes = match (self.huge_page_bytes, record.huge_page_bytes) {
            (Some(least), Some(this)) => Some(least.min(this)),
            (least, this) => least.or(this),
        };
        for (variant, times) in &record.locks {
            if let Some(all) = self.locks.get_mut(*variant) {
                let all = all.get_or_insert_default();
                all.wait.merge(&times.wait);
                all.hold.merge(&times.hold);
            }
        }
        for (variant, times) in &record.operations {
            if let Some(all) = self.operations.get_mut(*variant) {
                all.get_or_insert_default().merge(times);
            }
        }
    }

    /// Samples of one slot on its own.
    pub(super) fn alone(&self, slot: usize) -> Pairs {
        self.pairs(slot, slot)
    }

    /// Samples of `slot`, each paired with the one of `other` in the same block.
    pub(super) fn pairs(&self, slot: usize, other: usize) -> Pairs {
        let mut pairs =
            Pairs { ours: Vec::new(), theirs: Vec::new(), total: 0, dropped_by: vec![0; RULES.len()] };
        for (ours, theirs) in self.cells[slot].iter().zip(&self.cells[other]) {
            let (mut our_samples, mut their_samples) = (Vec::new(), Vec::new());
            for (our, their) in ours.iter().zip(theirs) {
                let pair = our.as_ref().zip(their.as_ref());
                let broken = pair.and_then(|(our, their)| our.broken.into_iter().chain(their.broken).min());
                pairs.total += u64::from(pair.is_some());
                if let Some(rule) = broken {
                    pairs.dropped_by[rule] += 1;
                }
                let kept = pair.and_then(|(our, their)| Some((our.sample()?, their.sample()?)));
                our_samples.push(kept.map(|(our, _)| our));
                their_samples.push(kept.map(|(_, their)| their));
            }
            pairs.ours.push(our_samples);
            pairs.theirs.push(their_samples);
        }
        pairs
    }

    /// Batches of a slot with their place: launch, block.
    pub(super) fn batches(&self, slot: usize) -> impl Iterator<Item = (usize, usize, &Cell)> {
        self.cells[slot].iter().enumerate().flat_map(|(launch, blocks)| {
            let place = move |(block, cell)| Some((launch, block, Option::as_ref(cell)?));
            blocks.iter().enumerate().filter_map(place)
        })
    }

    /// Median length of the batches of a slot; `None` if it never ran.
    pub(super) fn batch_ns(&self, slot: usize) -> Option<f64> {
        median(&self.batches(slot).map(|(_, _, cell)| cell.elapsed_ns).collect::<Vec<_>>())
    }
}

fn judge(batch: &Batch, near: &Surroundings, clock: &Clock) -> Cell {
    Cell {
        ns: batch.ns_per_operation(clock),
        broken: first_broken(batch, near),
        elapsed_ns: batch.elapsed_ticks().map_or(0.0, |ticks| clock.ns(ticks)),
        operations: batch.operations(),
    }
}
