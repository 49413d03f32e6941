//! Every interleaving of two threads on one pool. Run with `RUSTFLAGS="--cfg loom"` and a target directory of its own.
#![cfg(loom)]

mod oracle;

use entropy_core::pool::{MixPlan, Pool, PoolSize};
use loom::{sync::Arc, thread};
use oracle::NaivePool;

fn naive(calls: [&[u32]; 2]) -> Vec<u32> {
    let mut pool = NaivePool::new(PoolSize::SECONDARY.words());
    calls.into_iter().for_each(|call| pool.mix(call));
    pool.words
}

fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// Under the lock no word is lost: the pool ends as if one of the two had come first.
#[test]
fn two_mixers_end_in_one_of_the_two_orders() {
    const ONE: &[u32] = &[0x0123_4567, 0x89ab_cdef];
    const OTHER: &[u32] = &[0xfeed_f00d];
    let orders = [naive([ONE, OTHER]), naive([OTHER, ONE])];
    assert_ne!(orders[0], orders[1]);
    for (name, plan) in MixPlan::NAMED {
        let orders = orders.clone();
        check(Some(3), move || {
            let pool = Arc::new(Pool::new(PoolSize::SECONDARY, plan));
            let mixer = {
                let pool = Arc::clone(&pool);
                thread::spawn(move || pool.mix(OTHER))
            };
            pool.mix(ONE);
            mixer.join().unwrap();
            let state = pool.state();
            assert!(orders.contains(&state.words), "{name}: {state:?}");
            assert_eq!((state.add_ptr, state.input_rotate), (29, 21), "{name}");
        });
    }
}

/// Dirtying a pool's lines, lock and all, disturbs no mixer.
#[test]
fn dirtying_beside_a_mixer_changes_nothing() {
    const WORDS: &[u32] = &[0xfeed_f00d];
    let expected = naive([WORDS, &[]]);
    check(Some(3), move || {
        let pool = Arc::new(Pool::new(PoolSize::SECONDARY, MixPlan::AS_POSTED));
        let dirtier = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.touch_for_write())
        };
        pool.mix(WORDS);
        dirtier.join().unwrap();
        assert_eq!(pool.state().words, expected);
    });
}

/// Credit is read, changed and written under the lock.
#[test]
fn no_credit_is_lost() {
    check(None, || {
        let pool = Arc::new(Pool::new(PoolSize::SECONDARY, MixPlan::AS_POSTED));
        let creditor = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.credit(8))
        };
        pool.credit(16);
        creditor.join().unwrap();
        assert_eq!(pool.entropy_bits(), 24);
    });
}
