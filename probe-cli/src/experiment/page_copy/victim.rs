//! What a copy drives out of the cache: the time to read again what was there before it.

use std::sync::Mutex;
use std::sync::PoisonError;

use super::blocks::{Blocks, read};
use crate::experiment::Workload;
use crate::sys::arena::{Arena, Pages};

/// Bytes that somebody wants to keep: half of the smallest second-level cache that servers have.
pub(super) const RESIDENT: usize = 512 << 10;

/// A resident set that is read after each copy. The copy belongs to the set-up: only the reading is timed.
#[derive(Debug)]
pub(super) struct Victim {
    resident: Arena,
    copying: Mutex<Blocks>,
}

impl Victim {
    /// # Panics
    ///
    /// If there is no memory.
    pub(super) fn new(copying: Blocks) -> Self {
        let resident = Arena::new(RESIDENT, Pages::Base)
            .unwrap_or_else(|error| panic!("{RESIDENT} bytes of memory to keep cannot be had: {error}"));
        Self { resident, copying: Mutex::new(copying) }
    }
}

impl Workload for Victim {
    fn reset(&mut self) {
        let copying = self.copying.get_mut().unwrap_or_else(PoisonError::into_inner);
        copying.reset();
        // Twice: after the first time the lines are there, after the second they are not the oldest.
        read(&self.resident);
        read(&self.resident);
        copying.run(0);
    }

    fn run(&self, _task: usize) -> u64 {
        read(&self.resident);
        (RESIDENT / 64) as u64
    }
}
