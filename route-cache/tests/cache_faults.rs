//! Faults that users of other caches reported, as kinds: deadlock, leak, double drop, stale read, lost capacity.
#![cfg(not(loom))]

use std::{
    hash::{BuildHasherDefault, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use route_cache::FlushCache;

/// Runs `test` and fails loudly if it waits for itself.
fn without_deadlock(test: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match finished.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock: nothing happened for a minute"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => thread.join().unwrap(),
    }
}

type Meddled = FlushCache<u32, Meddler>;

/// A value whose destructor uses every operation of its cache.
struct Meddler(Weak<Meddled>, Arc<AtomicUsize>);

impl Drop for Meddler {
    fn drop(&mut self) {
        let count = self.1.fetch_add(1, Ordering::Relaxed) as u32;
        let Some(cache) = self.0.upgrade() else { return };
        cache.read(&(count % 7), |_| ());
        cache.remove(&(count % 5));
        if count < 500 {
            cache.insert(count % 11, Meddler(Weak::clone(&self.0), Arc::clone(&self.1)));
            match count % 5 {
                0 => drop(cache.flush()),
                1 => drop(cache.drain()),
                2 => drop(cache.reclaim(3)),
                3 => cache.shrink(),
                _ => drop(cache.remove_expired()),
            }
        }
    }
}

#[test]
fn destructors_may_use_the_cache_and_run_once_each() {
    without_deadlock(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let cache: Arc<Meddled> = Arc::new(FlushCache::builder().shards(2).capacity(8).build());
        let made = 2_000;
        for n in 0..made {
            cache.insert(n % 20, Meddler(Arc::downgrade(&cache), Arc::clone(&drops)));
        }
        // Values made by destructors: one each while the count was below 500.
        drop(cache);
        assert_eq!(drops.load(Ordering::Relaxed), made as usize + 500);
    });
}

#[test]
fn closures_may_use_the_cache_even_for_the_same_key() {
    without_deadlock(|| {
        let cache = FlushCache::builder().shards(1).build();
        cache.insert(1, 10);
        let read = cache.read(&1, |value| {
            cache.insert(1, 11);
            cache.flush();
            cache.shrink();
            cache.read_or_insert_with(
                1,
                || {
                    cache.insert(2, 20);
                    cache.get(&2).unwrap()
                },
                |inner| (*value, *inner, cache.len()),
            )
        });
        assert_eq!(read, Some((10, 20, 2)));
    });
}

/// Counts its own drop.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_value_is_dropped_exactly_once_whatever_removed_it() {
    for shards in [1, 2, 16] {
        for capacity in [1, 10, 1_000] {
            let drops = Arc::new(AtomicUsize::new(0));
            let cache = FlushCache::builder().shards(shards).capacity(capacity).build();
            for n in 0..3_000_u32 {
                cache.insert(n % 500, Counted(Arc::clone(&drops)));
                match n % 97 {
                    0 => drop(cache.flush()),
                    1 => drop(cache.drain()),
                    2 => drop(cache.remove(&(n % 500))),
                    3 => cache.shrink(),
                    _ => {}
                }
                let (here, gone) = (cache.len() + cache.dead(), drops.load(Ordering::Relaxed));
                assert_eq!(here + gone, n as usize + 1, "{shards} shards, capacity {capacity}");
            }
            drop(cache);
            assert_eq!(drops.load(Ordering::Relaxed), 3_000);
        }
    }
}

#[test]
fn a_held_value_outlives_replacement_flush_and_cache() {
    let drops = Arc::new(AtomicUsize::new(0));
    let cache = FlushCache::builder().shards(1).build();
    cache.insert(1, Counted(Arc::clone(&drops)));
    let held = cache.insert(1, Counted(Arc::clone(&drops))).unwrap();
    cache.flush();
    drop(cache);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    drop(held);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
}

