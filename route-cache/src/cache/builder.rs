//! The settings of a cache.

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, hash::BuildHasher, marker::PhantomData, time::Duration};

use super::{DefaultHashBuilder, FlushCache, Inline, Shared, Storage, Store, Weigher, blur};
use crate::{
    source::Clock,
    sync::{
        Padded, RwLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize},
    },
};

/// Shards of a cache that does not say; more make for shorter waits and cost 256 bytes each.
const SHARDS: usize = 128;

/// Fewest entries that a shard of a bounded cache has room for, so that eviction has a choice.
const LEAST_ROOM: u64 = 32;

/// Builds a [`FlushCache`].
///
/// ```
/// use std::time::Duration;
/// use route_cache::FlushCache;
///
/// let plans: FlushCache<String, Vec<u8>> = FlushCache::builder()
///     .capacity(64 << 20)
///     .weigher(|text: &String, plan: &Vec<u8>| (text.len() + plan.len()) as u32)
///     .ttl(Duration::from_secs(60))
///     .build();
/// plans.insert("select 1".into(), vec![0; 100]);
/// assert_eq!(plans.weight(), 108);
/// ```
pub struct Builder<K, V, S = DefaultHashBuilder, H = Shared> {
    hasher: S,
    shards: Option<usize>,
    capacity: Option<u64>,
    ttl: Option<Duration>,
    weigher: Option<Box<Weigher<K, V>>>,
    clock: Box<dyn Clock + Send + Sync>,
    storage: PhantomData<fn() -> H>,
}

impl<K, V, S: BuildHasher> Builder<K, V, S> {
    /// A builder of a cache that hashes with `hasher`. Who sends the keys must not know its hashes.
    #[must_use]
    pub fn with_hasher(hasher: S) -> Self {
        #[cfg(feature = "std")]
        let clock = Box::new(crate::SystemClock::default());
        #[cfg(not(feature = "std"))]
        let clock = Box::new(|| 0);
        Self { hasher, shards: None, capacity: None, ttl: None, weigher: None, clock, storage: PhantomData }
    }
}

impl<K, V, S: BuildHasher, H: Storage<V>> Builder<K, V, S, H> {
    /// The same with another hasher.
    #[must_use]
    pub fn hasher<T: BuildHasher>(self, hasher: T) -> Builder<K, V, T, H> {
        let Self { hasher: _, shards, capacity, ttl, weigher, clock, storage } = self;
        Builder { hasher, shards, capacity, ttl, weigher, clock, storage }
    }

    /// The same with values kept in the table itself, see [`Inline`].
    #[must_use]
    pub fn inline(self) -> Builder<K, V, S, Inline>
    where
        V: Copy,
    {
        let Self { hasher, shards, capacity, ttl, weigher, clock, storage: _ } = self;
        Builder { hasher, shards, capacity, ttl, weigher, clock, storage: PhantomData }
    }

    /// Greatest weight of all entries; an entry weighs 1 unless there is a [`weigher`](Self::weigher).
    ///
    /// Each shard has an equal part of it, rounded up, and evicts when that is full: an entry that was not read
    /// since the last look goes first.
    #[must_use]
    pub fn capacity(mut self, weight: u64) -> Self {
        self.capacity = Some(weight);
        self
    }

    /// What an entry counts towards the capacity. It is asked once for each insertion.
    #[must_use]
    pub fn weigher(mut self, weigher: impl Fn(&K, &V) -> u32 + Send + Sync + 'static) -> Self {
        self.weigher = Some(Box::new(weigher));
        self
    }

    /// How long an entry may be read after it was inserted.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Number of shards, each with a lock of its own; rounded up to a power of two, at most 2^15.
    #[must_use]
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards.clamp(1, 1 << 15).next_power_of_two());
        self
    }

    /// The clock that times to live are measured by; without `std` the default one stands still.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The cache.
    #[must_use]
    pub fn build(self) -> FlushCache<K, V, S, H> {
        let Self { hasher, shards, capacity, ttl, weigher, clock, storage: _ } = self;
        let shards = shards.unwrap_or_else(|| match capacity {
            Some(entries) if weigher.is_none() => shards_for(entries),
            _ => SHARDS,
        });
        let secret = hasher.hash_one("route-cache");
        let store = || Padded(RwLock::new(Store::new(1, blur(0, secret))));
        FlushCache {
            shards: (0..shards).map(|_| store()).collect::<Vec<_>>().into(),
            generation: Padded(AtomicU64::new(0)),
            clean: Padded(AtomicU64::new(shards as u64)),
            hand: AtomicUsize::new(0),
            expiring: AtomicBool::new(ttl.is_some()),
            hasher,
            secret,
            shard_capacity: capacity.map_or(u64::MAX, |weight| weight.div_ceil(shards as u64)),
            ttl,
            weigher,
            clock,
        }
    }
}

/// As many shards as have room for enough entries each.
fn shards_for(entries: u64) -> usize {
    let shards = (entries / LEAST_ROOM).clamp(1, SHARDS as u64);
    1 << shards.ilog2()
}

impl<K, V, S, H> fmt::Debug for Builder<K, V, S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("shards", &self.shards)
            .field("capacity", &self.capacity)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}
