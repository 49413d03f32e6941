//! The fence, observed: who sees the flag sees the data.
//!
//! A streaming store is not ordered by a release store. Each round one core streams a block and then raises a flag with
//! release; the other waits for the flag and checks the block. With the fence this never may fail; with the fence taken out
//! it failed in every run where it was written. The number of rounds is bounded, and grows with `COPY_ENGINE_FULL`.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

use copy_engine::{Engine, NextUse, Policy, Routine};

const BLOCK: usize = 4096;

/// A block that passes to and fro: whoever has the turn owns it.
struct Channel {
    block: UnsafeCell<[u8; BLOCK]>,
    turn: AtomicU64,
}

#[allow(unsafe_code, reason = "the hand-over by a flag is the subject")]
// SAFETY: the block is touched by the thread whose turn it is, and turns pass by release and acquire.
unsafe impl Sync for Channel {}

/// Passes `rounds` blocks from one thread to another.
#[allow(unsafe_code, reason = "the hand-over by a flag is the subject")]
fn pass(rounds: u64, write: impl Fn(&mut [u8], &[u8]) + Sync) {
    let channel = Channel { block: UnsafeCell::new([0; BLOCK]), turn: AtomicU64::new(0) };
    let channel = &channel;
    let mut early = None;
    let wait = |turn: u64| {
        let mut spins = 0u32;
        while channel.turn.load(Ordering::Acquire) != turn {
            spins += 1;
            // On one core the other thread would never get its turn.
            if spins.is_multiple_of(1024) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                wait(2 * round);
                let src = [round as u8 ^ 0x5a; BLOCK];
                // SAFETY: an even turn is the writer's.
                write(unsafe { &mut *channel.block.get() }, &src);
                channel.turn.store(2 * round + 1, Ordering::Release);
            }
        });
        for round in 0..rounds {
            wait(2 * round + 1);
            // SAFETY: an odd turn is the reader's.
            let block = unsafe { &*channel.block.get() };
            let stale = block.iter().position(|&byte| byte != round as u8 ^ 0x5a);
            channel.turn.store(2 * round + 2, Ordering::Release);
            early = early.or(stale.map(|at| (round, at)));
        }
    });
    assert_eq!(early, None, "round and byte at which the flag was seen before the data");
}

fn rounds() -> u64 {
    if std::env::var_os("COPY_ENGINE_FULL").is_some() { 200_000 } else { 2_000 }
}

#[test]
fn whoever_sees_the_flag_sees_what_was_streamed() {
    for &routine in Routine::ALL.iter().filter(|routine| routine.streams()) {
        let Some(available) = routine.on_this_cpu() else {
            eprintln!("skipped: this processor or build cannot run {routine}");
            continue;
        };
        pass(rounds(), |dst, src| {
            let _ = available.copy(dst, src);
        });
    }
}

#[test]
fn whoever_sees_the_flag_sees_the_whole_batch() {
    let engine = Engine::detect().with_policy(Policy::StreamAlways);
    pass(rounds(), |dst, src| {
        let _ = engine.batch(|batch| {
            for (dst, src) in dst.chunks_exact_mut(256).zip(src.chunks_exact(256)) {
                let _ = batch.copy(dst, src, NextUse::NotRead);
            }
        });
    });
}