#[test]
fn insert_and_flush_loops_hold_at_most_twice_what_lives() {
    let cache = FlushCache::builder().shards(16).build();
    let live = 5_000_u32;
    let mut bytes = Vec::new();
    for _ in 0..20 {
        for key in 0..live {
            cache.insert(key, u64::from(key));
            if key % 500 == 0 {
                assert!(cache.dead() <= live as usize, "{}", cache.dead());
            }
        }
        assert_eq!((cache.len(), cache.dead()), (live as usize, 0), "as many insertions drop all that died");
        bytes.push(cache.memory_bytes());
        cache.flush();
    }
    let (first, most) = (bytes[0], *bytes.iter().max().unwrap());
    assert!(most <= 3 * first, "{most} bytes, after {first} with nothing flushed yet");

    // Flushed over and over and hardly written to, it does not grow either.
    (0..live).for_each(|key| drop(cache.insert(key, 0)));
    for _ in 0..1_000 {
        cache.flush();
        cache.insert(1, 1);
        assert!(cache.len() + cache.dead() <= 2 * live as usize);
    }
}

#[test]
fn the_dead_are_gone_within_the_stated_number_of_writes() {
    let shards = 8;
    let cache = FlushCache::builder().shards(shards).build();
    (0..10_000).for_each(|key| drop(cache.insert(key, key)));
    cache.flush();
    let dead = cache.dead();
    assert_eq!(dead, 10_000);
    // One key: without help for the others only its shard would be cleaned. No shard has more than all.
    let bound = shards * (dead / 4 + 1);
    (0..bound).take_while(|_| cache.dead() > 0).for_each(|_| drop(cache.insert(0, 0)));
    assert_eq!(cache.dead(), 0, "after {bound} writes");
}

#[test]
fn places_of_removed_entries_hold_nobody_up() {
    let cache = FlushCache::builder().shards(1).build();
    (0..10_000).for_each(|key| drop(cache.insert(key, key)));
    (0..9_990).for_each(|key| drop(cache.remove(&key)));
    cache.flush();
    assert_eq!((cache.dead(), cache.reclaim(3), cache.reclaim(usize::MAX), cache.dead()), (10, 3, 7, 0));
}

#[test]
fn inline_values_take_no_allocation_and_are_found() {
    let cache = FlushCache::builder().inline().shards(1).build();
    let shared = FlushCache::builder().shards(1).build();
    for key in 0..1_000_u32 {
        assert_eq!(cache.insert(key, u64::from(key)), None);
        shared.insert(key, u64::from(key));
    }
    assert_eq!((cache.insert(7, 70), cache.get(&7), cache.remove(&7)), (Some(7), Some(70), Some(70)));
    // A value is as large as a pointer to one, and there is nothing to point to. That is 24 bytes each, of which
    // a place needs up to 8 to tell that it is empty.
    assert!(shared.memory_bytes() - cache.memory_bytes() >= 1_000 * (24 - 9));
    assert_eq!(cache.read_or_insert_with(7, || 71, |value| value + 1), 72);
}

#[test]
fn flushing_nothing_one_or_all_comes_to_an_end() {
    without_deadlock(|| {
        for n in [0, 1, 2, 100_000] {
            let cache = FlushCache::new();
            (0..n).for_each(|key| drop(cache.insert(key, ())));
            cache.flush();
            assert_eq!((cache.len(), cache.dead(), cache.get(&0)), (0, n, None));
            assert_eq!(cache.reclaim(usize::MAX), n);
            (0..n).for_each(|key| drop(cache.insert(key, ())));
            assert_eq!(cache.drain().len(), n);
            assert!(cache.drain().is_empty());
        }
    });
}

#[test]
fn capacity_is_kept_and_what_is_read_stays() {
    let cache = FlushCache::builder().shards(4).capacity(400).build();
    for key in 0..50 {
        cache.insert(key, key);
    }
    for key in 50..20_000 {
        cache.insert(key, key);
        let read: usize = (0..50).filter(|key| cache.get(key).is_some()).count();
        assert!(read >= 45, "{read}");
        assert!(cache.len() <= 400);
    }
    let kept = (0..50).filter(|key| cache.contains_key(key)).count();
    assert!(kept >= 45, "a scan of 20 000 keys pushed out {} of 50 that are read all the time", 50 - kept);
}

