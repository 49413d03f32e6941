//! What a drained cache held.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use super::{Slot, slab::Chunk};

/// The entries of a cache at its flush, in no order. Dropping it drops them, under no lock.
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
pub struct Bag<K, V> {
    chunks: Vec<Chunk<Slot<K, V>>>,
}

impl<K, V> Bag<K, V> {
    pub(super) fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    pub(super) fn extend(&mut self, chunks: Vec<Chunk<Slot<K, V>>>) {
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

impl<K, V> IntoIterator for Bag<K, V> {
    type Item = (K, Arc<V>);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter(self.chunks.into_iter().flatten().flatten())
    }
}

type Slots<K, V> = core::iter::Flatten<core::iter::Flatten<alloc::vec::IntoIter<Chunk<Slot<K, V>>>>>;

/// Iterates over a [`Bag`].
pub struct IntoIter<K, V>(Slots<K, V>);

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, Arc<V>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|slot| (slot.key, slot.value))
    }
}

impl<K, V> fmt::Debug for Bag<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bag").field("len", &self.len()).finish()
    }
}

impl<K, V> fmt::Debug for IntoIter<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").finish_non_exhaustive()
    }
}
