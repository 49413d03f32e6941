//! One entry of a shard, and how its hash is spread.

use super::heads::NONE;
use crate::sync::atomic::{AtomicBool, Ordering};

/// The expiry of what does not expire.
pub(super) const NEVER: u64 = u64::MAX;

/// One entry.
#[derive(Debug)]
pub(super) struct Slot<K, T> {
    pub(super) hash: u64,
    /// The next in its chain.
    pub(super) next: u32,
    pub(super) weight: u32,
    pub(super) expires_ns: u64,
    /// Read since the eviction's hand last came by.
    pub(super) used: AtomicBool,
    pub(super) key: K,
    pub(super) value: T,
}

impl<K, T> Slot<K, T> {
    pub(super) fn new(hash: u64, weight: u32, expires_ns: u64, key: K, value: T) -> Self {
        Self { hash, next: NONE, weight, expires_ns, used: AtomicBool::new(false), key, value }
    }

    pub(super) fn touch(&self) {
        // The line stays shared among readers once it is set.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

/// Spreads a hash over all bits, differently for every seed: a weak hasher's patterns do not become chains, and
/// chains that somebody found out are gone after the next flush.
pub(super) fn blur(hash: u64, seed: u64) -> u64 {
    let wide = u128::from(hash ^ seed) * 0x9e37_79b9_7f4a_7c15;
    (wide >> 64) as u64 ^ wide as u64
}
