//! Every interleaving of an insertion, a flush and a lookup, in the smallest tables that can go wrong.
//!
//! `RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --release -p route-cache --test loom`
#![cfg(loom)]

use loom::{sync::Arc, thread};
use route_cache::{
    FlushCache, FlushPlan, Freeing, Geometry, RouteKey, RouteTable, Smp, Traits, Tunables, cache::Builder,
};

/// Two buckets, one lock; every flush exchanges the buckets of the two keys, so that an insertion which hashed
/// before it and linked after it would be lost.
fn table() -> Arc<RouteTable<u32, Smp>> {
    let count = std::sync::atomic::AtomicU32::new(0);
    let random = move || RND[count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as usize % 2];
    let tunables = Tunables { gc_thresh: usize::MAX, ..Tunables::for_buckets(2) };
    Arc::new(RouteTable::with(Geometry::new(2, 1), tunables, || 0, random))
}

/// Random values under which `key(0)` and `key(1)` fall into different buckets, and into each other's.
const RND: [u32; 2] = [0, 6];

fn key(daddr: u32) -> RouteKey {
    RouteKey { daddr, ..RouteKey::default() }
}

/// Plans that unlink by themselves.
fn walking() -> impl Iterator<Item = FlushPlan> {
    FlushPlan::ALL.iter().copied().filter(|&plan| plan != FlushPlan::Generation)
}

#[test]
fn the_random_values_exchange_the_buckets() {
    loom::model(|| {
        let table = table();
        let before = (table.bucket_of(&key(0)), table.bucket_of(&key(1)));
        table.flush(FlushPlan::Generation);
        let after = (table.bucket_of(&key(0)), table.bucket_of(&key(1)));
        assert_eq!(before, (after.1, after.0));
        assert_ne!(before.0, before.1);
    });
}

#[test]
fn an_entry_is_flushed_or_found_never_stranded() {
    for plan in walking() {
        loom::model(move || {
            let table = table();
            let inserter = {
                let table = Arc::clone(&table);
                thread::spawn(move || drop(table.intern(key(0), 7, Traits::default())))
            };
            let flushed = table.flush(plan).entries;
            inserter.join().unwrap();
            let found = usize::from(table.lookup(&key(0)).is_some());
            assert_eq!((flushed + found, table.len()), (1, found), "{plan}");
        });
    }
}

#[test]
fn after_a_flush_no_lookup_finds_what_was_there_before() {
    for &plan in FlushPlan::ALL {
        loom::model(move || {
            let table = table();
            drop(table.intern(key(0), 1, Traits::default()));
            let reader = {
                let table = Arc::clone(&table);
                thread::spawn(move || {
                    let first = table.lookup(&key(0)).is_some();
                    let second = table.lookup(&key(0)).is_some();
                    assert!(first || !second, "{plan}: found again after it was gone");
                })
            };
            table.flush(plan);
            assert!(table.lookup(&key(0)).is_none(), "{plan}");
            reader.join().unwrap();
        });
    }
}

#[test]
fn two_flushes_at_once_leave_nothing_to_find() {
    for plan in [FlushPlan::PerLock, FlushPlan::SharedArray, FlushPlan::Seqlock, FlushPlan::Detached] {
        loom::model(move || {
            let table = table();
            drop(table.intern(key(0), 1, Traits::default()));
            let other = {
                let table = Arc::clone(&table);
                thread::spawn(move || table.flush(plan).entries)
            };
            let here = table.flush(plan).entries;
            assert_eq!(here + other.join().unwrap(), 1, "{plan}");
            assert!(table.lookup(&key(0)).is_none() && table.is_empty());
        });
    }
}

/// Sends every key to the same place, without the random keys that a model must not have.
#[derive(Clone, Copy, Default)]
struct Plain;

impl std::hash::BuildHasher for Plain {
    type Hasher = Zero;

    fn build_hasher(&self) -> Zero {
        Zero
    }
}

struct Zero;

impl std::hash::Hasher for Zero {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, _: &[u8]) {}
}

fn cache() -> Arc<FlushCache<u32, u32, Plain>> {
    Arc::new(Builder::with_hasher(Plain).shards(1).clock(|| 0).build())
}

