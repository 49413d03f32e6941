//! The queue between interrupts, which must be quick, and pools, which are slow.

use alloc::{vec, vec::Vec};

use super::{Pool, timer::Sample};

/// Entries of the ring, `BATCH_ENTROPY_SIZE`. One is always empty, else full could not be told from empty.
pub const BATCH_ENTRIES: usize = 256;

/// A ring of samples that loses the newest when it is full.
#[derive(Clone, Debug)]
pub struct BatchQueue {
    ring: Vec<Sample>,
    head: usize,
    tail: usize,
    dropped: u64,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// It is in the queue; else it is lost. The original lost it without a word, we count it.
    pub queued: bool,
    /// The queue was half full before it: the worker is to run a tick later (2.6.10; 2.6.4 asked at every sample).
    pub work_due: bool,
}

impl Default for BatchQueue {
    fn default() -> Self {
        Self { ring: vec![Sample::default(); BATCH_ENTRIES], head: 0, tail: 0, dropped: 0 }
    }
}

impl BatchQueue {
    /// Puts a sample in, or drops it if there is no room.
    pub fn store(&mut self, sample: Sample) -> Stored {
        let work_due = self.len() >= BATCH_ENTRIES / 2;
        self.ring[self.head] = sample;
        let next = (self.head + 1) % BATCH_ENTRIES;
        let queued = next != self.tail;
        if queued {
            self.head = next;
        } else {
            self.dropped += 1;
        }
        Stored { queued, work_due }
    }

    /// Takes everything out, oldest first, so that mixing can go on while new samples come in.
    pub fn drain(&mut self) -> Vec<Sample> {
        let samples = (0..self.len()).map(|at| self.ring[(self.tail + at) % BATCH_ENTRIES]).collect();
        self.tail = self.head;
        samples
    }

    /// Samples waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.wrapping_sub(self.tail) % BATCH_ENTRIES
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Samples lost since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// Mixes and credits samples, beginning with the primary pool. Before each sample a pool that is full hands over
/// to the other one, which keeps the turn until it is full itself.
pub fn feed(samples: &[Sample], primary: &Pool, secondary: &Pool) {
    let (mut target, mut other) = (primary, secondary);
    for sample in samples {
        if target.entropy_bits() >= target.size().bits() {
            core::mem::swap(&mut target, &mut other);
        }
        target.mix(&sample.words);
        target.credit(sample.credit_bits.cast_signed());
    }
}
