//! How a shard spreads its hashes and whom it evicts.

use alloc::{vec, vec::Vec};

use super::{
    slot::{NEVER, Slot, blur},
    store::{Limits, Store},
    trash::Trash,
};

/// Most of `hashes` in one of 1024 buckets.
fn most(hashes: impl Iterator<Item = u64>, seed: u64) -> usize {
    let mut buckets = vec![0; 1024];
    hashes.for_each(|hash| buckets[blur(hash, seed) as usize % 1024] += 1);
    buckets.into_iter().max().unwrap()
}

#[test]
fn patterns_of_weak_hashers_do_not_become_chains() {
    // 1024 in as many buckets: 16 in one has a probability below 10^-9 if they fall at random.
    for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
        for shift in 0..54 {
            let longest = most((0..1024).map(|n| n << shift), seed);
            assert!(longest < 16, "multiples of 2^{shift}, seed {seed:x}: {longest} in one bucket");
        }
    }
}

#[test]
fn hashes_found_to_collide_do_not_after_a_flush() {
    let (before, after) = (blur(7, 99), blur(8, 99));
    let flood: Vec<_> = (0..).filter(|&hash| blur(hash, before) % 1024 == 5).take(200).collect();
    assert_eq!(most(flood.iter().copied(), before), 200);
    assert!(most(flood.iter().copied(), after) < 8);
}

#[test]
fn eviction_gives_what_was_read_a_second_chance() {
    let mut store = Store::new(1, 3);
    let enter = |store: &mut Store<u64, u64>, key| {
        let mut trash = Trash::new();
        let mut slot = Some(Slot::new(key, 1, NEVER, key, key));
        assert_eq!(store.enter(&mut slot, false, Limits { capacity: 4, now_ns: 0 }, &mut trash), None);
        assert!(slot.is_none());
    };
    (0..4).for_each(|key| enter(&mut store, key));
    for key in [0, 1, 3] {
        store.find(key, |other| *other == key).unwrap().touch();
    }
    enter(&mut store, 4);
    let here: Vec<_> = (0..5).filter(|key| store.find(*key, |other| other == key).is_some()).collect();
    assert_eq!((here, store.weight()), (vec![0, 1, 3, 4], 4));
}

#[test]
fn an_expired_entry_is_evicted_though_it_was_read() {
    let mut store = Store::new(1, 3);
    for (key, expires_ns) in [(0_u64, NEVER), (1, 10)] {
        let mut slot = Some(Slot::new(key, 1, expires_ns, key, ()));
        store.enter(&mut slot, false, Limits { capacity: 2, now_ns: 0 }, &mut Trash::new());
        store.find(key, |other| *other == key).unwrap().touch();
    }
    let mut slot = Some(Slot::new(2, 1, NEVER, 2, ()));
    store.enter(&mut slot, false, Limits { capacity: 2, now_ns: 10 }, &mut Trash::new());
    assert!(store.find(1, |other| *other == 1).is_none());
    assert!(store.find(0, |other| *other == 0).is_some());
}
