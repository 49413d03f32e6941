//! Every known answer of `vectors/rt_flush_counts.json`, made by an independent C program.
//!
//! In here and not in `tests/`, since the array as posted, which leaks, exists only for this test.

use alloc::{vec, vec::Vec};

use serde_json::Value;

use super::{FlushObserver, FlushPlan, FlushReport, Run};
use crate::{Geometry, Locking, RouteKey, RouteTable, Smp, Traits, Tunables};

/// A table filled as the vectors say, and the keys that fill it again: its random value never changes.
struct Filled<L: Locking> {
    table: RouteTable<(), L>,
    keys: Vec<RouteKey>,
}

impl<L: Locking> Filled<L> {
    fn new(geometry: Geometry) -> Self {
        let buckets = geometry.buckets();
        let tunables = Tunables { gc_thresh: usize::MAX, ..Tunables::for_buckets(buckets) };
        let table = RouteTable::with(geometry, tunables, || 0, || 0x1234_5678);

        let occupied = |slot: usize| (slot as u32).wrapping_mul(2_654_435_761) >> 28 < 6;
        let mut missing: Vec<_> =
            (0..buckets).map(|slot| if occupied(slot) { slot % 5 + 1 } else { 0 }).collect();
        let mut left: usize = missing.iter().sum();
        let mut keys = Vec::with_capacity(left);
        for daddr in 0.. {
            let key = RouteKey { daddr, ..RouteKey::default() };
            let slot = table.bucket_of(&key);
            if missing[slot] > 0 {
                missing[slot] -= 1;
                left -= 1;
                keys.push(key);
            }
            if left == 0 {
                break;
            }
        }
        let filled = Self { table, keys };
        filled.refill();
        filled
    }

    fn refill(&self) {
        for key in &self.keys {
            self.table.intern(*key, (), Traits::default()).unwrap();
        }
        assert_eq!(self.table.len(), self.keys.len());
    }
}

/// FNV-1a of the visited buckets, and whether locks were held where they should be.
struct Order {
    hash: u64,
    locks: Vec<usize>,
}

impl Order {
    fn new() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, locks: vec![] }
    }
}

impl FlushObserver for Order {
    fn locked(&mut self, lock: usize) {
        self.locks.push(lock);
    }

