//! The crate's one door to synchronisation, so that a model checker can stand in it.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// One turn of a waiting loop. A model checker must be told that nothing happens until somebody else moves.
pub(crate) fn pause() {
    #[cfg(not(loom))]
    core::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Takes the word's cache line for writing without changing the word.
///
/// Not `fetch_or(0)`: the compiler knows that it changes nothing, and emits no instruction that touches the line. A
/// compare-and-exchange is left alone, and the processor writes even what is equal.
pub(crate) fn dirty(word: &AtomicU32) {
    let now = word.load(Ordering::Relaxed);
    // A failure means that somebody else wrote in between: the line has been taken all the same.
    let _ = word.compare_exchange(now, now, Ordering::Relaxed, Ordering::Relaxed);
}
