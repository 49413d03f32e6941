//! The routing cache of 2007: buckets with chains, striped locks, a hash that every flush renews.

mod chain;
mod epoch;
mod garbage;
mod limbo;
mod locking;
mod route;
mod stripes;
mod timer;

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::fmt;

use self::{
    chain::{Body, Entry, entry_bytes},
    epoch::Epoch,
    garbage::GcState,
    limbo::Limbo,
    timer::FlushTimer,
};
pub(crate) use self::{
    chain::{Chain, ChainList, Dead},
    stripes::{Stripe, Stripes},
};
pub use self::{
    garbage::Overflow,
    locking::{Locking, Smp, Up},
    route::{RouteKey, Traits},
    timer::Delay,
};
use crate::{
    geometry::Geometry,
    jhash::rt_hash_2words,
    source::{Clock, RandomSource},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence},
    tunables::{Freeing, Tunables},
};

/// A routing cache as Linux had it in May 2007, flushable by any [`FlushPlan`](crate::FlushPlan).
///
/// Values are shared: a lookup hands out an [`Arc`], and an entry whose value somebody holds is "referenced",
/// which keeps it from eviction and garbage collection but not from a flush.
///
/// # What is as it was
///
/// The hash and its random value, the chains and their order, the striped locks, eviction by score, expiry,
/// garbage collection and the timing of flushes. An expired route is found until expiry or collection comes by.
///
/// # What is not
///
/// * In 2007 an insertion that had computed its hash before a flush could add its entry to a bucket which the
///   flush had already visited. The entry survived, in a bucket where nobody would look for it. Here an insertion
///   compares the table's epoch once it holds the lock, and hashes anew if there was a flush.
/// * Entries carry the epoch of their insertion, and only those of the present one are found: a flush takes
///   effect at one instant, with every plan, however long its walk takes.
/// * Evicted entries and duplicates are freed after the lock is released.
/// * The buckets of a lock lie together in memory; in the kernel all lay in slot order. The kernel's lookups took
///   no lock (RCU); these take the bucket's.
///
/// ```
/// use route_cache::{FlushPlan, Geometry, RouteKey, RouteTable, Smp, Traits};
///
/// let table: RouteTable<&str, Smp> = RouteTable::new(Geometry::new(1024, 256));
/// let key = RouteKey::output([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
/// table.intern(key, "by eth0", Traits::default())?;
/// assert_eq!(*table.lookup(&key).unwrap(), "by eth0");
///
/// let report = table.flush(FlushPlan::PerLock);
/// assert_eq!((report.entries, report.locks), (1, 256));
/// assert!(table.lookup(&key).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RouteTable<V, L: Locking = Smp> {
    pub(crate) geometry: Geometry,
    pub(crate) tunables: Tunables,
    epoch: AtomicU64,
    /// Only one half is in use; a flush by sequence number switches to the other.
    halves: [Stripes<V, L>; 2],
    /// Linked entries, stale ones among them.
    entries: AtomicUsize,
    gc: L::Lock<GcState>,
    timer: L::Lock<FlushTimer>,
    limbo: L::Lock<Limbo<V>>,
    /// Miller's array of chains, and the lock around the whole flush that protects it.
    pub(crate) flush_array: L::Lock<Vec<Chain<V>>>,
    clock: Box<dyn Clock + Send + Sync>,
    random: Box<dyn RandomSource + Send + Sync>,
}

/// The table is at its maximal size and nothing in it could be freed; the value comes back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Full<V>(pub Arc<V>);

impl<V> fmt::Display for Full<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the routing cache is full of entries in use; raise `max_size` or release some")
    }
}

impl<V: fmt::Debug> core::error::Error for Full<V> {}

#[cfg(feature = "std")]
impl<V> RouteTable<V, Smp> {
    /// An empty table with the default settings, the system's clock and the standard library's random keys.
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        let tunables = Tunables::for_buckets(geometry.buckets());
        let (clock, random) = (crate::SystemClock::default(), crate::HasherRandom::default());
        Self::with(geometry, tunables, clock, random)
    }
}

impl<V> RouteTable<V, Up> {
    /// An empty table without locks.
    ///
    /// # Panics
    ///
    /// If `buckets` is not a power of two.
    #[must_use]
    pub fn uniprocessor(
        buckets: usize,
        tunables: Tunables,
        clock: impl Clock + Send + Sync + 'static,
        random: impl RandomSource + Send + Sync + 'static,
    ) -> Self {
        Self::with(Geometry::new(buckets, 1), tunables, clock, random)
    }
}