#[test]
fn weights_bound_a_shard_and_what_is_too_heavy_is_not_kept() {
    let weigher = |_: &u32, value: &Vec<u8>| value.len() as u32;
    let cache = FlushCache::builder().shards(1).capacity(100).weigher(weigher).build();
    for key in 0..50 {
        cache.insert(key, vec![0; 7]);
        assert!(cache.weight() <= 100);
    }
    assert_eq!((cache.len(), cache.weight()), (14, 98));
    cache.insert(7_777, vec![1; 100]);
    assert_eq!((cache.len(), cache.weight()), (1, 100));
    // The old value of the key is not the answer any more, so it goes though the new one is not kept.
    assert_eq!(cache.insert(7_777, vec![2; 101]).unwrap()[0], 1);
    assert_eq!((cache.get(&7_777), cache.weight()), (None, 0));
    cache.insert(1, vec![]);
    assert_eq!((cache.len(), cache.weight()), (1, 0));
}

#[test]
fn times_to_live_end_to_the_nanosecond() {
    let now = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&now);
    let cache = FlushCache::builder()
        .ttl(Duration::from_nanos(10))
        .clock(move || clock.load(Ordering::Relaxed))
        .build();
    cache.insert("default", 1);
    cache.insert_with_ttl("short", 2, Duration::from_nanos(3));
    cache.insert_with_ttl("for ever", 3, Duration::MAX);
    for (at, expected) in [(2, 3), (3, 2), (9, 2), (10, 1), (u64::MAX - 2, 1)] {
        now.store(at, Ordering::Relaxed);
        let found = ["default", "short", "for ever"].iter().filter(|key| cache.contains_key(**key)).count();
        assert_eq!(found, expected, "at {at}");
    }
    assert_eq!((cache.len(), cache.remove_expired(), cache.len()), (3, 2, 1));
    // An expired entry is no old value.
    cache.insert_with_ttl("short", 4, Duration::ZERO);
    assert_eq!(cache.insert("short", 5), None);
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum PanicIn {
    Nothing,
    Hash,
    Eq,
    Clone,
    Drop,
}

/// A key and a value that panic where they are told to.
struct Grenade(u32, Arc<AtomicUsize>, Arc<AtomicUsize>);

impl Grenade {
    fn pull(&self, place: PanicIn) {
        if self.1.load(Ordering::Relaxed) == place as usize && !thread::panicking() {
            panic!("as told: {place:?}");
        }
    }
}

impl Hash for Grenade {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pull(PanicIn::Hash);
        // Few hashes, so that keys are compared.
        (self.0 % 4).hash(state);
    }
}

impl PartialEq for Grenade {
    fn eq(&self, other: &Self) -> bool {
        self.pull(PanicIn::Eq);
        self.0 == other.0
    }
}

impl Eq for Grenade {}

impl Clone for Grenade {
    fn clone(&self) -> Self {
        self.pull(PanicIn::Clone);
        self.2.fetch_add(1, Ordering::Relaxed);
        Self(self.0, Arc::clone(&self.1), Arc::clone(&self.2))
    }
}

impl Drop for Grenade {
    fn drop(&mut self) {
        self.2.fetch_sub(1, Ordering::Relaxed);
        self.pull(PanicIn::Drop);
    }
}

#[test]
fn a_panic_in_user_code_neither_leaks_nor_drops_twice_nor_locks_up() {
    without_deadlock(|| {
        let (pin, alive) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let new = |n| {
            alive.fetch_add(1, Ordering::Relaxed);
            Grenade(n, Arc::clone(&pin), Arc::clone(&alive))
        };
        let cache = FlushCache::builder().shards(2).capacity(64).build();
        let mut panics = 0;
        for n in 0..2_000_u32 {
            let place = [PanicIn::Nothing, PanicIn::Hash, PanicIn::Eq, PanicIn::Clone, PanicIn::Drop];
            pin.store(place[n as usize % 5] as usize, Ordering::Relaxed);
            let work = catch_unwind(AssertUnwindSafe(|| match n % 7 {
                0 | 1 => drop(cache.insert(new(n % 100), new(n))),
                2 => drop(cache.get(&new(n % 50))),
                3 => drop(cache.remove(&new(n % 50))),
                4 => drop(cache.get_or_insert_with(new(n % 100), || new(n))),
                5 => drop(cache.reclaim(2)),
                _ if n % 3 == 0 => drop(cache.flush()),
                _ => cache.read_or_insert_with(new(n), || panic!("make"), |_| ()),
            }));
            panics += usize::from(work.is_err());
            pin.store(PanicIn::Nothing as usize, Ordering::Relaxed);
            let here = cache.len() + cache.dead();
            assert_eq!(alive.load(Ordering::Relaxed), 2 * here, "step {n}, {place:?}");
        }
        assert!(panics > 300, "only {panics}");
        cache.insert(new(7), new(8));
        assert_eq!(cache.get(&new(7)).map(|value| value.0), Some(8));
        drop(cache);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    });
}

