//! Random operations on the cache, each reply compared with a map's.
#![cfg(not(loom))]

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use proptest::prelude::*;
use route_cache::cache::{Builder, FlushCache, Storage};

/// A hasher as bad as they come: every key collides with every eighth other.
#[derive(Default)]
struct Octal(u64);

impl Hasher for Octal {
    fn finish(&self) -> u64 {
        self.0 % 8
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.wrapping_mul(31).wrapping_add(byte.into()));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u32),
    InsertTtl(u16, u32, u64),
    InsertInLastGeneration(u16, u32),
    GetOrInsert(u16, u32),
    FlushWhileMaking(u16, u32),
    Read(u16),
    Remove(u16),
    Flush,
    Drain,
    Reclaim(usize),
    Wait(u64),
    RemoveExpired,
    Shrink,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..200_u16;
    prop_oneof![
        12 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::Insert(key, value)),
        2 => (key.clone(), any::<u32>(), 0..9_u64).prop_map(|(key, value, ttl)| Step::InsertTtl(key, value, ttl)),
        1 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::InsertInLastGeneration(key, value)),
        4 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::GetOrInsert(key, value)),
        1 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::FlushWhileMaking(key, value)),
        8 => key.clone().prop_map(Step::Read),
        3 => key.prop_map(Step::Remove),
        1 => Just(Step::Flush),
        1 => Just(Step::Drain),
        1 => (0..20_usize).prop_map(Step::Reclaim),
        2 => (0..5_u64).prop_map(Step::Wait),
        1 => Just(Step::RemoveExpired),
        1 => Just(Step::Shrink),
    ]
}

proptest! {
    #[test]
    fn a_cache_without_limits_is_a_map(steps in proptest::collection::vec(step(), 0..400), shards in 0..4_usize) {
        check(Builder::with_hasher(std::hash::RandomState::new()), 1 << shards, steps)?;
    }

    #[test]
    fn values_kept_inline_are_as_good(steps in proptest::collection::vec(step(), 0..200), shards in 0..4_usize) {
        check(Builder::with_hasher(std::hash::RandomState::new()).inline(), 1 << shards, steps)?;
    }

    #[test]
    fn a_bad_hasher_makes_it_slow_and_not_wrong(steps in proptest::collection::vec(step(), 0..200)) {
        check(Builder::with_hasher(BuildHasherDefault::<Octal>::default()), 2, steps)?;
    }
}

fn check<S: BuildHasher, H: Storage<u32, Stored: Borrow<u32>>>(
    builder: Builder<u16, u32, S, H>,
    shards: usize,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let now = Arc::new(AtomicU64::new(7));
    let clock = Arc::clone(&now);
    let cache = builder.shards(shards).clock(move || clock.load(Ordering::Relaxed)).build();
    // Value and the time from which it is no longer there.
    let mut model: HashMap<u16, (u32, u64)> = HashMap::new();
    let mut last = None;
    for step in steps {
        let now_ns = now.load(Ordering::Relaxed);
        let live = |model: &HashMap<u16, (u32, u64)>, key| {
            model.get(&key).filter(|(_, until)| now_ns < *until).map(|(value, _)| *value)
        };
        match step {
            Step::Insert(key, value) => {
                let old = cache.insert(key, value).map(|old| *old.borrow());
                prop_assert_eq!(old, live(&model, key));
                model.insert(key, (value, u64::MAX));
            }
            Step::InsertTtl(key, value, ttl) => {
                let old =
                    cache.insert_with_ttl(key, value, Duration::from_nanos(ttl)).map(|old| *old.borrow());
                prop_assert_eq!(old, live(&model, key));
                model.insert(key, (value, now_ns + ttl));
            }
            Step::InsertInLastGeneration(key, value) => {
                if let Some(last) = last {
                    prop_assert!(cache.insert_in(last, key, value).is_err());
                }
                let old = cache.insert_in(cache.generation(), key, value).unwrap().map(|old| *old.borrow());
                prop_assert_eq!(old, live(&model, key));
                model.insert(key, (value, u64::MAX));
            }
            Step::GetOrInsert(key, value) => {
                let expected = live(&model, key).unwrap_or(value);
                prop_assert_eq!(cache.get_or_insert_with(key, || value), expected);
                if live(&model, key).is_none() {
                    model.insert(key, (value, u64::MAX));
                }
            }
            Step::FlushWhileMaking(key, value) => {
                let was = live(&model, key);
                let got = cache.get_or_insert_with(key, || {
                    last = Some(cache.generation());
                    cache.flush();
                    value
                });
                prop_assert_eq!(got, was.unwrap_or(value));
                if was.is_none() {
                    model.clear();
                }
            }
            Step::Read(key) => {
                prop_assert_eq!(cache.get(&key), live(&model, key));
                prop_assert_eq!(cache.contains_key(&key), live(&model, key).is_some());
            }
            Step::Remove(key) => {
                prop_assert_eq!(cache.remove(&key).map(|old| *old.borrow()), live(&model, key));
                model.remove(&key);
            }
            Step::Flush => {
                last = Some(cache.generation());
                cache.flush();
                model.clear();
            }
            Step::Drain => {
                last = Some(cache.generation());
                let mut drained: Vec<_> =
                    cache.drain().into_iter().map(|(key, value)| (key, *value.borrow())).collect();
                let mut expected: Vec<_> = model.drain().map(|(key, (value, _))| (key, value)).collect();
                drained.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(drained, expected);
            }
            Step::Reclaim(most) => {
                let dead = cache.dead();
                prop_assert_eq!(cache.reclaim(most), dead.min(most));
                prop_assert_eq!(cache.dead(), dead - dead.min(most));
            }
            Step::Wait(ns) => {
                now.fetch_add(ns, Ordering::Relaxed);
            }
            Step::RemoveExpired => {
                let before = model.len();
                model.retain(|_, (_, until)| now_ns < *until);
                // Of what was flushed some may expire as well, before it is counted as dead.
                prop_assert!(cache.remove_expired() >= before - model.len());
            }
            Step::Shrink => {
                cache.shrink();
                prop_assert_eq!(cache.dead(), 0);
            }
        }
        prop_assert_eq!((cache.len(), cache.weight()), (model.len(), model.len() as u64));
    }
    let now_ns = now.load(Ordering::Relaxed);
    for (key, (value, until)) in model {
        prop_assert_eq!(cache.get(&key), (now_ns < until).then_some(value));
    }
    Ok(())
}

#[test]
fn shared_caches_are_as_sendable_as_what_they_hold() {
    fn shareable<T: Send + Sync>(_: &T) {}
    shareable(&FlushCache::<String, Vec<u8>>::new());
}
