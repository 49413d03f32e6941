//! Real threads on one pool: no word is lost. (All interleavings of a small case: `tests/loom.rs`.)
#![cfg(not(loom))]

mod oracle;

use std::thread;

use entropy_core::pool::{ExtractForm, MixPlan, Pool, PoolSize};
use oracle::NaivePool;

const THREADS: usize = 4;
const CALLS: usize = 500;

/// All mix the same words, so that every order gives the same state, and a lost or doubled word another.
#[test]
fn mixers_lose_no_word() {
    const CALL: [u32; 3] = [0xdead_beef, 0x0bad_cafe, 0x1234_5678];
    let mut naive = NaivePool::new(PoolSize::PRIMARY.words());
    (0..THREADS * CALLS).for_each(|_| naive.mix(&CALL));
    for (name, plan) in MixPlan::NAMED {
        let pool = Pool::new(PoolSize::PRIMARY, plan);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..CALLS).for_each(|_| pool.mix(&CALL)));
            }
        });
        let state = pool.state();
        assert_eq!(state.words, naive.words, "{name}");
        assert_eq!(
            (state.add_ptr as usize, state.input_rotate),
            (naive.add_ptr, naive.input_rotate),
            "{name}"
        );
    }
}

/// Extractors and a dirtier beside them: how far the pool has moved tells whether every mixing was done.
#[test]
fn extractors_mix_every_word_that_they_should() {
    for (name, plan) in MixPlan::NAMED {
        for (form, mixed_a_round) in [(ExtractForm::DirectFold, 2), (ExtractForm::FinalHash, 3)] {
            let pool = Pool::new(PoolSize::SECONDARY, plan);
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| (0..50).for_each(|_| pool.extract(form, &mut [0; 35])));
                }
                scope.spawn(|| (0..200).for_each(|_| pool.touch_for_write()));
            });
            // 35 bytes are four rounds.
            let words = (THREADS * 50 * 4 * mixed_a_round) as u32;
            assert_eq!(pool.state().add_ptr, 0_u32.wrapping_sub(words) % 32, "{name} {form}");
            assert_eq!(pool.state().input_rotate, (7 * words + 7 * (words / 32)) % 32, "{name} {form}");
        }
    }
}
