//! Which lock guards which bucket, and the inverse.
//!
//! Bucket `slot` belongs to lock `slot mod locks`: neighbours have different locks, and the buckets of one lock
//! lie `locks` apart. The k-th bucket of a lock is therefore `lock + k * locks`, and k is `slot / locks`. Both
//! numbers are powers of two.

/// Lock counts by the CPUs a kernel was built for (May 2007, `net/ipv4/route.c`).
#[must_use]
pub const fn locks_for_cpus(cpus: usize) -> usize {
    match cpus {
        32.. => 4096,
        16.. => 2048,
        8.. => 1024,
        4.. => 512,
        _ => 256,
    }
}

/// Numbers of buckets and locks, both powers of two.
///
/// ```
/// use route_cache::Geometry;
///
/// let geometry = Geometry::new(16_384, 512);
/// assert_eq!(geometry.place(1_000), (488, 1));
/// assert_eq!(geometry.slot(488, 1), Some(1_000));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Geometry {
    buckets: usize,
    locks: usize,
}

impl Geometry {
    /// `buckets` buckets guarded by `locks` locks.
    ///
    /// More locks than buckets is allowed, as it was in the kernel: the surplus locks guard nothing, and a plan
    /// that visits locks still takes them.
    ///
    /// # Panics
    ///
    /// If either is not a power of two, or there are more than 2^31 buckets.
    #[must_use]
    pub const fn new(buckets: usize, locks: usize) -> Self {
        assert!(buckets.is_power_of_two(), "the number of buckets is not a power of two");
        assert!(locks.is_power_of_two(), "the number of locks is not a power of two");
        assert!(buckets <= 1 << 31, "a 32-bit hash cannot choose among more than 2^31 buckets");
        Self { buckets, locks }
    }

    /// Number of buckets.
    #[must_use]
    pub const fn buckets(self) -> usize {
        self.buckets
    }

    /// Number of locks.
    #[must_use]
    pub const fn locks(self) -> usize {
        self.locks
    }

    /// The bucket of a hash.
    #[must_use]
    pub const fn bucket(self, hash: u32) -> usize {
        hash as usize & (self.buckets - 1)
    }

    /// How many buckets the busiest lock guards: at least 1.
    #[must_use]
    pub const fn slots_per_lock(self) -> usize {
        if self.buckets < self.locks { 1 } else { self.buckets / self.locks }
    }

    /// How many buckets `lock` guards: 0 for a surplus lock.
    #[must_use]
    pub const fn slots_of(self, lock: usize) -> usize {
        if lock < self.buckets && lock < self.locks { self.slots_per_lock() } else { 0 }
    }

    /// The lock of a bucket, and the bucket's index among those of its lock.
    ///
    /// The index is what the flush array of May 2007 needs; the sketch in the mail used `slot % slots_per_lock`,
    /// which is the same number for all buckets of a lock wherever the locks outnumber the buckets of one.
    #[must_use]
    pub const fn place(self, slot: usize) -> (usize, usize) {
        (slot & (self.locks - 1), slot / self.locks)
    }

    /// The inverse of [`place`](Self::place); `None` where `lock` guards no such bucket.
    #[must_use]
    pub const fn slot(self, lock: usize, index: usize) -> Option<usize> {
        if index < self.slots_of(lock) { Some(lock + index * self.locks) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_and_slot_are_inverse_and_every_bucket_has_one_place() {
        for (buckets, locks) in [(1, 1), (1, 8), (8, 1), (16, 4), (64, 64), (64, 256), (1024, 512)] {
            let geometry = Geometry::new(buckets, locks);
            let mut seen = alloc::vec![0; buckets];
            for lock in 0..locks {
                for index in 0..geometry.slots_of(lock) {
                    let slot = geometry.slot(lock, index).unwrap();
                    assert_eq!(geometry.place(slot), (lock, index));
                    assert_eq!(slot % locks, lock);
                    seen[slot] += 1;
                }
                assert_eq!(geometry.slot(lock, geometry.slots_of(lock)), None);
            }
            assert!(seen.iter().all(|&times| times == 1), "{buckets}/{locks}: {seen:?}");
        }
    }

    #[test]
    fn locks_follow_the_cpus_a_kernel_was_built_for() {
        let table = [
            (1, 256),
            (3, 256),
            (4, 512),
            (7, 512),
            (8, 1024),
            (16, 2048),
            (31, 2048),
            (32, 4096),
            (255, 4096),
        ];
        for (cpus, locks) in table {
            assert_eq!(locks_for_cpus(cpus), locks, "{cpus} CPUs");
        }
    }

    #[test]
    #[should_panic(expected = "power of two")]
    fn three_buckets_are_refused() {
        let _ = Geometry::new(3, 1);
    }
}
