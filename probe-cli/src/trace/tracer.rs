//! Attached questions, and what has been counted for each.

use std::collections::BTreeMap;

use probe_abi::slow::SlowCall;

use super::ladder::Row;
use crate::probe::backend::Backend;
use crate::probe::call::{self, Primitive};
use crate::probe::refusal::Refusal;
use crate::probe::session::{RowKey, Session, TargetReading};
use crate::stats::histogram::Histogram;
use crate::stats::quantile::median;

/// Everything that is attached. Dropping it detaches it.
#[derive(Debug)]
pub struct Tracer {
    rows: Vec<Row>,
    parts: Vec<Part>,
    calls: Vec<(usize, Primitive)>,
}

/// Questions that one session answers.
#[derive(Debug)]
pub struct Part {
    session: Session,
    /// Row of each target of the session; none where the target was refused.
    rows: Vec<Option<usize>>,
}

impl Part {
    /// `rows` are those of the session's targets, of which `refused` are not attached.
    #[must_use]
    pub fn new(session: Session, rows: Vec<usize>, refused: &[(usize, Refusal)]) -> Self {
        let attached = |place: usize| refused.iter().all(|(refused, _)| *refused != place);
        let rows = rows.into_iter().enumerate().map(|(place, row)| attached(place).then_some(row)).collect();
        Self { session, rows }
    }
}

/// What has been counted for one question.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The numbers.
    pub target: TargetReading,
    /// Runs of its programs, and of those of the questions beside it, that the kernel skipped; none where it does not
    /// tell.
    pub missed: Option<u64>,
    /// What a loop without a call took, for primitives that are called: subtracted already.
    pub floor_ns: Option<u64>,
}

impl Reading {
    /// What was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let missed = self.missed.map(|now| now.saturating_sub(earlier.missed.unwrap_or(0)));
        Self { target: self.target.since(&earlier.target), missed, floor_ns: self.floor_ns }
    }
}

/// A slow call and the question it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Slow {
    /// The question, by its row.
    pub row: usize,
    /// Class of its size, where sizes are told apart.
    pub class: Option<u32>,
    /// The call.
    pub call: SlowCall,
}

impl Tracer {
    /// Of rows, the sessions that answer them, and the primitives that are called for them.
    #[must_use]
    pub const fn new(rows: Vec<Row>, parts: Vec<Part>, calls: Vec<(usize, Primitive)>) -> Self {
        Self { rows, parts, calls }
    }

    /// The questions, and what answers them.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether anything answers.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.rows.iter().any(|row| row.backend != Backend::None)
    }

    /// The mechanisms in use.
    #[must_use]
    pub fn backends(&self) -> Vec<Backend> {
        let mut backends: Vec<Backend> = Vec::new();
        for row in &self.rows {
            if !backends.contains(&row.backend) && row.backend != Backend::None {
                backends.push(row.backend);
            }
        }
        backends
    }

    /// Whether there is something to wait for: all that is called is done at once.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.parts.is_empty()
    }

    /// What has been counted, one reading a row. Primitives are not called here.
    ///
    /// # Errors
    ///
    /// A map could not be read.
    pub fn read(&self) -> Result<Vec<Reading>, Refusal> {
        let mut readings = vec![Reading::default(); self.rows.len()];
        for part in &self.parts {
            let missed = part.session.missed();
            for (target, row) in part.session.read()?.into_iter().zip(&part.rows) {
                if let Some(reading) = row.and_then(|row| readings.get_mut(row)) {
                    *reading = Reading { target, missed, floor_ns: None };
                }
            }
        }
        Ok(readings)
    }

    /// Calls the primitives and puts what they took into `readings`.
    ///
    /// # Errors
    ///
    /// A program is refused, or the calls fail.
    pub fn call(&self, samples: u32, readings: &mut [Reading]) -> Result<(), Refusal> {
        for (row, primitive) in &self.calls {
            let times = call::measure(*primitive, samples)?;
            let mut net = Histogram::default();
            times.net_ns.iter().for_each(|&ns| net.record(ns.round() as u64));
            if let Some(reading) = readings.get_mut(*row) {
                reading.target.rows = BTreeMap::from([(RowKey::default(), net)]);
                reading.missed = Some(0);
                reading.floor_ns = median(&times.floor_ns).map(|ns| ns.round() as u64);
            }
        }
        Ok(())
    }

    /// The slow calls that have ended since the last time, oldest first.
    pub fn drain_slow_calls(&mut self) -> Vec<Slow> {
        let mut slow = Vec::new();
        for part in &mut self.parts {
            for call in part.session.drain_slow_calls() {
                let (target, class) = part.session.place(call.row);
                if let Some(row) = part.rows.get(target).copied().flatten() {
                    slow.push(Slow { row, class, call });
                }
            }
        }
        slow.sort_by_key(|slow| slow.call.end_ns);
        slow
    }
}
