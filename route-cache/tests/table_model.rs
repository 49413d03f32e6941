//! Random operations on the table of the mails, each reply compared with a map's.
#![cfg(not(loom))]

use std::collections::HashMap;

use proptest::prelude::*;
use route_cache::{FlushPlan, Freeing, Geometry, RouteKey, RouteTable, Smp, Traits, Tunables};

#[derive(Clone, Debug)]
enum Step {
    Intern(u32, u32),
    Lookup(u32),
    Flush(FlushPlan),
    Reclaim(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..40_u32, any::<u32>()).prop_map(|(key, value)| Step::Intern(key, value)),
        6 => (0..40_u32).prop_map(Step::Lookup),
        1 => proptest::sample::select(FlushPlan::ALL).prop_map(Step::Flush),
        1 => (0..9_usize).prop_map(Step::Reclaim),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn a_table_without_pressure_is_a_map(
        steps in steps(),
        buckets in 0..6_u32,
        locks in 0..6_u32,
        backlog in proptest::option::of(0..5_usize),
        mut rnd: u32,
    ) {
        let buckets = 1 << buckets;
        let freeing = backlog.map_or(Freeing::Immediate, |backlog| Freeing::Deferred { backlog });
        let tunables = Tunables {
            gc_thresh: usize::MAX,
            gc_elasticity: usize::MAX,
            max_stale: 30,
            freeing,
            ..Tunables::for_buckets(buckets)
        };
        rnd |= 1;
        let draws = std::sync::atomic::AtomicU32::new(rnd);
        let random = move || draws.fetch_add(rnd, std::sync::atomic::Ordering::Relaxed);
        let table = RouteTable::<u32, Smp>::with(Geometry::new(buckets, 1 << locks), tunables, || 0, random);
        let mut model = HashMap::new();
        for step in steps {
            match step {
                Step::Intern(daddr, value) => {
                    let interned = table.intern(key(daddr), value, Traits::default()).unwrap();
                    prop_assert_eq!(*interned, *model.entry(daddr).or_insert(value));
                }
                Step::Lookup(daddr) => prop_assert_eq!(table.lookup(&key(daddr)).map(|found| *found), model.get(&daddr).copied()),
                Step::Flush(plan) => {
                    let report = table.flush(plan);
                    prop_assert_eq!(report.entries + report.stale >= model.len(), true);
                    prop_assert_eq!(report.stale, table.len());
                    model.clear();
                }
                Step::Reclaim(most) => {
                    let (waiting, freed) = (table.backlog(), table.reclaim(most));
                    prop_assert_eq!((freed, table.backlog()), (waiting.min(most), waiting - waiting.min(most)));
                }
            }
            prop_assert!(table.len() >= model.len() && table.len() <= model.len() + 30);
        }
        for (daddr, value) in &model {
            prop_assert_eq!(table.lookup(&key(*daddr)).map(|found| *found), Some(*value));
        }
    }
}

fn key(daddr: u32) -> RouteKey {
    RouteKey { daddr, ..RouteKey::default() }
}

/// An attacker who knows the random value sends keys of one bucket; a flush renews it and they spread.
#[test]
fn a_flush_breaks_up_the_chains_of_a_hash_flood() {
    // Not the generation number: its dead entries stay in the flooded chain until an insertion comes by.
    for &plan in FlushPlan::ALL.iter().filter(|&&plan| plan != FlushPlan::Generation) {
        let geometry = Geometry::new(1024, 256);
        let tunables = Tunables { gc_elasticity: usize::MAX, ..Tunables::for_buckets(1024) };
        let draws = std::sync::atomic::AtomicU32::new(17);
        let random = move || draws.fetch_add(0x9e37_79b9, std::sync::atomic::Ordering::Relaxed);
        let table = RouteTable::<(), Smp>::with(geometry, tunables, || 0, random);
        let flood: Vec<_> = (0..).map(key).filter(|key| table.bucket_of(key) == 77).take(200).collect();
        let send = || flood.iter().for_each(|key| drop(table.intern(*key, (), Traits::default())));
        send();
        assert_eq!(table.longest_chain(), 200);
        table.flush(plan);
        send();
        // 200 keys in 1024 buckets: eight in one has a probability below 10^-5 with a good hash.
        assert!(table.longest_chain() < 8, "{plan}: {}", table.longest_chain());
    }
}

/// Without a flush the eviction by score still bounds what a flood can make a lookup cost.
#[test]
fn eviction_bounds_a_flooded_chain() {
    let table = RouteTable::<(), Smp>::with(Geometry::new(64, 8), Tunables::for_buckets(64), || 0, || 1);
    for key in (0..).map(key).filter(|key| table.bucket_of(key) == 5).take(500) {
        table.intern(key, (), Traits::default()).unwrap();
    }
    assert_eq!(table.longest_chain(), 9);
}
