//! What a flush costs by every plan, from an empty table to a full one, and what the cache's costs with its refill.
//!
//! Entries are freed later, so that a plan is measured by its walk: in 2007 `rt_free` only queued them too.

use divan::{Bencher, black_box, counter::ItemsCount};
use route_cache::{FlushCache, FlushPlan, Freeing, Geometry, RouteKey, RouteTable, Smp, Traits, Tunables};

fn main() {
    divan::main();
}

const BUCKETS: usize = 16_384;

fn table(locks: usize, freeing: Freeing) -> RouteTable<[u8; 200], Smp> {
    let tunables = Tunables { gc_thresh: usize::MAX, freeing, ..Tunables::for_buckets(BUCKETS) };
    RouteTable::with(Geometry::new(BUCKETS, locks), tunables, || 0, route_cache::HasherRandom::default())
}

fn fill(table: &RouteTable<[u8; 200], Smp>, entries: u32) {
    for daddr in 0..entries {
        let key = RouteKey { daddr, ..RouteKey::default() };
        table.intern(key, [0; 200], Traits::default()).expect("the table has no limit");
    }
}

/// The walk alone; filling before and freeing after are not timed.
#[divan::bench(args = FlushPlan::ALL, consts = [0, 640, 16_384, 65_536])]
fn unlink<const ENTRIES: u32>(bencher: Bencher, plan: FlushPlan) {
    let table = table(256, Freeing::Deferred { backlog: usize::MAX });
    bencher
        .with_inputs(|| {
            table.reclaim(usize::MAX);
            table.flush(FlushPlan::SkipEmptyPerLock);
            table.reclaim(usize::MAX);
            fill(&table, ENTRIES);
        })
        .bench_local_values(|()| table.flush(plan));
}

/// The walk and the freeing.
#[divan::bench(args = FlushPlan::ALL, consts = [65_536], sample_count = 20)]
fn unlink_and_free<const ENTRIES: u32>(bencher: Bencher, plan: FlushPlan) {
    let table = table(256, Freeing::Immediate);
    bencher
        .with_inputs(|| {
            table.flush(FlushPlan::SkipEmptyPerLock);
            fill(&table, ENTRIES);
        })
        .bench_local_values(|()| table.flush(plan));
}

/// A look-up that finds its route.
#[divan::bench]
fn table_lookup(bencher: Bencher) {
    let table = table(256, Freeing::Immediate);
    fill(&table, 65_536);
    let mut daddr = 0_u32;
    bencher.bench_local(|| {
        daddr = daddr.wrapping_add(40_503) & 0xffff;
        table.lookup(black_box(&RouteKey { daddr, ..RouteKey::default() }))
    });
}

/// A look-up that finds its value.
#[divan::bench]
fn cache_read(bencher: Bencher) {
    let cache = FlushCache::new();
    (0..65_536_u32).for_each(|key| drop(cache.insert(key, [key; 8])));
    let mut key = 0_u32;
    bencher.bench_local(|| {
        key = key.wrapping_add(40_503) & 0xffff;
        cache.read(black_box(&key), |value| value[0])
    });
}

/// The flush alone, however much it condemns.
#[divan::bench(consts = [0, 65_536], sample_count = 20)]
fn cache_flush<const ENTRIES: u32>(bencher: Bencher) {
    let cache = FlushCache::new();
    bencher
        .with_inputs(|| (0..ENTRIES).for_each(|key| drop(cache.insert(key, [key; 50]))))
        .bench_local_values(|()| cache.flush());
}

/// A flush and the refill that drops what it condemned: what it costs as a whole.
#[divan::bench(consts = [65_536], sample_count = 20)]
fn cache_flush_and_refill<const ENTRIES: u32>(bencher: Bencher) {
    let cache = FlushCache::new();
    (0..ENTRIES).for_each(|key| drop(cache.insert(key, [key; 50])));
    bencher.counter(ItemsCount::new(ENTRIES)).bench_local(|| {
        cache.flush();
        (0..ENTRIES).for_each(|key| drop(cache.insert(key, [key; 50])));
    });
    assert_eq!((cache.len(), cache.dead()), (ENTRIES as usize, 0));
}
