//! Flushing the cache, and getting rid of what was flushed.

use super::{
    Bag, FlushCache, Generation, Shard, Storage,
    slot::blur,
    store::{RECLAIM, Store},
    trash::Trash,
};
use crate::sync::{atomic::Ordering, read, try_write, write};

impl<K, V, S, H: Storage<V>> FlushCache<K, V, S, H> {
    /// The present generation.
    pub fn generation(&self) -> Generation {
        Generation(self.generation.0.load(Ordering::Acquire))
    }

    /// Empties the cache in one step; returns the generation that begins.
    ///
    /// What was in it is dropped by later writes, or by [`reclaim`](Self::reclaim).
    pub fn flush(&self) -> Generation {
        Generation(self.generation.0.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Empties the cache and returns what was in it, to be looked through or dropped where it suits.
    ///
    /// It takes each shard's lock once. An entry whose shard is written to in the moment between the flush and
    /// the visit is flushed and dropped like by [`flush`](Self::flush), but not returned.
    pub fn drain(&self) -> Bag<K, H::Stored> {
        let last = self.generation.0.fetch_add(1, Ordering::AcqRel);
        let mut bag = Bag::new();
        for shard in &self.shards {
            let mut store = write(&shard.0);
            let now = self.generation().0;
            if store.generation == last {
                bag.extend(store.retire(now, self.seed(now)));
            } else {
                store.rotate(now, self.seed(now));
            }
            self.settle(&mut store);
        }
        bag
    }

    /// Drops up to `most` dead entries, for a cache that is flushed and then not written to; returns how many.
    pub fn reclaim(&self, most: usize) -> usize {
        let mut dropped = 0;
        for shard in &self.shards {
            let mut clean = false;
            while dropped < most && !clean {
                let mut trash = Trash::new();
                {
                    let mut store = write(&shard.0);
                    let now = self.generation().0;
                    store.rotate(now, self.seed(now));
                    store.reclaim(RECLAIM.min(most - dropped), &mut trash);
                    self.settle(&mut store);
                    clean = store.is_clean();
                }
                dropped += trash.len();
            }
        }
        dropped
    }

    /// Drops the entries that have expired; returns how many. Reads do not find them in any case.
    pub fn remove_expired(&self) -> usize {
        let now_ns = self.clock.now_ns();
        let sweep = |shard: &Shard<K, H::Stored>| {
            let mut trash = Trash::new();
            write(&shard.0).expire(now_ns, &mut trash);
            trash.len()
        };
        self.shards.iter().map(sweep).sum()
    }

    /// Entries that are alive, expired ones among them. Exact when nobody writes; takes each shard's lock.
    pub fn len(&self) -> usize {
        self.sum(|store, now| if store.generation == now { store.len() } else { 0 })
    }

    /// Whether no entry is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Weight of the entries that are alive.
    pub fn weight(&self) -> u64 {
        self.shards
            .iter()
            .map(|shard| {
                let store = read(&shard.0);
                if store.generation == self.generation().0 { store.weight() } else { 0 }
            })
            .sum()
    }

    /// Entries that were flushed and not yet dropped.
    pub fn dead(&self) -> usize {
        self.sum(|store, now| store.dead() + if store.generation == now { 0 } else { store.len() })
    }

    /// Bytes of the cache's tables and the values in them; not what keys and values own elsewhere.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.shards)
            + self.sum(|store, _| store.bytes() + (store.len() + store.dead()) * H::ALLOCATION)
    }

    /// Drops all dead entries and gives back what memory the live ones do not need.
    ///
    /// Each shard is locked for as long as moving its entries takes.
    pub fn shrink(&self) {
        for shard in &self.shards {
            let dead = {
                let mut store = write(&shard.0);
                let now = self.generation().0;
                store.rotate(now, self.seed(now));
                let dead = store.shrink();
                self.settle(&mut store);
                dead
            };
            drop(dead);
        }
    }

    fn sum(&self, of: impl Fn(&Store<K, H::Stored>, u64) -> usize) -> usize {
        self.shards.iter().map(|shard| of(&read(&shard.0), self.generation().0)).sum()
    }

    pub(super) fn seed(&self, generation: u64) -> u64 {
        blur(generation, self.secret)
    }

    /// Counts a shard that has just become clean, once in each generation.
    pub(super) fn settle(&self, store: &mut Store<K, H::Stored>) {
        if !store.is_clean() || store.reported == store.generation {
            return;
        }
        store.reported = store.generation;
        let generation = store.generation << 16;
        let count = |clean: u64| match clean & !0xffff {
            counting if counting == generation => Some(clean + 1),
            counting if counting < generation => Some(generation | 1),
            _ => None,
        };
        // Relaxed: it only tells writers whether to look further, and they look under the lock.
        let _ = self.clean.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
    }

    /// Drops a few dead entries of the next shard, unless all shards are known to have none.
    pub(super) fn help(&self) {
        let all_clean = self.generation().0 << 16 | self.shards.len() as u64;
        if self.clean.0.load(Ordering::Relaxed) == all_clean {
            return;
        }
        let mut trash = Trash::new();
        let next = self.hand.fetch_add(1, Ordering::Relaxed) % self.shards.len();
        if let Some(mut store) = try_write(&self.shards[next].0) {
            let now = self.generation().0;
            store.rotate(now, self.seed(now));
            store.reclaim(RECLAIM, &mut trash);
            self.settle(&mut store);
        }
    }
}
