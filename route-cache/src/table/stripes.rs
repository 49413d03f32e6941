//! The buckets, each lock owning those it guards.
//!
//! The kernel kept all buckets in one array in slot order and the locks in another. Here the buckets of a lock
//! lie together inside it, since that is what lets the compiler prove that nobody touches them without it. Walks
//! by lock are therefore sequential in memory and walks by slot are strided; in the kernel it was the reverse.

use alloc::{boxed::Box, vec::Vec};

use super::{chain::Chain, epoch::Epoch, locking::Locking};
use crate::{
    geometry::Geometry,
    sync::{
        Padded,
        atomic::{AtomicU64, Ordering},
    },
};

/// The chains of one lock, by their index among its buckets.
#[derive(Debug)]
pub(crate) struct Chains<V> {
    pub(crate) chains: Vec<Chain<V>>,
    /// The epoch that `unswept` counts for.
    epoch: u64,
    /// Buckets not yet searched for entries of earlier epochs.
    unswept: usize,
}

impl<V> Chains<V> {
    /// A bucket to search for stale entries, each once after every flush; `None` when all were.
    ///
    /// One an insertion: so stale entries are gone from a lock's buckets after as many insertions as it has
    /// buckets.
    pub(crate) fn next_to_sweep(&mut self, epoch: Epoch) -> Option<usize> {
        if self.epoch != epoch.0 {
            self.epoch = epoch.0;
            self.unswept = self.chains.len();
        }
        self.unswept = self.unswept.checked_sub(1)?;
        Some(self.unswept)
    }
}

/// One lock, what it guards, and a bit for each bucket that has entries.
///
/// The bits are changed under the lock and read without it, so that a flush can pass by what is empty.
pub(crate) struct Stripe<V, L: Locking> {
    chains: L::Lock<Chains<V>>,
    occupied: Box<[AtomicU64]>,
}

impl<V, L: Locking> Stripe<V, L> {
    fn new(slots: usize) -> Self {
        let chains = (0..slots).map(|_| Chain::EMPTY).collect();
        let occupied = (0..slots.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { chains: L::new(Chains { chains, epoch: 0, unswept: 0 }), occupied }
    }

    pub(crate) fn lock(&self) -> L::Guard<'_, Chains<V>> {
        L::lock(&self.chains)
    }

    pub(crate) fn is_occupied(&self, index: usize) -> bool {
        self.occupied[index / 64].load(Ordering::Acquire) >> (index % 64) & 1 == 1
    }

    /// Sets or clears a bucket's bit; the caller holds the lock. Returns whether that changed it.
    pub(crate) fn mark(&self, index: usize, occupied: bool) -> bool {
        let word = &self.occupied[index / 64];
        let bit = 1 << (index % 64);
        // Only the holder of the lock writes, so that a load and a store do.
        let old = word.load(Ordering::Relaxed);
        let new = if occupied { old | bit } else { old & !bit };
        if new != old {
            word.store(new, Ordering::Release);
        }
        new != old
    }

    /// The buckets that have entries, ascending; exact only under the lock.
    pub(crate) fn occupied(&self) -> impl Iterator<Item = usize> {
        self.occupied.iter().enumerate().flat_map(|(at, word)| {
            let mut word = word.load(Ordering::Acquire);
            core::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit as usize)
            })
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.occupied.iter().all(|word| word.load(Ordering::Acquire) == 0)
    }

    pub(crate) fn mark_all_empty(&self) {
        self.occupied.iter().for_each(|word| word.store(0, Ordering::Release));
    }
}

/// All stripes of a table.
pub(crate) struct Stripes<V, L: Locking>(Box<[Padded<Stripe<V, L>>]>);

impl<V, L: Locking> Stripes<V, L> {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let stripe = |lock| Padded(Stripe::new(geometry.slots_of(lock)));
        Self((0..geometry.locks()).map(stripe).collect::<Vec<_>>().into())
    }

    pub(crate) fn get(&self, lock: usize) -> &Stripe<V, L> {
        &self.0[lock].0
    }
}
