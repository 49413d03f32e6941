//! A cache for any keys and values that is emptied in one step.

mod bag;
mod builder;
mod flushing;
mod heads;
mod leave;
mod slab;
mod slot;
mod storage;
mod store;
mod trash;

use alloc::boxed::Box;
use core::{
    borrow::Borrow,
    convert::Infallible,
    fmt,
    hash::{BuildHasher, Hash},
    time::Duration,
};

pub use self::{
    bag::{Bag, IntoIter},
    builder::Builder,
    storage::{Inline, Shared, Storage},
};
use self::{
    slot::{NEVER, Slot, blur},
    store::{Limits, RECLAIM, Store},
    trash::Trash,
};
use crate::{
    source::Clock,
    sync::{
        Padded, RwLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        read, write,
    },
};

/// The hasher of a cache that names none: the standard library's, keyed at random.
#[cfg(feature = "std")]
pub type DefaultHashBuilder = std::hash::RandomState;

/// There is no source of random keys without `std`: name a hasher.
#[cfg(not(feature = "std"))]
#[derive(Clone, Copy, Debug)]
pub enum DefaultHashBuilder {}

/// The time between two flushes, as a token: what was worked out in one generation may be inserted only in it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Generation(u64);

/// The cache was flushed after the generation that was named; nothing was inserted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flushed;

impl fmt::Display for Flushed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cache was flushed meanwhile; compute the value anew")
    }
}

impl core::error::Error for Flushed {}

/// A concurrent cache whose flush costs the same however much it holds.
///
/// Values are [`Shared`] by default: each in an [`Arc`](alloc::sync::Arc) that reads hold while they last. Small
/// plain values are better kept [`Inline`], see [`Builder::inline`].
///
/// # Flushing
///
/// [`flush`](Self::flush) counts up a generation; entries of earlier ones are not found from then on. Their
/// memory is given back by the writes that follow: each drops up to 4 dead entries of the shard it writes to
/// and, while any are left, up to 4 of another shard. So
///
/// * a shard's dead never outnumber the most it ever held alive, however often the cache is flushed, and
/// * with d dead in the shard that has most, places of removed entries counted, all are gone after
///   `shards * (d / 4 + 1)` writes that find the other shard unlocked, or at once by [`reclaim`](Self::reclaim).
///
/// # What concurrent users may rely on
///
/// * A read that begins after a flush returned finds nothing from before it. A read that overlaps it finds the
///   old value or nothing.
/// * A value that was computed from what is now invalid does not slip in after the flush, if it is inserted by
///   [`get_or_insert_with`](Self::get_or_insert_with), [`read_or_insert_with`](Self::read_or_insert_with) or
///   [`insert_in`](Self::insert_in), which name the generation they began in. Plain
///   [`insert`](Self::insert) cannot know what its value came from.
/// * An insertion is found by the reads that begin after it, until it is replaced, removed, evicted, expired or
///   flushed.
/// * Closures, weighers, clocks, hashers and the destructors of keys and values run without a lock: they may use
///   the cache, take their time, and panic. Only `Eq` and `Borrow` of keys run under a shard's lock; they may
///   panic but not use the cache.
///
/// ```
/// use route_cache::FlushCache;
///
/// let permissions = FlushCache::new();
/// permissions.insert(("alice", "/etc"), false);
/// assert_eq!(permissions.read(&("alice", "/etc"), |allowed| *allowed), Some(false));
///
/// permissions.flush(); // somebody changed a rule
/// let allowed = permissions.get_or_insert_with(("alice", "/etc"), || true);
/// assert!(allowed);
/// ```
///
/// No reference to a value outlives the closure that reads it:
///
/// ```compile_fail
/// let cache = route_cache::FlushCache::new();
/// cache.insert(1, String::from("one"));
/// let escaped: Option<&str> = cache.read(&1, |value| value.as_str());
/// ```
pub struct FlushCache<K, V, S = DefaultHashBuilder, H: Storage<V> = Shared> {
    shards: Box<[Shard<K, H::Stored>]>,
    generation: Padded<AtomicU64>,
    /// How many shards reported for which generation that they hold no dead: `generation << 16 | shards`.
    clean: Padded<AtomicU64>,
    /// The shard that the next write helps.
    hand: AtomicUsize,
    /// Something expires, so that writes must ask for the time.
    expiring: AtomicBool,
    hasher: S,
    secret: u64,
    /// Greatest weight of a shard.
    shard_capacity: u64,
    ttl: Option<Duration>,
    weigher: Option<Box<Weigher<K, V>>>,
    clock: Box<dyn Clock + Send + Sync>,
}

