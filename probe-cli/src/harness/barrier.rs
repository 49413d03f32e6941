//! A barrier for tasks that should start within a cache miss of each other.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// A barrier that wakes its threads within a cache miss, for parties that own their CPUs; those that do not,
/// yield after a while.
// Two lines: the neighbour is fetched along with the one that is written.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct SpinBarrier {
    parties: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    abandoned: AtomicBool,
}

/// Turns before a waiting thread offers its CPU to others: some tens of microseconds.
const SPINS: u32 = 2000;

impl SpinBarrier {
    pub(super) const fn new(parties: usize) -> Self {
        Self {
            parties,
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
        let mut spins = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            if self.abandoned.load(Ordering::Acquire) {
                return false;
            }
            spins += 1;
            if spins < SPINS { hint::spin_loop() } else { thread::yield_now() }
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
        let (barrier, arrived) = (SpinBarrier::new(PARTIES), AtomicUsize::new(0));
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
        let barrier = SpinBarrier::new(3);
        thread::scope(|scope| {
            let waiting = [scope.spawn(|| barrier.wait()), scope.spawn(|| barrier.wait())];
            barrier.abandon();
            for waiter in waiting {
                assert!(!waiter.join().unwrap());
            }
        });
    }
}
