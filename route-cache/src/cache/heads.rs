//! The buckets of a shard, one more at a time (linear hashing, Litwin 1980).
//!
//! A table that doubles makes one writer rehash everything while readers wait. Here each growth step splits one
//! bucket in two, so that none takes longer than a chain is long.

use alloc::{vec, vec::Vec};

/// The end of a chain, and an empty bucket.
pub(super) const NONE: u32 = u32::MAX;

/// The first slot of each bucket's chain.
#[derive(Debug)]
pub(super) struct Heads(Vec<u32>);

impl Heads {
    pub(super) fn new(buckets: usize) -> Self {
        Self(vec![NONE; buckets.max(1)])
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(NONE);
    }

    /// The bucket of a hash: its low bits, one fewer where the bucket they name does not exist yet.
    pub(super) fn bucket(&self, hash: u64) -> usize {
        let mask = self.0.len().next_power_of_two() - 1;
        let bucket = hash as usize & mask;
        if bucket < self.0.len() { bucket } else { bucket & (mask >> 1) }
    }

    pub(super) fn first(&self, bucket: usize) -> u32 {
        self.0[bucket]
    }

    pub(super) fn set_first(&mut self, bucket: usize, slot: u32) {
        self.0[bucket] = slot;
    }

    /// Adds an empty bucket; returns the one whose entries now belong to either.
    pub(super) fn grow(&mut self) -> usize {
        self.0.push(NONE);
        let last = self.0.len() - 1;
        // Without its highest bit.
        last & !(1 << last.ilog2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_moves_hashes_only_from_the_bucket_it_names() {
        let mut heads = Heads::new(1);
        for _ in 0..130 {
            let before: Vec<_> = (0..1_000).map(|hash| heads.bucket(hash)).collect();
            let split = heads.grow();
            for (hash, &old) in before.iter().enumerate() {
                let new = heads.bucket(hash as u64);
                assert!(new == old || (old == split && new == heads.len() - 1), "{hash}: {old} -> {new}");
            }
        }
    }

    #[test]
    fn every_bucket_is_reached_and_none_by_more_than_twice_its_share() {
        for buckets in 1..70 {
            let heads = Heads::new(buckets);
            let mut hits = vec![0; buckets];
            (0..1 << 12).for_each(|hash| hits[heads.bucket(hash)] += 1);
            let share = (1_usize << 12).div_ceil(buckets);
            assert!(hits.iter().all(|&hits| hits > 0 && hits <= 2 * share), "{buckets}: {hits:?}");
        }
    }
}
