//! The route cache's settings, with the defaults of May 2007.

/// Settings of a [`RouteTable`](crate::RouteTable). Times are milliseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tunables {
    /// Entries above which an insertion first collects garbage.
    pub gc_thresh: usize,
    /// Entries above which an insertion that could not collect enough fails.
    pub max_size: usize,
    /// Age after which an unused entry may go.
    pub gc_timeout_ms: u64,
    /// Time between two rounds of expiry; a round visits `gc_interval / gc_timeout` of the table.
    pub gc_interval_ms: u64,
    /// Shortest time between two collections, unless the table is full.
    pub gc_min_interval_ms: u64,
    /// Chain length above which an insertion evicts the least valuable entry of its chain.
    pub gc_elasticity: usize,
    /// Delay of a flush that was asked for "soon".
    pub min_delay_ms: u64,
    /// Longest time that further requests can put a waiting flush off.
    pub max_delay_ms: u64,
    /// Time between two changes of the random value.
    pub secret_interval_ms: u64,
    /// Stale entries above which [`FlushPlan::Generation`](crate::FlushPlan::Generation) walks after all.
    ///
    /// No such bound existed upstream; without it a table that is flushed often and used little keeps dead
    /// entries until the garbage collector comes by.
    pub max_stale: usize,
    /// What becomes of unlinked entries.
    pub freeing: Freeing,
}

/// When unlinked entries are freed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Freeing {
    /// By the thread that unlinked them, before it returns.
    Immediate,
    /// Later, by [`RouteTable::reclaim`](crate::RouteTable::reclaim).
    ///
    /// The kernel's `rt_free` did the like: it queued the entry for the end of the RCU grace period. When more
    /// than `backlog` entries wait, the thread that added to them frees the oldest until they are `backlog`.
    Deferred {
        /// Most entries that may wait.
        backlog: usize,
    },
}

impl Tunables {
    /// The defaults for a table of `buckets` buckets.
    #[must_use]
    pub const fn for_buckets(buckets: usize) -> Self {
        Self {
            gc_thresh: buckets,
            max_size: buckets.saturating_mul(16),
            gc_timeout_ms: 300_000,
            gc_interval_ms: 60_000,
            gc_min_interval_ms: 500,
            gc_elasticity: 8,
            min_delay_ms: 2_000,
            max_delay_ms: 10_000,
            secret_interval_ms: 600_000,
            max_stale: buckets.saturating_mul(16),
            freeing: Freeing::Immediate,
        }
    }
}

/// Buckets that a machine of `pages` pages of 4 KiB was given at boot, each bucket a pointer of `pointer_bytes`.
///
/// One bucket for every 32 KiB of memory from 512 MiB on (scale 15), for every 128 KiB below (scale 17), as a
/// power of two, and no more than a sixteenth of memory in all. A model of `alloc_large_system_hash`.
#[must_use]
pub const fn buckets_for_memory(pages: u64, pointer_bytes: u64) -> u64 {
    let scale = if pages >= 128 * 1024 { 15 } else { 17 };
    let wanted = (pages << 12 >> scale).next_power_of_two();
    let most = (pages << 12 >> 4) / pointer_bytes;
    if wanted <= most || most == 0 { wanted } else { 1 << most.ilog2() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_mail_s_kernel() {
        let tunables = Tunables::for_buckets(16_384);
        assert_eq!((tunables.gc_thresh, tunables.max_size), (16_384, 262_144));
        assert_eq!((tunables.gc_timeout_ms, tunables.gc_interval_ms), (300_000, 60_000));
        assert_eq!((tunables.gc_min_interval_ms, tunables.gc_elasticity), (500, 8));
        assert_eq!((tunables.min_delay_ms, tunables.max_delay_ms), (2_000, 10_000));
        assert_eq!(tunables.secret_interval_ms, 600_000);
    }

    #[test]
    fn memory_chooses_the_buckets() {
        // 256 MiB at one bucket a 128 KiB; 512 MiB, the mail's 16 K, at one a 32 KiB; 4 GiB.
        assert_eq!(buckets_for_memory(65_536, 4), 2_048);
        assert_eq!(buckets_for_memory(131_072, 4), 16_384);
        assert_eq!(buckets_for_memory(1_048_576, 8), 131_072);
    }
}