impl<V, L: Locking> RouteTable<V, L> {
    /// An empty table.
    pub fn with(
        geometry: Geometry,
        tunables: Tunables,
        clock: impl Clock + Send + Sync + 'static,
        random: impl RandomSource + Send + Sync + 'static,
    ) -> Self {
        Self {
            geometry,
            tunables,
            epoch: AtomicU64::new(Epoch::first(random.next_u32()).0),
            halves: [Stripes::new(geometry), Stripes::new(geometry)],
            entries: AtomicUsize::new(0),
            gc: L::new(GcState::new(&tunables)),
            timer: L::new(FlushTimer::new(clock.now_ns() / 1_000_000 + tunables.secret_interval_ms)),
            limbo: L::new(Limbo::default()),
            flush_array: L::new(Vec::new()),
            clock: Box::new(clock),
            random: Box::new(random),
        }
    }

    /// Numbers of buckets and locks.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Entries in memory: those that can be found, and stale ones not yet unlinked.
    pub fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Whether there are no entries in memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unlinked entries that wait to be freed, see [`Freeing::Deferred`].
    pub fn backlog(&self) -> usize {
        L::lock(&self.limbo).len()
    }

    /// The bucket in which `key` is at present.
    pub fn bucket_of(&self, key: &RouteKey) -> usize {
        self.bucket_in(self.epoch(), key)
    }

    /// Bytes of one entry, with the link of [`FlushPlan::Linked`](crate::FlushPlan::Linked) and without.
    ///
    /// The value and its two counts are a separate allocation and not included.
    #[must_use]
    pub const fn entry_bytes() -> (usize, usize) {
        entry_bytes::<V>()
    }

    /// Length of the longest chain, stale entries included; takes every lock once.
    pub fn longest_chain(&self) -> usize {
        let of = |lock| {
            let chains = self.stripes(self.epoch()).get(lock).lock();
            chains.chains.iter().map(|chain| chain.iter().count()).max().unwrap_or(0)
        };
        (0..self.geometry.locks()).map(of).max().unwrap_or(0)
    }

    /// The route for `key`, and notes its use.
    pub fn lookup(&self, key: &RouteKey) -> Option<Arc<V>> {
        let now_ms = self.now_ms();
        let epoch = self.epoch();
        let (stripe, index) = self.place(epoch, key);
        let mut chains = stripe.lock();
        let body = chains.chains[index].find_mut(|body| body.born == epoch.0 && body.key == *key)?;
        body.last_use_ms = now_ms;
        body.uses += 1;
        Some(Arc::clone(&body.value))
    }

    /// Enters a route, or finds that somebody else has.
    ///
    /// If the key is there, its entry moves to the front of its chain, its value is returned and `value` is
    /// dropped. Otherwise `value` enters at the front and is returned, and if its chain was longer than
    /// [`gc_elasticity`](Tunables::gc_elasticity), the unreferenced entry of the lowest score leaves.
    ///
    /// # Errors
    ///
    /// [`Full`] if the table is at its maximal size and garbage collection did not help.
    pub fn intern(&self, key: RouteKey, value: impl Into<Arc<V>>, traits: Traits) -> Result<Arc<V>, Full<V>> {
        let value = value.into();
        if self.len() > self.tunables.gc_thresh && self.collect_garbage().is_err() {
            return Err(Full(value));
        }
        let now_ms = self.now_ms();
        let mut body = Body { key, traits, value, born: 0, last_use_ms: now_ms, uses: 1 };
        loop {
            let epoch = self.epoch();
            body.born = epoch.0;
            match self.commit(epoch, body) {
                Ok(value) => return Ok(value),
                Err(unchanged) => body = unchanged,
            }
        }
    }

    /// Links `body` under `epoch`, or returns it if that epoch is over.
    fn commit(&self, epoch: Epoch, body: Body<V>) -> Result<Arc<V>, Body<V>> {
        let (stripe, index) = self.place(epoch, &body.key);
        let mut dead = Dead::default();
        let value = {
            let mut chains = stripe.lock();
            if stripe.mark(index, true) {
                // Pairs with the fence in `advance`: either the flush sees the mark, or we see its epoch.
                fence(Ordering::SeqCst);
            }
            if self.epoch() != epoch {
                stripe.mark(index, !chains.chains[index].is_empty());
                return Err(body);
            }
            self.link(epoch, stripe, &mut chains, index, body, &mut dead)
        };
        self.free(dead);
        Ok(value)
    }

