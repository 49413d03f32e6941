//! One shard: its entries, their buckets, and what the last flushes left to drop. Knows no lock and no clock.
//!
//! `T` is the stored form of a value: cloning it runs no user code.

use alloc::vec::Vec;

use super::{
    heads::{Heads, NONE},
    slab::{Chunk, Slab},
    slot::{Slot, blur},
    trash::Trash,
};

/// Dead entries that each write to a shard drops.
pub(super) const RECLAIM: usize = 4;

/// Longest chain; one more entry in it evicts its oldest. With a hash that spreads, no chain comes near.
pub(super) const CHAIN_LIMIT: usize = 64;

/// What an insertion goes by.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Greatest weight of the shard.
    pub(super) capacity: u64,
    /// The time; 0 if nothing expires.
    pub(super) now_ns: u64,
}

/// Where an entry is: its bucket, the slot before it in the chain, its own.
#[derive(Clone, Copy)]
struct Place {
    bucket: usize,
    before: u32,
    index: u32,
}

/// The entries of one generation, and the dead of earlier ones.
#[derive(Debug)]
pub(super) struct Store<K, T> {
    /// The generation of the live entries.
    pub(super) generation: u64,
    /// The last generation for which this shard reported that it has no dead left.
    pub(super) reported: u64,
    /// Blurs the hashes anew in every generation.
    seed: u64,
    heads: Heads,
    pub(super) slots: Slab<Slot<K, T>>,
    weight: u64,
    pub(super) hand: u32,
    pub(super) dead: Vec<Chunk<Slot<K, T>>>,
    /// Emptied chunks, to be used again.
    pub(super) spare: Vec<Chunk<Slot<K, T>>>,
}

