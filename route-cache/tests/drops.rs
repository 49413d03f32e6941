//! Every value is dropped exactly once: under every plan, for every pair of bucket and lock counts, and while
//! destructors call the table or panic.
#![cfg(not(loom))]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use route_cache::{FlushPlan, Freeing, Geometry, RouteKey, RouteTable, Smp, Traits, Tunables, Up};

/// Counts its own drop.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn key(daddr: u32) -> RouteKey {
    RouteKey { daddr, ..RouteKey::default() }
}

fn tunables(buckets: usize, freeing: Freeing) -> Tunables {
    // No eviction: what is counted is what was inserted.
    Tunables { gc_thresh: usize::MAX, gc_elasticity: usize::MAX, freeing, ..Tunables::for_buckets(buckets) }
}

#[test]
fn inserted_is_dropped_under_every_plan_and_geometry() {
    for buckets in [1, 2, 8, 64, 256] {
        for locks in [1, 2, 8, 64, 512] {
            for freeing in [Freeing::Immediate, Freeing::Deferred { backlog: 20 }] {
                for &plan in FlushPlan::ALL {
                    let drops = Arc::new(AtomicUsize::new(0));
                    let geometry = Geometry::new(buckets, locks);
                    let rnd = AtomicUsize::new(1);
                    let rnd = move || rnd.fetch_add(1, Ordering::Relaxed) as u32;
                    let table = RouteTable::<_, Smp>::with(geometry, tunables(buckets, freeing), || 0, rnd);
                    for round in 1..=3 {
                        for n in 0..100 {
                            drop(table.intern(key(n), Counted(Arc::clone(&drops)), Traits::default()));
                        }
                        table.flush(plan);
                        let dropped = drops.load(Ordering::Relaxed);
                        let here = table.len() + table.backlog();
                        assert_eq!(dropped + here, round * 100, "{plan} {buckets}/{locks} {freeing:?}");
                    }
                    if plan != FlushPlan::Generation {
                        assert!(table.is_empty(), "{plan} {buckets}/{locks}");
                    }
                    drop(table);
                    assert_eq!(drops.load(Ordering::Relaxed), 300, "{plan} {buckets}/{locks} {freeing:?}");
                }
            }
        }
    }
}

#[test]
fn a_table_without_locks_drops_as_much() {
    for &plan in FlushPlan::ALL {
        let drops = Arc::new(AtomicUsize::new(0));
        let table: RouteTable<_, Up> =
            RouteTable::uniprocessor(16, tunables(16, Freeing::Immediate), || 0, || 3);
        (0..100).for_each(|n| drop(table.intern(key(n), Counted(Arc::clone(&drops)), Traits::default())));
        table.flush(plan);
        drop(table);
        assert_eq!(drops.load(Ordering::Relaxed), 100, "{plan}");
    }
}

/// A value whose destructor uses the table it came from.
struct Meddler {
    table: Weak<RouteTable<Meddler, Smp>>,
    plan: FlushPlan,
    drops: Arc<AtomicUsize>,
}

impl Drop for Meddler {
    fn drop(&mut self) {
        let count = self.drops.fetch_add(1, Ordering::Relaxed);
        if let Some(table) = self.table.upgrade() {
            table.lookup(&key(count as u32 % 8));
            if count < 8 {
                table.flush(self.plan);
            }
        }
    }
}

#[test]
fn destructors_that_call_the_table_do_not_deadlock() {
    let done = std::thread::spawn(|| {
        for &plan in FlushPlan::ALL {
            for freeing in [Freeing::Immediate, Freeing::Deferred { backlog: 2 }] {
                let table = RouteTable::<_, Smp>::with(Geometry::new(8, 2), tunables(8, freeing), || 0, || 5);
                let (table, drops) = (Arc::new(table), Arc::new(AtomicUsize::new(0)));
                let meddler = || Meddler { table: Arc::downgrade(&table), plan, drops: Arc::clone(&drops) };
                // The second eight are duplicates, dropped by the insertion.
                (0..16).for_each(|n| drop(table.intern(key(n % 8), meddler(), Traits::default())));
                table.flush(plan);
                table.reclaim(usize::MAX);
                drop(table);
                assert_eq!(drops.load(Ordering::Relaxed), 16, "{plan} {freeing:?}");
            }
        }
    });
    watch(done);
}

/// Joins, and fails loudly instead of hanging for ever.
fn watch(thread: std::thread::JoinHandle<()>) {
    static FINISHED: OnceLock<()> = OnceLock::new();
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(60));
        if FINISHED.get().is_none() {
            eprintln!("a flush waits for itself: a destructor ran under a lock");
            std::process::abort();
        }
    });
    thread.join().unwrap();
    FINISHED.get_or_init(|| ());
}

/// Panics in its destructor, once.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0.fetch_add(1, Ordering::Relaxed) == 5 {
            panic!("the sixth destructor");
        }
    }
}

#[test]
fn a_panicking_destructor_loses_nothing_and_leaves_the_table_usable() {
    for &plan in FlushPlan::ALL {
        let drops = Arc::new(AtomicUsize::new(0));
        let table =
            RouteTable::<_, Smp>::with(Geometry::new(8, 2), tunables(8, Freeing::Immediate), || 0, || 5);
        let fill =
            || (0..20).for_each(|n| drop(table.intern(key(n), Bomb(Arc::clone(&drops)), Traits::default())));
        fill();
        let flushed = catch_unwind(AssertUnwindSafe(|| table.flush(plan)));
        assert_eq!(flushed.is_err(), plan != FlushPlan::Generation, "{plan}");
        assert!((0..20).all(|n| table.lookup(&key(n)).is_none()), "{plan}: flushed all the same");
        if plan == FlushPlan::Generation {
            // Nothing was dropped yet; let the end of the table not be the sixth.
            drops.store(100, Ordering::Relaxed);
            continue;
        }
        assert_eq!(drops.load(Ordering::Relaxed) + table.len(), 20, "{plan}: the count is right");
        fill();
        table.flush(plan);
        if plan == FlushPlan::Seqlock {
            // What the panic left behind lies in the half that this flush switched back to.
            table.flush(plan);
        }
        assert_eq!((drops.load(Ordering::Relaxed), table.len()), (40, 0), "{plan}");
    }
}
