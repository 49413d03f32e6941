//! The maps that the route cache is held against, behind one small interface.

use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use parking_lot::RwLock;
use route_cache::FlushCache;
use route_cache::cache::{Inline, Shared};
use scc::HashIndex;

/// Shards of those maps whose number of shards is ours to choose: many, so that a stall of one is no stall of all.
const SHARDS: usize = 256;

/// 200 bytes, each in an allocation of its own.
#[derive(Debug)]
pub(crate) struct Payload([u64; 25]);

/// 32 bytes, in the table itself.
pub(crate) type Plain = [u64; 4];

/// A value made from its key, so that a look-up can be checked.
pub(crate) trait Value: Send + Sync + 'static {
    fn of(key: u64) -> Self;
    fn key(&self) -> u64;
}

impl Value for Payload {
    fn of(key: u64) -> Self {
        Self([key; 25])
    }

    fn key(&self) -> u64 {
        self.0[0]
    }
}

impl Value for Plain {
    fn of(key: u64) -> Self {
        [key; 4]
    }

    fn key(&self) -> u64 {
        self[0]
    }
}

impl<V: Value> Value for Arc<V> {
    fn of(key: u64) -> Self {
        Self::new(V::of(key))
    }

    fn key(&self) -> u64 {
        (**self).key()
    }
}

/// What every map can do. All hash alike.
pub(crate) trait Map: Send + Sync {
    fn with_room(entries: usize) -> Self;
    fn insert(&self, key: u64);
    /// The key that the found value was made from.
    fn read(&self, key: u64) -> Option<u64>;
    /// Empties the map, as its documentation says to.
    fn flush(&self);
    /// Drops what the flush put off, as far as it can be asked to.
    fn reclaim(&self) {}
    /// Flushed entries that the map knows it has not dropped.
    fn waiting(&self) -> usize {
        0
    }
}

/// Ours with values in allocations of their own.
pub(crate) type OwningCache = FlushCache<u64, Payload, DefaultHashBuilder, Shared>;

/// Ours with values in the table.
pub(crate) type PlainCache = FlushCache<u64, Plain, DefaultHashBuilder, Inline>;

impl Map for OwningCache {
    fn with_room(_entries: usize) -> Self {
        FlushCache::<u64, Payload>::builder().hasher(DefaultHashBuilder::default()).build()
    }

    fn insert(&self, key: u64) {
        drop(FlushCache::insert(self, key, Payload::of(key)));
    }

    fn read(&self, key: u64) -> Option<u64> {
        FlushCache::read(self, &key, Value::key)
    }

    fn flush(&self) {
        FlushCache::flush(self);
    }

    fn reclaim(&self) {
        FlushCache::reclaim(self, usize::MAX);
    }

    fn waiting(&self) -> usize {
        self.dead()
    }
}

impl Map for PlainCache {
    fn with_room(_entries: usize) -> Self {
        FlushCache::<u64, Plain>::builder().hasher(DefaultHashBuilder::default()).inline().build()
    }

    fn insert(&self, key: u64) {
        FlushCache::insert(self, key, Plain::of(key));
    }

    fn read(&self, key: u64) -> Option<u64> {
        FlushCache::read(self, &key, Value::key)
    }

    fn flush(&self) {
        FlushCache::flush(self);
    }

    fn reclaim(&self) {
        FlushCache::reclaim(self, usize::MAX);
    }

    fn waiting(&self) -> usize {
        self.dead()
    }
}

/// A plain table a shard, each under a lock.
pub(crate) struct Sharded<V> {
    shards: Box<[RwLock<hashbrown::HashMap<u64, V>>]>,
    hasher: DefaultHashBuilder,
}

impl<V> Sharded<V> {
    fn shard(&self, key: u64) -> &RwLock<hashbrown::HashMap<u64, V>> {
        // The high half: the table takes the low bits for the place and the topmost seven for its tags.
        &self.shards[(self.hasher.hash_one(key) >> 32) as usize % SHARDS]
    }
}

impl<V: Value> Map for Sharded<V> {
    fn with_room(entries: usize) -> Self {
        let hasher = DefaultHashBuilder::default();
        let table =
            |_| RwLock::new(hashbrown::HashMap::with_capacity_and_hasher(entries / SHARDS, hasher.clone()));
        Self { shards: (0..SHARDS).map(table).collect(), hasher: hasher.clone() }
    }

    fn insert(&self, key: u64) {
        let previous = self.shard(key).write().insert(key, V::of(key));
        drop(previous);
    }

    fn read(&self, key: u64) -> Option<u64> {
        self.shard(key).read().get(&key).map(V::key)
    }

    fn flush(&self) {
        self.shards.iter().for_each(|shard| shard.write().clear());
    }
}

impl<V: Value> Map for dashmap::DashMap<u64, V, DefaultHashBuilder> {
    fn with_room(entries: usize) -> Self {
        Self::with_capacity_and_hasher_and_shard_amount(entries, DefaultHashBuilder::default(), SHARDS)
    }

    fn insert(&self, key: u64) {
        drop(Self::insert(self, key, V::of(key)));
    }

    fn read(&self, key: u64) -> Option<u64> {
        self.get(&key).map(|found| V::key(found.value()))
    }

    fn flush(&self) {
        self.clear();
    }
}

impl<V: Value> Map for papaya::HashMap<u64, V, DefaultHashBuilder> {
    fn with_room(entries: usize) -> Self {
        Self::with_capacity_and_hasher(entries, DefaultHashBuilder::default())
    }

    fn insert(&self, key: u64) {
        self.pin().insert(key, V::of(key));
    }

    fn read(&self, key: u64) -> Option<u64> {
        self.pin().get(&key).map(V::key)
    }

    fn flush(&self) {
        self.pin().clear();
    }
}

impl<V: Value + Clone> Map for HashIndex<u64, V, DefaultHashBuilder> {
    fn with_room(entries: usize) -> Self {
        Self::with_capacity_and_hasher(entries, DefaultHashBuilder::default())
    }

    fn insert(&self, key: u64) {
        // An index does not replace: a key that is there stays as it is.
        drop(self.insert_sync(key, V::of(key)));
    }

    fn read(&self, key: u64) -> Option<u64> {
        self.peek_with(&key, |_, value| value.key())
    }

    fn flush(&self) {
        self.clear_sync();
    }
}
