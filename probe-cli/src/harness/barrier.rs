//! A barrier for tasks that should start within a cache miss of each other.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A barrier that wakes its threads within a cache miss.
///
/// Parties that own their CPUs never yield: the kernel counts a yield as a switch against the will of the thread,
/// which is what disturbed batches are known by. Those that share one must yield, or wait for whole time slices.
// Two lines: the neighbour is fetched along with the one that is written.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct SpinBarrier {
    parties: usize,
    /// Turns before yielding; none for ever.
    patience: Option<u32>,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    abandoned: AtomicBool,
}

/// Turns before a waiting thread that shares its CPU offers it to others: some tens of microseconds.
const SPINS: u32 = 2000;

impl SpinBarrier {
    /// For `parties`; `shared` says that some of them run on one CPU.
    pub(super) const fn new(parties: usize, shared: bool) -> Self {
        Self {
            parties,
            patience: if shared { Some(SPINS) } else { None },
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Waits for all parties; false if the barrier was abandoned meanwhile.
    pub(super) fn wait(&self) -> bool {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // Nobody arrives for the next generation before it is announced.
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut spins = 0_u32;
        while self.generation.load(Ordering::Acquire) == generation {
            if self.abandoned.load(Ordering::Acquire) {
                return false;
            }
            spins = spins.saturating_add(1);
            if self.patience.is_none_or(|patience| spins < patience) {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        true
    }

    /// Releases all that wait, now and later.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_all_have_arrived() {
        const PARTIES: usize = 4;
        const ROUNDS: usize = 200;
        let (barrier, arrived) = (SpinBarrier::new(PARTIES, true), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..PARTIES {
                scope.spawn(|| {
                    for round in 1..=ROUNDS {
                        arrived.fetch_add(1, Ordering::Relaxed);
                        assert!(barrier.wait());
                        assert!(arrived.load(Ordering::Relaxed) >= round * PARTIES);
                        assert!(barrier.wait());
                    }
                });
            }
        });
        assert_eq!(arrived.into_inner(), ROUNDS * PARTIES);
    }

    #[test]
    fn an_abandoned_barrier_lets_everyone_go() {
        let barrier = SpinBarrier::new(3, true);
        thread::scope(|scope| {
            let waiting = [scope.spawn(|| barrier.wait()), scope.spawn(|| barrier.wait())];
            barrier.abandon();
            for waiter in waiting {
                assert!(!waiter.join().unwrap());
            }
        });
    }
}
