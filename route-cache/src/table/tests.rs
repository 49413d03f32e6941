//! What only the inside can show: the race of 2007, eviction, expiry and collection step by step.

use alloc::{sync::Arc, vec, vec::Vec};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::*;
use crate::flush::{FlushPlan, Run};

/// A table whose clock and random values the test holds.
struct Fixture {
    table: RouteTable<u32, Smp>,
    now_ms: Arc<AtomicU64>,
}

impl Fixture {
    fn new(geometry: Geometry, tunables: Tunables) -> Self {
        let now_ms = Arc::new(AtomicU64::new(1_000_000));
        let clock = Arc::clone(&now_ms);
        let clock = move || clock.load(Ordering::Relaxed) * 1_000_000;
        // Distinct values without a pattern that the hash could share: the multiples of an odd number.
        let count = AtomicU32::new(1);
        let random = move || count.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x85eb_ca6b);
        Self { table: RouteTable::with(geometry, tunables, clock, random), now_ms }
    }

    fn one_bucket() -> Self {
        Self::new(Geometry::new(1, 1), Tunables { gc_thresh: usize::MAX, ..Tunables::for_buckets(1) })
    }

    fn later(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    fn intern(&self, mark: u32, traits: Traits) -> Arc<u32> {
        self.table.intern(key(mark), mark, traits).unwrap()
    }

    /// The marks in a bucket, from the front.
    fn chain(&self, slot: usize) -> Vec<u32> {
        let (lock, index) = self.table.geometry.place(slot);
        let chains = self.table.stripes(self.table.epoch()).get(lock).lock();
        chains.chains[index].iter().map(|body| body.key.mark).collect()
    }
}

/// An incoming key; they differ in what does not enter the hash.
fn key(mark: u32) -> RouteKey {
    RouteKey { iif: 1, mark, ..RouteKey::default() }
}

const PLAIN: Traits = Traits {
    redirected: false,
    notify: false,
    broadcast: false,
    multicast: false,
    local: false,
    expires_ms: None,
};

fn body(table: &RouteTable<u32, Smp>, key: RouteKey) -> Body<u32> {
    let born = table.epoch().0;
    Body { key, traits: PLAIN, value: Arc::new(7), born, last_use_ms: table.now_ms(), uses: 1 }
}

#[test]
fn an_insertion_that_slept_through_a_flush_hashes_anew() {
    for &plan in FlushPlan::ALL {
        let fixture = Fixture::new(Geometry::new(64, 4), Tunables::for_buckets(64));
        let table = &fixture.table;
        let before = table.epoch();
        let late = body(table, key(1));
        table.flush(plan);
        // 2007 linked it now, into a bucket already visited. Here it is refused, and leaves no trace.
        let late = table.commit(before, late).expect_err("the epoch is over");
        assert_eq!(table.len(), 0, "{plan}");
        let stripe = |half: usize, lock| table.halves[half].get(lock);
        assert!((0..4).all(|lock| stripe(0, lock).is_empty() && stripe(1, lock).is_empty()), "{plan}");

        let now = table.epoch();
        assert!(table.commit(now, Body { born: now.0, ..late }).is_ok());
        assert_eq!(table.lookup(&key(1)).as_deref(), Some(&7), "{plan}");
    }
}

#[test]
fn the_race_of_2007_strands_an_entry_that_no_lookup_finds() {
    let fixture = Fixture::new(Geometry::new(64, 4), Tunables::for_buckets(64));
    let table = &fixture.table;
    let before = table.epoch();
    let late = body(table, key(1));
    table.flush(FlushPlan::PerBucket);
    assert_ne!(table.bucket_in(before, &key(1)), table.bucket_of(&key(1)), "the example needs two buckets");

    // As it was: under the lock of the bucket that the old random value chose, and without a second look.
    let (stripe, index) = table.place(before, &key(1));
    let mut dead = Dead::default();
    table.link(before, stripe, &mut stripe.lock(), index, late, &mut dead);

    assert_eq!((table.len(), dead.len()), (1, 0));
    assert!(table.lookup(&key(1)).is_none());
    // Only age removes it, or the next flush.
    assert_eq!(table.flush(FlushPlan::PerBucket).entries, 1);
}

