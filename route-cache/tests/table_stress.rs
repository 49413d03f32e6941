//! Two threads on a tiny table: insertions, look-ups and every plan at once, and nothing lost or found too late.
#![cfg(not(loom))]

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    thread,
};

use route_cache::{FlushPlan, Freeing, Geometry, RouteKey, RouteTable, Smp, Traits, Tunables};

/// A value that knows its number, and counts its drop.
struct Numbered {
    number: u64,
    drops: Arc<AtomicU64>,
}

impl Drop for Numbered {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

fn key(daddr: u32) -> RouteKey {
    RouteKey { daddr, ..RouteKey::default() }
}

fn stress(plans: &[FlushPlan], geometry: Geometry, freeing: Freeing) {
    let max_stale = 100;
    let tunables =
        Tunables { gc_thresh: usize::MAX, max_stale, freeing, ..Tunables::for_buckets(geometry.buckets()) };
    let draws = AtomicU32::new(1);
    let random = move || draws.fetch_add(0x9e37_79b9, Ordering::Relaxed);
    let table = Arc::new(RouteTable::<_, Smp>::with(geometry, tunables, || 0, random));
    let drops = Arc::new(AtomicU64::new(0));
    // The last number that is in; and the last that a flush which has returned found there.
    let (inserted, flushed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let start = Arc::new(Barrier::new(2));
    let worker = {
        let (table, drops, start) = (Arc::clone(&table), Arc::clone(&drops), Arc::clone(&start));
        let (inserted, flushed) = (Arc::clone(&inserted), Arc::clone(&flushed));
        thread::spawn(move || {
            start.wait();
            for number in 1..=20_000 {
                let value = Numbered { number, drops: Arc::clone(&drops) };
                let kept = table.intern(key(number as u32 % 40), value, Traits::default());
                assert!(kept.is_ok_and(|kept| kept.number <= number));
                inserted.store(number, Ordering::Release);

                let last = flushed.load(Ordering::Acquire);
                if let Some(found) = table.lookup(&key(number as u32 * 7 % 40)) {
                    assert!(
                        found.number > last,
                        "{} was in before flush {last} and is still found",
                        found.number
                    );
                }
                // 40 keys live, 100 may linger, and a flush counts what comes in meanwhile.
                assert!(table.len() <= 40 + max_stale + 40, "{} entries", table.len());
            }
        })
    };
    start.wait();
    for &plan in plans.iter().cycle() {
        if worker.is_finished() {
            break;
        }
        let last = inserted.load(Ordering::Acquire);
        table.flush(plan);
        flushed.store(last, Ordering::Release);
        table.reclaim(3);
    }
    worker.join().unwrap();
    // Twice, for both halves.
    table.flush(FlushPlan::Seqlock);
    table.flush(FlushPlan::Seqlock);
    table.reclaim(usize::MAX);
    assert_eq!((table.len(), table.backlog()), (0, 0));
    assert_eq!(drops.load(Ordering::Relaxed), 20_000);
}

#[test]
fn each_plan_beside_an_inserting_reader() {
    for &plan in FlushPlan::ALL {
        stress(&[plan], Geometry::new(8, 2), Freeing::Immediate);
    }
}

#[test]
fn all_plans_in_turn_on_tiny_tables() {
    for (buckets, locks) in [(1, 1), (2, 4), (64, 2)] {
        for freeing in [Freeing::Immediate, Freeing::Deferred { backlog: 50 }] {
            stress(FlushPlan::ALL, Geometry::new(buckets, locks), freeing);
        }
    }
}
