//! What a drained cache held.

use alloc::vec::Vec;
use core::fmt;

use super::{Slot, slab::Chunk};

/// The entries of a cache at its flush, in no order. Dropping it drops them, under no lock.
///
/// `T` is the [stored](super::Storage) form of the values.
///
/// ```
/// use route_cache::FlushCache;
///
/// let cache = FlushCache::new();
/// cache.insert("a", 1);
/// cache.insert("b", 2);
/// let mut flushed: Vec<_> = cache.drain().into_iter().map(|(key, value)| (key, *value)).collect();
/// flushed.sort();
/// assert_eq!(flushed, [("a", 1), ("b", 2)]);
/// assert!(cache.is_empty());
/// ```
pub struct Bag<K, T> {
    chunks: Vec<Chunk<Slot<K, T>>>,
}

impl<K, T> Bag<K, T> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    pub(super) fn extend(&mut self, chunks: Vec<Chunk<Slot<K, T>>>) {
        self.chunks.extend(chunks);
    }

    /// Number of entries; counted anew at each call.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.iter().flatten().flatten().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K, T> IntoIterator for Bag<K, T> {
    type Item = (K, T);
    type IntoIter = IntoIter<K, T>;

    fn into_iter(self) -> IntoIter<K, T> {
        IntoIter(self.chunks.into_iter().flatten().flatten())
    }
}

type Slots<K, T> = core::iter::Flatten<core::iter::Flatten<alloc::vec::IntoIter<Chunk<Slot<K, T>>>>>;

/// Iterates over a [`Bag`].
pub struct IntoIter<K, T>(Slots<K, T>);

impl<K, T> Iterator for IntoIter<K, T> {
    type Item = (K, T);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|slot| (slot.key, slot.value))
    }
}

impl<K, T> fmt::Debug for Bag<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bag").field("len", &self.len()).finish()
    }
}

impl<K, T> fmt::Debug for IntoIter<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").finish_non_exhaustive()
    }
}