    fn link(
        &self,
        epoch: Epoch,
        stripe: &Stripe<V, L>,
        chains: &mut stripes::Chains<V>,
        index: usize,
        body: Body<V>,
        dead: &mut Dead<V>,
    ) -> Arc<V> {
        let swept = chains.next_to_sweep(epoch);
        for at in [Some(index), swept].into_iter().flatten() {
            chains.chains[at].unlink_if(|body, _| body.born != epoch.0, |entry| dead.push(entry));
            stripe.mark(at, at == index || !chains.chains[at].is_empty());
        }
        let stale = dead.len();

        let chain = &mut chains.chains[index];
        let same = chain.iter().position(|other| other.key == body.key);
        let value = if let Some(at) = same {
            let mut entry = chain.unlink_at(at).expect("the position was just found");
            entry.body.last_use_ms = body.last_use_ms;
            entry.body.uses += 1;
            let value = Arc::clone(&entry.body.value);
            chain.push_front(entry);
            // Dropped after the lock is released, like what is evicted.
            dead.push(Entry::new(body));
            self.entries.fetch_add(1, Ordering::Relaxed);
            value
        } else {
            let value = Arc::clone(&body.value);
            if chain.iter().count() > self.tunables.gc_elasticity
                && let Some(at) = least_valuable(chain, body.last_use_ms)
            {
                dead.push(chain.unlink_at(at).expect("the candidate was just found"));
            }
            chain.push_front(Entry::new(body));
            self.entries.fetch_add(1, Ordering::Relaxed);
            value
        };
        debug_assert!(dead.len() <= stale + 1, "an insertion displaces at most one entry");
        self.entries.fetch_sub(dead.len(), Ordering::Relaxed);
        value
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Begins a new epoch with a new random value; from here on no older entry is found. Returns the last epoch.
    pub(crate) fn advance(&self, switch_half: bool) -> Epoch {
        let rnd = self.random.next_u32();
        let next = |epoch| Some(Epoch(epoch).next(rnd, switch_half).0);
        let last = self.epoch.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        // Pairs with the fence in `commit`.
        fence(Ordering::SeqCst);
        Epoch(last.expect("the next epoch always exists"))
    }

    pub(crate) fn stripes(&self, epoch: Epoch) -> &Stripes<V, L> {
        &self.halves[epoch.half()]
    }

    fn bucket_in(&self, epoch: Epoch, key: &RouteKey) -> usize {
        self.geometry.bucket(rt_hash_2words(key.daddr, key.saddr, key.interface(), epoch.rnd()))
    }

    fn place(&self, epoch: Epoch, key: &RouteKey) -> (&Stripe<V, L>, usize) {
        let (lock, index) = self.geometry.place(self.bucket_in(epoch, key));
        (self.stripes(epoch).get(lock), index)
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_ns() / 1_000_000
    }

    pub(crate) fn count_unlinked(&self, entries: usize) {
        self.entries.fetch_sub(entries, Ordering::Relaxed);
    }

    /// Frees unlinked entries, now or later; the caller holds no lock.
    pub(crate) fn free(&self, dead: Dead<V>) {
        if let Freeing::Deferred { backlog } = self.tunables.freeing
            && dead.len() > 0
        {
            let waiting = L::lock(&self.limbo).push(dead);
            self.reclaim(waiting.saturating_sub(backlog));
        }
    }

    /// Frees up to `most` of the entries that wait, oldest first; returns how many it freed.
    pub fn reclaim(&self, most: usize) -> usize {
        let mut freed = 0;
        while freed < most {
            // The list is ours while its values are dropped: their destructors may call the table.
            let Some(mut dead) = L::lock(&self.limbo).pop() else { break };
            while freed < most && dead.pop().is_some() {
                freed += 1;
            }
            if dead.len() > 0 {
                L::lock(&self.limbo).put_back(dead);
            }
        }
        freed
    }
}

/// The position of the unreferenced entry with the lowest score, the last of equals.
fn least_valuable<V>(chain: &Chain<V>, now_ms: u64) -> Option<usize> {
    let unreferenced = chain.iter().enumerate().filter(|(_, body)| !body.is_referenced());
    let scores = unreferenced.map(|(at, body)| (body.score(now_ms), at));
    scores.min_by_key(|&(score, at)| (score, core::cmp::Reverse(at))).map(|(_, at)| at)
}

impl<V, L: Locking> fmt::Debug for RouteTable<V, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The random value stays out: who knows it can make keys collide.
        f.debug_struct("RouteTable")
            .field("geometry", &self.geometry)
            .field("entries", &self.len())
            .field("tunables", &self.tunables)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
