//! The run-time probe: from which size on streaming pays although the destination is read at once.
//!
//! What a processor says of its caches cannot be believed inside a virtual machine: the size may be the package's and the
//! sharers made up, and nobody says what the neighbours leave. So the probe measures the decision itself rather than
//! the cache: copy and read, through the cache and around it, at doubling sizes.

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::vec::Vec;

use crate::engine::Engine;
use crate::policy::{Basis, Limits};

/// One size of the probe: copying and then reading all of the destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Crossing {
    /// Bytes copied and read.
    pub bytes: usize,
    /// Time through the cache.
    pub cached: Duration,
    /// Time around it.
    pub streamed: Duration,
}

impl Limits {
    /// Limits from measurements in order of size, or `None` where there are none.
    ///
    /// The crossing is the smallest size from which streaming is faster at every larger size as well, so that one lucky
    /// round decides nothing. Where streaming never wins, it starts beyond what was measured.
    pub fn from_crossings(crossings: &[Crossing]) -> Option<Self> {
        let largest = crossings.last()?.bytes;
        let wins = crossings.iter().rev().take_while(|crossing| crossing.streamed < crossing.cached);
        let first = wins.last().map_or(largest.saturating_mul(2), |crossing| crossing.bytes);
        Some(Self::from_share(first, Basis::Probe))
    }
}

impl Engine {
    /// The smallest size that the probe tries: below it a fence alone decides.
    const PROBE_FROM: usize = 1 << 20;

    /// The same engine with limits from a measurement at sizes up to `up_to` bytes, and the measurement.
    ///
    /// Takes twice `up_to` in memory while it runs, and about as long as writing sixty times `up_to`: some tens of
    /// milliseconds for 32 MiB. The limits stay as they are where the memory is not to be had or `up_to` is under 1 MiB.
    /// Nothing calls this on its own: a program that copies a lot does, once, at its start.
    pub fn measured(self, up_to: usize) -> (Self, Vec<Crossing>) {
        let (Some(src), Some(mut dst)) = (touched(up_to), touched(up_to)) else { return (self, Vec::new()) };
        let sizes = core::iter::successors(Some(Self::PROBE_FROM), |size| size.checked_mul(2));
        let crossings: Vec<_> = sizes
            .take_while(|&size| size <= up_to)
            .map(|size| self.crossing(&mut dst[..size], &src[..size]))
            .collect();
        match Limits::from_crossings(&crossings) {
            Some(limits) => (self.with_limits(Limits { long: self.limits().long, ..limits }), crossings),
            None => (self, crossings),
        }
    }

    /// Both ways in the order ABBA; the best of each counts, since everything else on the machine only ever adds.
    fn crossing(&self, dst: &mut [u8], src: &[u8]) -> Crossing {
        let (through, around) = self.routines();
        let mut best = [Duration::MAX; 2];
        for way in [0, 1, 1, 0] {
            let routine = [through, around][way];
            // The first round brings the caches into the state that this way leaves behind.
            let _ = routine.copy(dst, src);
            read(dst);
            let start = Instant::now();
            let _ = routine.copy(dst, src);
            read(dst);
            best[way] = best[way].min(start.elapsed());
        }
        Crossing { bytes: src.len(), cached: best[0], streamed: best[1] }
    }
}

/// `len` bytes, written once so that no page fault falls into the measurement; `None` where memory is short.
fn touched(len: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 1);
    Some(bytes)
}

/// Reads one byte of every line.
fn read(bytes: &[u8]) {
    black_box(black_box(bytes).iter().step_by(64).fold(0u8, |sum, &byte| sum.wrapping_add(byte)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::NextUse;

    /// Sizes of 1, 2, 4 ... MiB with how long either way takes.
    fn crossings(times: &[(u64, u64)]) -> Vec<Crossing> {
        let at = |(index, &(cached, streamed)): (usize, &(u64, u64))| Crossing {
            bytes: 1 << (20 + index),
            cached: Duration::from_micros(cached),
            streamed: Duration::from_micros(streamed),
        };
        times.iter().enumerate().map(at).collect()
    }

    #[test]
    fn streaming_starts_where_it_wins_for_good() {
        let limits = Limits::from_crossings(&crossings(&[(10, 20), (20, 30), (40, 35), (80, 60)])).unwrap();
        assert_eq!((limits.read_soon, limits.unknown, limits.basis), (4 << 20, 4 << 20, Basis::Probe));
    }

    #[test]
    fn one_lucky_round_at_a_small_size_decides_nothing() {
        let limits = Limits::from_crossings(&crossings(&[(10, 9), (20, 30), (40, 45), (80, 60)])).unwrap();
        assert_eq!(limits.read_soon, 8 << 20);
    }

    #[test]
    fn streaming_that_never_wins_starts_beyond_what_was_measured() {
        let limits = Limits::from_crossings(&crossings(&[(10, 20), (20, 30)])).unwrap();
        assert_eq!(limits.threshold(NextUse::ReadSoon), 4 << 20);
    }

    #[test]
    fn nothing_measured_decides_nothing() {
        assert_eq!(Limits::from_crossings(&[]), None);
        let engine = Engine::detect();
        assert_eq!(engine.measured(0), (engine, Vec::new()));
    }

    #[test]
    fn the_probe_measures_every_doubling_up_to_its_bound() {
        let (engine, crossings) = Engine::detect().measured(5 << 20);
        assert_eq!(crossings.iter().map(|crossing| crossing.bytes >> 20).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(engine.limits().basis, Basis::Probe);
    }
}