#[test]
fn after_a_flush_no_read_of_the_cache_finds_what_was_there_before() {
    loom::model(|| {
        let cache = cache();
        cache.insert(0, 1);
        let reader = {
            let cache = Arc::clone(&cache);
            thread::spawn(move || {
                let first = cache.contains_key(&0);
                assert!(first || !cache.contains_key(&0), "found again after it was gone");
            })
        };
        cache.flush();
        assert!(!cache.contains_key(&0));
        reader.join().unwrap();
    });
}

#[test]
fn a_value_made_before_a_flush_is_not_read_after_it() {
    loom::model(|| {
        let cache = cache();
        let source = Arc::new(loom::sync::atomic::AtomicU32::new(1));
        let maker = {
            let (cache, source) = (Arc::clone(&cache), Arc::clone(&source));
            thread::spawn(move || {
                cache.get_or_insert_with(0, || source.load(loom::sync::atomic::Ordering::Acquire))
            })
        };
        source.store(2, loom::sync::atomic::Ordering::Release);
        cache.flush();
        assert_ne!(cache.get(&0), Some(1), "what was made from the old source is read after the flush");
        maker.join().unwrap();
        assert_ne!(cache.get(&0), Some(1));
    });
}

#[test]
fn an_insertion_beside_a_drain_loses_no_value() {
    loom::model(|| {
        // Each value holds a clone: how many are left is how many were not dropped.
        let token = std::sync::Arc::new(());
        let cache = Arc::new(Builder::with_hasher(Plain).shards(1).clock(|| 0).build());
        cache.insert(0, std::sync::Arc::clone(&token));
        let inserter = {
            let (cache, token) = (Arc::clone(&cache), std::sync::Arc::clone(&token));
            thread::spawn(move || {
                cache.insert(1, token);
            })
        };
        let drained = cache.drain();
        inserter.join().unwrap();
        let (here, dead) = (cache.len(), cache.dead());
        assert_eq!(std::sync::Arc::strong_count(&token), 1 + drained.len() + here + dead);
        assert_eq!((cache.contains_key(&0), cache.contains_key(&1)), (false, here == 1));
    });
}

#[test]
fn two_writers_grow_the_buckets_under_a_reader() {
    loom::model(|| {
        let cache = cache();
        cache.insert(0, 10);
        let writer = {
            let cache = Arc::clone(&cache);
            thread::spawn(move || drop(cache.insert(1, 11)))
        };
        assert_eq!(cache.get(&0), Some(10), "a split moved it away under the reader");
        writer.join().unwrap();
        assert_eq!((cache.get(&0), cache.get(&1)), (Some(10), Some(11)));
    });
}

/// Keys are their own hashes, so that they spread over two shards.
#[derive(Clone, Copy, Default)]
struct Identity;

impl std::hash::BuildHasher for Identity {
    type Hasher = Word;

    fn build_hasher(&self) -> Word {
        Word(0)
    }
}

struct Word(u64);

impl std::hash::Hasher for Word {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }
}

#[test]
fn no_shard_is_taken_for_clean_that_is_not() {
    loom::model(|| {
        let cache = Arc::new(Builder::with_hasher(Identity).shards(2).clock(|| 0).build());
        (0..6_u32).for_each(|key| drop(cache.insert(key, ())));
        let writer = {
            let cache = Arc::clone(&cache);
            thread::spawn(move || drop(cache.insert(0, ())))
        };
        cache.flush();
        cache.insert(1, ());
        writer.join().unwrap();
        // One key: the other shard is cleaned only if the writers know that it needs it.
        (0..2 * (6 / 4 + 1)).for_each(|_| drop(cache.insert(0, ())));
        assert_eq!(cache.dead(), 0);
    });
}

#[test]
fn what_waits_is_freed_once_by_whoever_comes() {
    loom::model(|| {
        let token = std::sync::Arc::new(());
        let tunables = Tunables { freeing: Freeing::Deferred { backlog: 1 }, ..Tunables::for_buckets(2) };
        type Token = std::sync::Arc<()>;
        let table = Arc::new(RouteTable::<Token, Smp>::with(Geometry::new(2, 1), tunables, || 0, || 0));
        for daddr in 0..2 {
            drop(table.intern(
                key(daddr),
                std::sync::Arc::new(std::sync::Arc::clone(&token)),
                Traits::default(),
            ));
        }
        let reclaimer = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.reclaim(1))
        };
        table.flush(FlushPlan::Linked);
        reclaimer.join().unwrap();
        let waiting = table.backlog();
        assert!(waiting <= 1);
        assert_eq!(std::sync::Arc::strong_count(&token), 1 + waiting);
    });
}