    fn visited(&mut self, slot: usize) {
        for byte in (slot as u32).to_le_bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[test]
fn every_flush_does_the_work_of_the_vectors() {
    let file: Value = serde_json::from_str(include_str!("../../vectors/rt_flush_counts.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 8);
    for vector in vectors {
        check(vector);
    }
}

fn check(vector: &Value) {
    let of = |field: &str| usize::try_from(vector[field].as_u64().unwrap()).unwrap();
    let order_of = |field: &str| u64::from_str_radix(vector[field].as_str().unwrap(), 16).unwrap();
    let geometry = Geometry::new(of("buckets"), of("lock_sz"));
    assert_eq!(geometry.buckets() / geometry.locks(), of("slots_per_lock"));
    assert_eq!(vector["corrected_miller_index"], "i / lock_sz");
    let filled = Filled::<Smp>::new(geometry);
    let table = &filled.table;
    assert_eq!(table.len(), of("entries"));

    // The largest tables only by the plans whose order the vectors give: filling them is what takes time.
    let small = geometry.buckets() <= 16_384;
    let answered = [FlushPlan::PerBucket, FlushPlan::PerLock, FlushPlan::Array, FlushPlan::SkipEmpty];
    for &plan in if small { FlushPlan::ALL } else { &answered } {
        let mut order = Order::new();
        let FlushReport { entries, locks, most_freed_under_lock, stale } =
            table.flush_observed(plan, &mut order);
        if plan == FlushPlan::Generation {
            assert_eq!((entries, locks, stale), (0, 0, of("entries")));
            table.flush(FlushPlan::Detached);
        } else {
            assert_eq!((entries, stale), (of("entries"), 0), "{plan} {vector}");
        }
        assert_eq!(locks, order.locks.len(), "{plan} {vector}");
        match plan {
            FlushPlan::PerBucket => {
                assert_eq!(locks, of("locks_original"));
                assert_eq!(order.hash, order_of("order_fnv1a64_original"));
            }
            FlushPlan::PerLock => {
                assert_eq!(locks, of("locks_patch"));
                assert_eq!(order.hash, order_of("order_fnv1a64_patch"));
                assert_eq!(most_freed_under_lock, of("max_entries_freed_under_one_lock_patch"));
            }
            FlushPlan::Linked | FlushPlan::Array | FlushPlan::SharedArray => {
                assert_eq!(locks, of("locks_patch"), "{plan} {vector}");
                assert_eq!(order.hash, order_of("order_fnv1a64_patch"), "{plan} {vector}");
                assert_eq!(entries, of("corrected_miller_freed"), "{plan} {vector}");
            }
            FlushPlan::SkipEmpty => assert_eq!(locks, of("locks_check_empty_first")),
            FlushPlan::SkipEmptyPerLock | FlushPlan::Seqlock => {
                let distinct: alloc::collections::BTreeSet<_> = order.locks.iter().collect();
                assert!(distinct.len() == locks && locks <= of("locks_patch").min(of("occupied")), "{plan}");
            }
            FlushPlan::Detached => assert_eq!(locks, of("locks_patch").min(of("buckets"))),
            FlushPlan::Generation => {}
        }
        assert!(table.is_empty(), "{plan} {vector}");
        filled.refill();
    }

    let last = table.advance(false);
    let leaked = Run::new(table, table.stripes(last), &mut ()).array_as_posted();
    assert_eq!(leaked, of("lost_entries_literal"), "{vector}");
    assert_eq!(filled.keys.len() - leaked, of("literal_miller_freed"), "{vector}");
}

#[test]
fn a_single_processor_takes_no_lock_and_goes_down() {
    let filled = Filled::<crate::Up>::new(Geometry::new(1024, 1));
    let mut order = Order::new();
    let report = filled.table.flush_observed(FlushPlan::PerLock, &mut order);
    assert_eq!((report.entries, report.locks), (filled.keys.len(), 0));
    // The order of the original, whose hash the vectors give for 1024 buckets.
    assert_eq!(order.hash, 0x2248_597e_1fab_7625);
}

#[test]
fn lists_of_every_length_are_freed_later_within_the_backlog() {
    use crate::Freeing;
    let tunables = Tunables {
        gc_thresh: usize::MAX,
        freeing: Freeing::Deferred { backlog: 10 },
        ..Tunables::for_buckets(64)
    };
    let table = RouteTable::<u32, Smp>::with(Geometry::new(64, 4), tunables, || 0, || 1);
    let fill = |n| {
        for daddr in 0..n {
            table.intern(RouteKey { daddr, ..RouteKey::default() }, daddr, Traits::default()).unwrap();
        }
    };
    for &plan in FlushPlan::ALL {
        for n in [0, 4, 3, 8, 25] {
            fill(n);
            table.flush(plan);
            assert!(table.backlog() <= 10, "{plan}");
        }
        table.flush(FlushPlan::PerLock);
        assert_eq!((table.len(), table.backlog()), (0, 10), "{plan}: the youngest ten wait");
        assert_eq!((table.reclaim(3), table.backlog()), (3, 7));
        assert_eq!((table.reclaim(usize::MAX), table.backlog()), (7, 0));
    }
}

#[test]
fn names_parse_back_and_summaries_are_one_line() {
    for &plan in FlushPlan::ALL {
        assert_eq!(plan.name().parse(), Ok(plan));
        assert!(!plan.summary().is_empty() && !plan.summary().contains('\n'), "{plan}");
    }
    assert_eq!(FlushPlan::ALL[0], FlushPlan::PerBucket);
    assert_eq!(alloc::string::ToString::to_string(&FlushPlan::SkipEmptyPerLock), "skip-empty-per-lock");
}
