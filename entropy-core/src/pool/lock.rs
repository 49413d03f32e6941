//! The lock of a pool: test, then test-and-set, as `spin_lock` was in 2004.

use crate::sync::{AtomicU32, Ordering, pause};

/// What a caller may learn of a lock: when it was asked for, had, and given back. `()` learns nothing and costs
/// nothing. The hooks run on the asking thread; `acquired` runs inside the lock, so what it spends is held time.
pub trait LockWatch {
    /// Before the first attempt.
    fn asked(&mut self) {}
    /// The lock is held from here.
    fn acquired(&mut self) {}
    /// The lock has been given back.
    fn released(&mut self) {}
}

impl LockWatch for () {}

/// A spin lock of one word.
///
/// The kernel took it with interrupts off, so that its holder was never preempted. A thread has no such promise:
/// with more threads than processors, waiters burn whole time slices.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct SpinLock(AtomicU32);

const FREE: u32 = 0;
const HELD: u32 = 1;

impl SpinLock {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Runs `work` with the lock held; a panic in it gives the lock back.
    #[inline]
    pub(crate) fn with<R>(&self, watch: &mut impl LockWatch, work: impl FnOnce() -> R) -> R {
        watch.asked();
        let held = self.hold();
        watch.acquired();
        let result = work();
        drop(held);
        watch.released();
        result
    }

    #[inline]
    fn hold(&self) -> Held<'_> {
        // Not a swap: one that fails would store too, and the model checker does not see that a release by the
        // holder must come after that store.
        while self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Waiting by reading leaves the line with its holder, who is about to write beside the lock.
            while self.0.load(Ordering::Relaxed) == HELD {
                pause();
            }
        }
        Held(self)
    }
}

struct Held<'a>(&'a SpinLock);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.0.store(FREE, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    extern crate std;
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        vec::Vec,
    };

    #[derive(Default)]
    struct Log(Vec<&'static str>);

    impl LockWatch for Log {
        fn asked(&mut self) {
            self.0.push("asked");
        }
        fn acquired(&mut self) {
            self.0.push("acquired");
        }
        fn released(&mut self) {
            self.0.push("released");
        }
    }

    #[test]
    fn a_watch_sees_the_three_moments_in_order() {
        let (lock, mut log) = (SpinLock::new(), Log::default());
        assert_eq!(lock.with(&mut log, || lock.0.load(Ordering::Relaxed)), HELD);
        assert_eq!(lock.0.load(Ordering::Relaxed), FREE);
        assert_eq!(log.0, ["asked", "acquired", "released"]);
    }

    #[test]
    fn a_panic_inside_gives_the_lock_back() {
        let lock = SpinLock::new();
        let died = catch_unwind(AssertUnwindSafe(|| lock.with(&mut (), || panic!("inside"))));
        assert!(died.is_err());
        lock.with(&mut (), || ());
    }
}