#[test]
fn equal_keys_move_to_the_front_and_the_newcomer_is_dropped() {
    let fixture = Fixture::one_bucket();
    let first = fixture.intern(1, PLAIN);
    fixture.intern(2, PLAIN);
    assert_eq!(fixture.chain(0), [2, 1]);
    let newcomer = Arc::new(99);
    let kept = fixture.table.intern(key(1), Arc::clone(&newcomer), PLAIN).unwrap();
    assert!(Arc::ptr_eq(&kept, &first));
    assert_eq!(Arc::strong_count(&newcomer), 1);
    assert_eq!((fixture.chain(0), fixture.table.len()), (vec![1, 2], 2));
}

#[test]
fn a_chain_longer_than_the_elasticity_evicts_the_lowest_score() {
    let fixture = Fixture::one_bucket();
    for mark in 0..8 {
        fixture.intern(mark, PLAIN);
        fixture.later(1);
    }
    fixture.intern(8, PLAIN);
    assert_eq!(fixture.chain(0).len(), 9, "a ninth is let in: the chain was not longer than eight");
    // 0 is the oldest but in use; 1 was looked up just now; 2 is the oldest of the rest.
    let held = fixture.table.lookup(&key(0)).unwrap();
    fixture.later(1);
    drop(fixture.table.lookup(&key(1)));
    fixture.intern(9, PLAIN);
    assert_eq!(fixture.chain(0), [9, 8, 7, 6, 5, 4, 3, 1, 0]);
    // A broadcast route goes before any older one to a single host.
    fixture.intern(10, Traits { broadcast: true, ..PLAIN });
    fixture.intern(11, PLAIN);
    assert!(!fixture.chain(0).contains(&10));
    drop(held);
}

