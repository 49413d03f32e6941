//! How entries leave a shard by themselves: evicted, expired, or dead since a flush.

use super::{slab::CHUNK, slot::Slot, store::Store, trash::Trash};
use crate::sync::atomic::Ordering;

/// Slots that an eviction looks at before it takes the next whatever its merits.
const EVICTION_EFFORT: usize = 16;

impl<K, T> Store<K, T> {
    /// Second chance: passes by entries read since it last came by, and takes the first other.
    pub(super) fn evict(&mut self, now_ns: u64) -> Option<Slot<K, T>> {
        let mut seen = 0;
        while self.slots.len() > 0 {
            let index = self.hand;
            self.hand = if index + 1 < self.slots.end() { index + 1 } else { 0 };
            let Some(slot) = self.slots.get(index) else { continue };
            seen += 1;
            let expired = slot.expires_ns <= now_ns;
            if !slot.used.load(Ordering::Relaxed) || expired || seen > EVICTION_EFFORT {
                return self.unlink_index(index);
            }
            slot.used.store(false, Ordering::Relaxed);
        }
        None
    }

    /// Removes every entry that has expired.
    pub(super) fn expire(&mut self, now_ns: u64, trash: &mut Trash<Slot<K, T>>) {
        for index in 0..self.slots.end() {
            if self.slots.get(index).is_some_and(|slot| slot.expires_ns <= now_ns) {
                trash.extend(self.unlink_index(index));
            }
        }
    }

    /// Moves up to `most` dead entries to the trash, and looks at no more than a chunk of places for them.
    ///
    /// That is at least `most` places, of entries or of what was removed before the flush, unless that was all.
    pub(super) fn reclaim(&mut self, most: usize, trash: &mut Trash<Slot<K, T>>) {
        let enough = trash.len() + most;
        for _ in 0..CHUNK {
            let Some(chunk) = self.dead.last_mut() else { return };
            if trash.len() == enough {
                return;
            }
            trash.extend(chunk.pop().flatten());
            if chunk.is_empty() {
                let chunk = self.dead.pop().expect("the chunk was just looked at");
                // As many as the live entries fill: a cache that is refilled after each flush allocates none.
                if self.spare.len() <= self.dead.len() + self.slots.len() / CHUNK {
                    self.spare.push(chunk);
                }
            }
        }
    }
}