/// A lock on lines of its own, and what it guards.
type Shard<K, T> = Padded<RwLock<Store<K, T>>>;

/// What one entry counts towards the capacity.
type Weigher<K, V> = dyn Fn(&K, &V) -> u32 + Send + Sync;

/// An insertion, before it has found its place.
struct Entry<K, T> {
    key: K,
    value: T,
    /// The generation it must happen in.
    generation: Option<Generation>,
    ttl: Option<Duration>,
    weight: u32,
    /// Leave a live value of the key as it is.
    keep: bool,
}

#[cfg(feature = "std")]
impl<K, V> FlushCache<K, V> {
    /// A cache without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A cache that evicts when it holds more than about `entries`, see [`Builder::capacity`].
    #[must_use]
    pub fn with_capacity(entries: u64) -> Self {
        Self::builder().capacity(entries).build()
    }

    /// A cache with settings.
    #[must_use]
    pub fn builder() -> Builder<K, V> {
        Builder::with_hasher(DefaultHashBuilder::new())
    }
}

impl<K, V, S: Default + BuildHasher> Default for FlushCache<K, V, S> {
    fn default() -> Self {
        Builder::with_hasher(S::default()).build()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher, H: Storage<V>> FlushCache<K, V, S, H> {
    /// Lets `f` read the value of a key.
    ///
    /// `f` runs without a lock; the value stays valid for it whatever happens to the entry.
    pub fn read<Q, R>(&self, key: &Q, f: impl FnOnce(&V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.find(key).map(|stored| f(H::value(&stored)))
    }

    /// A clone of the value of a key.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
        V: Clone,
    {
        self.read(key, V::clone)
    }

    /// Whether there is a value for a key.
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.find(key).is_some()
    }

    /// Inserts a value, or replaces the one that is there and returns that.
    ///
    /// A value heavier than a shard may be is not kept, nor is the one it should have replaced.
    pub fn insert(&self, key: K, value: V) -> Option<H::Stored> {
        self.replace(None, key, value, self.ttl).unwrap_or_default()
    }

    /// Inserts a value that expires after `ttl`.
    pub fn insert_with_ttl(&self, key: K, value: V, ttl: Duration) -> Option<H::Stored> {
        self.replace(None, key, value, Some(ttl)).unwrap_or_default()
    }

    /// Inserts a value that was worked out in `generation`.
    ///
    /// # Errors
    ///
    /// [`Flushed`] if the cache was flushed since; the value is dropped.
    pub fn insert_in(&self, generation: Generation, key: K, value: V) -> Result<Option<H::Stored>, Flushed> {
        self.replace(Some(generation), key, value, self.ttl)
    }

    /// Removes a value and returns it.
    pub fn remove<Q>(&self, key: &Q) -> Option<H::Stored>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let (hash, shard) = self.place(key);
        let slot = {
            let mut store = write(shard);
            if store.generation != self.generation().0 {
                return None;
            }
            store.remove(hash, |other| other.borrow() == key)
        }?;
        self.is_fresh(slot.expires_ns).then(|| slot.value.clone())
    }

    /// Lets `f` read the value of a key, made by `make` if there is none.
    ///
    /// `make` runs without a lock, so two threads may run it for one key; the first to finish has its value kept
    /// and both read that. If the cache is flushed while `make` runs, its value is read and not kept.
    pub fn read_or_insert_with<R>(&self, key: K, make: impl FnOnce() -> V, f: impl FnOnce(&V) -> R) -> R {
        match self.try_read_or_insert_with::<R, Infallible>(key, || Ok(make()), f) {
            Ok(result) => result,
            Err(never) => match never {},
        }
    }

    /// The same with a `make` that can fail; a failure is not cached.
    ///
    /// # Errors
    ///
    /// Whatever `make` returns.
    pub fn try_read_or_insert_with<R, E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
        f: impl FnOnce(&V) -> R,
    ) -> Result<R, E> {
        // Before the look, so that whatever `make` goes by is no older than the generation.
        let generation = self.generation();
        if let Some(stored) = self.find(&key) {
            return Ok(f(H::value(&stored)));
        }
        let value = make()?;
        let weight = self.weigh(&key, &value);
        let made = H::store(value);
        let (generation, ttl) = (Some(generation), self.ttl);
        let entry = Entry { key, value: made.clone(), generation, ttl, weight, keep: true };
        // After a flush what was made is still the answer to a question that was asked before it.
        let stored = self.enter(entry).ok().flatten().unwrap_or(made);
        Ok(f(H::value(&stored)))
    }