impl<K, T> Store<K, T> {
    pub(super) fn new(buckets: usize, seed: u64) -> Self {
        Self {
            generation: 0,
            reported: 0,
            seed,
            heads: Heads::new(buckets),
            slots: Slab::default(),
            weight: 0,
            hand: 0,
            dead: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    /// Dead entries not dropped yet.
    pub(super) fn dead(&self) -> usize {
        self.dead.iter().flatten().flatten().count()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.dead.is_empty()
    }

    /// Bytes of the tables, the stored values in them.
    pub(super) fn bytes(&self) -> usize {
        let chunks = self.dead.iter().chain(&self.spare).map(Vec::capacity).sum::<usize>();
        self.heads.bytes() + self.slots.bytes() + chunks * size_of::<Option<Slot<K, T>>>()
    }

    /// Begins `generation`: all that lives is dead. The time does not depend on how much that is, but for
    /// emptying the buckets.
    pub(super) fn rotate(&mut self, generation: u64, seed: u64) {
        if self.generation != generation {
            let chunks = self.retire(generation, seed);
            self.dead.extend(chunks);
        }
    }

    /// The same, handing out what lived.
    pub(super) fn retire(&mut self, generation: u64, seed: u64) -> Vec<Chunk<Slot<K, T>>> {
        (self.generation, self.seed, self.weight, self.hand) = (generation, seed, 0, 0);
        if self.slots.len() > 0 {
            self.heads.clear();
        }
        self.slots.take()
    }

    /// The live entry of a key.
    pub(super) fn find(&self, hash: u64, same: impl Fn(&K) -> bool) -> Option<&Slot<K, T>> {
        self.slots.get(self.place(hash, same).0?.index)
    }

    /// Where the key is, and how long its chain.
    fn place(&self, hash: u64, same: impl Fn(&K) -> bool) -> (Option<Place>, usize) {
        let bucket = self.heads.bucket(blur(hash, self.seed));
        let (mut before, mut index, mut length) = (NONE, self.heads.first(bucket), 0);
        while let Some(slot) = self.slots.get(index) {
            if slot.hash == hash && same(&slot.key) {
                return (Some(Place { bucket, before, index }), length);
            }
            (before, index, length) = (index, slot.next, length + 1);
        }
        (None, length)
    }

    /// Removes the entry of a key.
    pub(super) fn remove(&mut self, hash: u64, same: impl Fn(&K) -> bool) -> Option<Slot<K, T>> {
        let place = self.place(hash, same).0?;
        self.unlink(place)
    }

    /// Puts `slot` in the place of the live entry of its key, or adds it; tells what was there before.
    ///
    /// With `keep` a live entry stays as it is, and so does `slot`. A `slot` heavier than `capacity` stays too,
    /// and the entry of its key goes. What leaves the shard is in the trash.
    pub(super) fn enter(
        &mut self,
        slot: &mut Option<Slot<K, T>>,
        keep: bool,
        Limits { capacity, now_ns }: Limits,
        trash: &mut Trash<Slot<K, T>>,
    ) -> Option<T>
    where
        K: Eq,
        T: Clone,
    {
        let new = slot.as_ref()?;
        // The only user code is the comparison of keys in here; nothing has changed if it panics.
        let (place, length) = self.place(new.hash, |other| new.key == *other);
        let mut old = None;
        if let Some(place) = place {
            let there = self.slots.get_mut(place.index)?;
            if now_ns < there.expires_ns {
                old = Some(there.value.clone());
                if keep {
                    there.touch();
                    return old;
                }
            }
            if new.weight <= there.weight && u64::from(new.weight) <= capacity {
                self.weight -= u64::from(there.weight - new.weight);
                let mut new = slot.take()?;
                new.next = there.next;
                trash.push(core::mem::replace(there, new));
                return old;
            }
            trash.extend(self.unlink(place));
        }
        if let Some(new) = slot.take_if(|new| u64::from(new.weight) <= capacity) {
            self.make_room(&new, length, Limits { capacity, now_ns }, trash);
            self.link(new);
        }
        old
    }

    fn make_room(&mut self, new: &Slot<K, T>, length: usize, limits: Limits, trash: &mut Trash<Slot<K, T>>) {
        if length >= CHAIN_LIMIT {
            trash.extend(self.last_of_chain(new.hash).and_then(|oldest| self.unlink(oldest)));
        }
        while self.weight + u64::from(new.weight) > limits.capacity {
            let Some(evicted) = self.evict(limits.now_ns) else { break };
            trash.push(evicted);
        }
        if self.slots.len() >= self.heads.len() {
            self.split();
        }
    }

    fn link(&mut self, mut slot: Slot<K, T>) {
        let bucket = self.heads.bucket(blur(slot.hash, self.seed));
        slot.next = self.heads.first(bucket);
        self.weight += u64::from(slot.weight);
        let index = self.slots.insert(slot, &mut self.spare);
        self.heads.set_first(bucket, index);
    }

    /// Gives back memory: spare chunks, holes among the slots, and buckets for entries that are gone.
    ///
    /// The time is that of moving all entries.
    pub(super) fn shrink(&mut self) -> Vec<Chunk<Slot<K, T>>> {
        let mut slots = Slab::default();
        let mut none = Vec::new();
        self.heads = Heads::new(self.slots.len());
        for mut slot in self.slots.take().into_iter().flatten().flatten() {
            let bucket = self.heads.bucket(blur(slot.hash, self.seed));
            slot.next = self.heads.first(bucket);
            let index = slots.insert(slot, &mut none);
            self.heads.set_first(bucket, index);
        }
        (self.slots, self.hand, self.spare) = (slots, 0, Vec::new());
        core::mem::take(&mut self.dead)
    }

    /// One bucket more.
    fn split(&mut self) {
        let from = self.heads.grow();
        let mut index = self.heads.first(from);
        self.heads.set_first(from, NONE);
        // Turned over twice, the order of a chain stays: its oldest entry last.
        let mut reversed = NONE;
        while let Some(slot) = self.slots.get_mut(index) {
            (slot.next, reversed, index) = (reversed, index, slot.next);
        }
        while let Some(slot) = self.slots.get_mut(reversed) {
            let (here, next) = (reversed, slot.next);
            let bucket = self.heads.bucket(blur(slot.hash, self.seed));
            slot.next = self.heads.first(bucket);
            self.heads.set_first(bucket, here);
            reversed = next;
        }
    }

    pub(super) fn unlink_index(&mut self, index: u32) -> Option<Slot<K, T>> {
        let bucket = self.heads.bucket(blur(self.slots.get(index)?.hash, self.seed));
        let (mut before, mut at) = (NONE, self.heads.first(bucket));
        while at != index {
            (before, at) = (at, self.slots.get(at)?.next);
        }
        self.unlink(Place { bucket, before, index })
    }

    fn last_of_chain(&self, hash: u64) -> Option<Place> {
        let bucket = self.heads.bucket(blur(hash, self.seed));
        let (mut before, mut index) = (NONE, self.heads.first(bucket));
        loop {
            let next = self.slots.get(index)?.next;
            if next == NONE {
                return Some(Place { bucket, before, index });
            }
            (before, index) = (index, next);
        }
    }

    fn unlink(&mut self, Place { bucket, before, index }: Place) -> Option<Slot<K, T>> {
        let slot = self.slots.remove(index)?;
        match self.slots.get_mut(before) {
            Some(before) => before.next = slot.next,
            None => self.heads.set_first(bucket, slot.next),
        }
        self.weight -= u64::from(slot.weight);
        Some(slot)
    }
}