#[test]
fn of_equal_scores_the_last_in_the_chain_is_evicted() {
    let fixture = Fixture::one_bucket();
    (0..9).for_each(|mark| drop(fixture.intern(mark, PLAIN)));
    fixture.intern(9, PLAIN);
    assert_eq!(fixture.chain(0), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn a_chain_whose_entries_are_all_in_use_grows() {
    let fixture = Fixture::one_bucket();
    let held: Vec<_> = (0..20).map(|mark| fixture.intern(mark, PLAIN)).collect();
    assert_eq!(fixture.chain(0).len(), held.len());
}

#[test]
fn expiry_halves_the_time_for_each_entry_it_keeps() {
    let fixture = Fixture::one_bucket();
    // Ages when it runs, from the front: 10 s, 100 s, 160 s. Kept: within 300; within 150; 160 is over 75.
    fixture.intern(3, PLAIN);
    fixture.later(60_000);
    fixture.intern(2, PLAIN);
    fixture.later(90_000);
    fixture.intern(1, PLAIN);
    fixture.later(10_000);
    // A fifth of one bucket is no bucket: the whole table must be its share.
    let mut table = fixture;
    assert_eq!(table.table.expire(), 0);
    table.table.tunables.gc_interval_ms = table.table.tunables.gc_timeout_ms;
    assert_eq!(table.table.expire(), 1);
    assert_eq!(table.chain(0), [1, 2]);
}

#[test]
fn a_void_route_expires_even_in_use_and_a_held_one_does_not_age() {
    let mut fixture = Fixture::one_bucket();
    fixture.table.tunables.gc_interval_ms = fixture.table.tunables.gc_timeout_ms;
    let now_ms = fixture.now_ms.load(Ordering::Relaxed);
    let _void = fixture.intern(1, Traits { expires_ms: Some(now_ms + 100), ..PLAIN });
    let held = fixture.intern(2, PLAIN);
    fixture.later(99);
    assert_eq!(fixture.table.expire(), 0);
    fixture.later(1);
    assert_eq!((fixture.table.expire(), fixture.chain(0)), (1, vec![2]));
    fixture.later(1 << 40);
    assert_eq!(fixture.table.expire(), 0);
    drop(held);
    assert_eq!(fixture.table.expire(), 1);
}

#[test]
fn expiry_goes_round_by_its_share() {
    let tunables = Tunables { gc_interval_ms: 75_000, ..Tunables::for_buckets(8) };
    let fixture = Fixture::new(Geometry::new(8, 2), tunables);
    (0..64).for_each(|daddr| {
        let key = RouteKey { daddr, ..RouteKey::default() };
        fixture.table.intern(key, daddr, PLAIN).unwrap();
    });
    fixture.later(300_001);
    let counts: Vec<_> = (0..8).map(|slot| fixture.chain(slot).len()).collect();
    // A quarter of the table at a time, beginning after bucket 0.
    for round in [[1, 2], [3, 4], [5, 6], [7, 0]] {
        assert_eq!(fixture.table.expire(), round.map(|slot| counts[slot]).iter().sum::<usize>(), "{round:?}");
    }
    assert!(fixture.table.is_empty());
}

#[test]
fn a_full_table_of_entries_in_use_refuses_and_returns_the_value() {
    let tunables = Tunables { gc_thresh: 4, max_size: 8, ..Tunables::for_buckets(4) };
    let fixture = Fixture::new(Geometry::new(4, 2), tunables);
    let held: Vec<_> = (0..9).map_while(|mark| fixture.table.intern(key(mark), mark, PLAIN).ok()).collect();
    assert_eq!(held.len(), 8);
    let Full(value) = fixture.table.intern(key(100), 100, PLAIN).unwrap_err();
    assert_eq!(*value, 100);
    drop(held);
    fixture.later(1);
    assert!(
        fixture.table.intern(key(100), value, PLAIN).is_ok(),
        "entries of 1 ms go when the table is full"
    );
}

#[test]
fn stale_entries_go_with_as_many_insertions_as_a_lock_has_buckets() {
    let fixture =
        Fixture::new(Geometry::new(16, 2), Tunables { gc_thresh: 1000, ..Tunables::for_buckets(16) });
    let table = &fixture.table;
    let intern = |daddr| drop(table.intern(RouteKey { daddr, ..RouteKey::default() }, daddr, PLAIN).unwrap());
    (0..100).for_each(intern);
    let report = table.flush(FlushPlan::Generation);
    assert_eq!((report.entries, report.stale, report.locks), (0, table.len(), 0));
    let mut inserted = [0; 2];
    for daddr in 1_000.. {
        let lock = table.geometry.place(table.bucket_of(&RouteKey { daddr, ..RouteKey::default() })).0;
        if inserted[lock] < 8 {
            intern(daddr);
            inserted[lock] += 1;
        }
        if inserted == [8, 8] {
            break;
        }
    }
    assert_eq!(table.len(), 16, "what is left is what came after the flush");
}

#[test]
fn the_generation_plan_walks_when_too_much_would_linger() {
    let tunables = Tunables { max_stale: 10, gc_thresh: 1000, ..Tunables::for_buckets(16) };
    let fixture = Fixture::new(Geometry::new(16, 2), tunables);
    let fill =
        |n| (0..n).for_each(|daddr| drop(fixture.table.intern(RouteKey { daddr, ..key(0) }, daddr, PLAIN)));
    fill(10);
    assert_eq!(fixture.table.flush(FlushPlan::Generation).stale, 10);
    fill(11);
    let report = fixture.table.flush(FlushPlan::Generation);
    assert_eq!((report.stale, fixture.table.len()), (0, 0));
    assert!(report.entries >= 11);
}

#[test]
fn the_array_as_posted_leaks_what_its_index_overwrites() {
    // Two locks of four buckets each: `slot % 4` is 0 and 2 for lock 0, 1 and 3 for lock 1.
    let fixture = Fixture::new(Geometry::new(8, 2), Tunables::for_buckets(8));
    let table = &fixture.table;
    let mut missing: Vec<_> = (0..8).collect();
    for daddr in 0.. {
        let key = RouteKey { daddr, ..RouteKey::default() };
        if let Some(at) = missing.iter().position(|&slot| slot == table.bucket_of(&key)) {
            missing.swap_remove(at);
            table.intern(key, daddr, PLAIN).unwrap();
        }
        if missing.is_empty() {
            break;
        }
    }
    let last = table.advance(false);
    assert_eq!(Run::new(table, table.stripes(last), &mut ()).array_as_posted(), 4);
    assert!(table.is_empty());
}