    /// A clone of the value of a key, made by `make` if there is none.
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> V
    where
        V: Clone,
    {
        self.read_or_insert_with(key, make, V::clone)
    }

    fn find<Q>(&self, key: &Q) -> Option<H::Stored>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let (hash, shard) = self.place(key);
        let (value, expires_ns) = {
            let store = read(shard);
            if store.generation != self.generation().0 {
                return None;
            }
            let slot = store.find(hash, |other| other.borrow() == key)?;
            slot.touch();
            (slot.value.clone(), slot.expires_ns)
        };
        self.is_fresh(expires_ns).then_some(value)
    }

    fn is_fresh(&self, expires_ns: u64) -> bool {
        expires_ns == NEVER || self.clock.now_ns() < expires_ns
    }

    fn replace(
        &self,
        generation: Option<Generation>,
        key: K,
        value: V,
        ttl: Option<Duration>,
    ) -> Result<Option<H::Stored>, Flushed> {
        let weight = self.weigh(&key, &value);
        self.enter(Entry { key, value: H::store(value), generation, ttl, weight, keep: false })
    }

    fn weigh(&self, key: &K, value: &V) -> u32 {
        self.weigher.as_ref().map_or(1, |weigh| weigh(key, value))
    }

    /// Inserts; returns the live value that was there, which with `keep` still is.
    fn enter(&self, entry: Entry<K, H::Stored>) -> Result<Option<H::Stored>, Flushed> {
        let Entry { key, value, generation, ttl, weight, keep } = entry;
        let (expires_ns, limits) = self.limits(ttl);
        let (hash, shard) = self.place(&key);
        // Before the guard, to be dropped after it, also when a comparison of keys panics.
        let mut trash = Trash::new();
        let mut slot = Some(Slot::new(hash, weight, expires_ns, key, value));
        let old = {
            let mut store = write(shard);
            let now = self.generation();
            store.rotate(now.0, self.seed(now.0));
            if generation.is_some_and(|generation| generation != now) {
                return Err(Flushed);
            }
            let old = store.enter(&mut slot, keep, limits, &mut trash);
            store.reclaim(RECLAIM, &mut trash);
            self.settle(&mut store);
            old
        };
        drop((slot, trash));
        self.help();
        Ok(old)
    }

    /// When an entry expires, and what its insertion goes by.
    fn limits(&self, ttl: Option<Duration>) -> (u64, Limits) {
        if ttl.is_some() && !self.expiring.load(Ordering::Relaxed) {
            self.expiring.store(true, Ordering::Relaxed);
        }
        let now_ns = if self.expiring.load(Ordering::Relaxed) { self.clock.now_ns() } else { 0 };
        let expires_ns = ttl.map_or(NEVER, |ttl| {
            now_ns.saturating_add(u64::try_from(ttl.as_nanos()).unwrap_or(NEVER)).min(NEVER - 1)
        });
        (expires_ns, Limits { capacity: self.shard_capacity, now_ns })
    }

    /// The hash of a key and its shard.
    fn place<Q: Hash + ?Sized>(&self, key: &Q) -> (u64, &RwLock<Store<K, H::Stored>>) {
        let hash = self.hasher.hash_one(key);
        let shard = blur(hash, self.secret) as usize & (self.shards.len() - 1);
        (hash, &self.shards[shard].0)
    }
}

impl<K, V, S, H: Storage<V>> fmt::Debug for FlushCache<K, V, S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlushCache")
            .field("len", &self.len())
            .field("dead", &self.dead())
            .field("generation", &self.generation().0)
            .field("shards", &self.shards.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