/// Sends every key to one bucket.
#[derive(Default)]
struct Constant;

impl Hasher for Constant {
    fn finish(&self) -> u64 {
        42
    }

    fn write(&mut self, _: &[u8]) {}
}

#[test]
fn a_flood_of_equal_hashes_costs_a_bounded_chain() {
    let cache = FlushCache::builder().hasher(BuildHasherDefault::<Constant>::default()).build();
    for key in 0..10_000 {
        cache.insert(key, key);
        assert_eq!(cache.get(&key), Some(key), "the newest is there");
    }
    // The chain limit that the documentation of the crate names; the oldest went, however often buckets split.
    assert_eq!(cache.len(), 64);
    assert!((10_000 - 64..10_000).all(|key| cache.contains_key(&key)));
}

#[test]
fn after_a_flush_no_thread_reads_what_was_before() {
    let cache: Arc<FlushCache<u32, u64>> = Arc::new(FlushCache::builder().shards(2).build());
    // What values are made from; and the least that may be read, raised once the flush has returned.
    let (source, floor) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let start = Arc::new(Barrier::new(3));
    let reader = |seed: u32| {
        let (cache, source, floor, start) =
            (Arc::clone(&cache), Arc::clone(&source), Arc::clone(&floor), Arc::clone(&start));
        thread::spawn(move || {
            start.wait();
            for read in 0..200_000 {
                let key = (read ^ seed) % 8;
                let least = floor.load(Ordering::Acquire);
                let value = cache.get_or_insert_with(key, || source.load(Ordering::Acquire));
                assert!(value >= least, "read {value} after the flush that ended what was below {least}");
            }
        })
    };
    let readers = [reader(0), reader(1)];
    start.wait();
    let mut round = 0;
    while !readers.iter().all(thread::JoinHandle::is_finished) {
        round += 1;
        source.store(round, Ordering::Release);
        cache.flush();
        floor.store(round, Ordering::Release);
    }
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

#[test]
fn tiny_tables_under_two_threads_keep_count() {
    let drops = Arc::new(AtomicUsize::new(0));
    let made = Arc::new(AtomicUsize::new(0));
    let cache = Arc::new(FlushCache::builder().shards(1).capacity(100).build());
    let worker = |seed: u64| {
        let (cache, drops, made) = (Arc::clone(&cache), Arc::clone(&drops), Arc::clone(&made));
        thread::spawn(move || {
            let mut state = seed;
            for _ in 0..60_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = (state >> 33) as u32 % 150;
                match (state >> 50) % 64 {
                    0 => drop(cache.flush()),
                    1 => drop(cache.drain()),
                    2 => cache.shrink(),
                    3 => drop(cache.reclaim(7)),
                    4..20 => drop(cache.remove(&key)),
                    20..40 => drop(cache.read(&key, |_| ())),
                    _ => {
                        made.fetch_add(1, Ordering::Relaxed);
                        cache.insert(key, Counted(Arc::clone(&drops)));
                    }
                }
            }
        })
    };
    let threads = [worker(1), worker(2)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let here = cache.len() + cache.dead();
    assert_eq!(here + drops.load(Ordering::Relaxed), made.load(Ordering::Relaxed));
    drop(cache);
    assert_eq!(drops.load(Ordering::Relaxed), made.load(Ordering::Relaxed));
}
