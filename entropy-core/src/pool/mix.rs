//! The mixing step, once, and the four ways of feeding it.
//!
//! A pool is a twisted generalised feedback shift register: each input word is rotated, folded with six words of
//! the pool and written over the last of them, while the pool is walked from its end to its start.

use core::{iter::Copied, slice};

use super::{
    layout::Store,
    lock::LockWatch,
    plan::{Extent, MixPlan, Place, Prefetch},
};
use crate::{
    prefetch,
    sync::{AtomicU32, Ordering},
};

/// How many words of the pool a mixing call can hand out under its lock (Linux 2.6.10).
pub(crate) const HANDED_OUT_WORDS: usize = 16;

/// A word shifted by three bits, the ones that fall out coming back in as a CRC-32 would feed them.
const TWIST: [u32; 8] = {
    const REFLECTED_CRC32: u32 = 0xedb8_8320;
    let mut table = [0; 8];
    let mut index = 0;
    while index < 8 {
        let mut word = index as u32;
        let mut bit = 0;
        while bit < 3 {
            word = (word >> 1) ^ if word & 1 == 1 { REFLECTED_CRC32 } else { 0 };
            bit += 1;
        }
        table[index] = word;
        index += 1;
    }
    table
};

/// Mixes `words` into the pool under its lock; `handed_out`, if any, is filled before the lock is given back.
///
/// The posted code read its first input word before it looked at their number. Here no words is no work: not the
/// lock, not a prefetch.
pub(crate) fn mix<S: Store, W: LockWatch>(
    store: &S,
    plan: MixPlan,
    words: &[u32],
    handed_out: Option<&mut [u32; HANDED_OUT_WORDS]>,
    watch: &mut W,
) {
    if words.is_empty() {
        return;
    }
    let prefetch = plan.prefetch;
    match (plan.hoisted, plan.read_ahead) {
        (false, false) => run::<_, Reloaded<S>, AsNeeded>(store, prefetch, words, handed_out, watch),
        (false, true) => run::<_, Reloaded<S>, Ahead>(store, prefetch, words, handed_out, watch),
        (true, false) => run::<_, Hoisted<S>, AsNeeded>(store, prefetch, words, handed_out, watch),
        (true, true) => run::<_, Hoisted<S>, Ahead>(store, prefetch, words, handed_out, watch),
    }
}

/// A function for each variant, so that none pays for the registers and the frame of another.
#[inline(never)]
fn run<'a, S: Store, R: Registers<'a, S>, I: Input<'a>>(
    store: &'a S,
    prefetch: Prefetch,
    words: &'a [u32],
    handed_out: Option<&mut [u32; HANDED_OUT_WORDS]>,
    watch: &mut impl LockWatch,
) {
    let pool = store.words();
    let mut registers = R::before_lock(store);
    let input = I::before_lock(words);
    prefetch_at(Place::BeforeLock, prefetch, pool);
    store.lock().with(watch, move || {
        prefetch_at(Place::InsideLock, prefetch, pool);
        registers.enter();
        stir(pool, &mut registers, input);
        if let Some(handed_out) = handed_out {
            hand_out(pool, registers.add_ptr(), handed_out);
        }
        registers.leave();
    });
}

#[inline]
fn prefetch_at(here: Place, prefetch: Prefetch, pool: &[AtomicU32]) {
    let Prefetch::At { extent, place } = prefetch else { return };
    if place != here {
        return;
    }
    let lines = extent.offsets(size_of_val(pool)).filter_map(|at| pool.get(at / 4));
    match extent {
        Extent::ForWrite => lines.for_each(prefetch::to_write),
        _ => lines.for_each(prefetch::to_read),
    }
}

#[inline(always)]
fn stir<'a, S: 'a>(
    pool: &[AtomicU32],
    registers: &mut impl Registers<'a, S>,
    input: impl Iterator<Item = u32>,
) {
    // Stated like this, the compiler knows that a masked index is inside the pool.
    let Some(mask) = pool.len().checked_sub(1) else { return };
    for word in input {
        // The rotation of *this* word is the one that the last word left.
        let rotate = registers.input_rotate();
        let mut w = word.rotate_left(rotate);

        let i = (registers.add_ptr() as usize).wrapping_sub(1) & mask;
        registers.set_add_ptr(i as u32);

        // Seven more bits at the start of the pool, so that successive passes do not meet the same bits again.
        registers.set_input_rotate((rotate + if i == 0 { 14 } else { 7 }) & 31);

        for tap in 0..5 {
            w ^= pool[(i + registers.tap(tap) as usize) & mask].load(Ordering::Relaxed);
        }
        w ^= pool[i].load(Ordering::Relaxed);
        pool[i].store((w >> 3) ^ TWIST[(w & 7) as usize], Ordering::Relaxed);
    }
}

/// Sixteen words downwards from the one that was written last.
fn hand_out(pool: &[AtomicU32], add_ptr: u32, words: &mut [u32; HANDED_OUT_WORDS]) {
    let Some(mask) = pool.len().checked_sub(1) else { return };
    for (back, word) in words.iter_mut().enumerate() {
        *word = pool[(add_ptr as usize).wrapping_sub(back) & mask].load(Ordering::Relaxed);
    }
}

/// Where the loop finds taps, position and rotation.
trait Registers<'a, S>: Sized {
    fn before_lock(store: &'a S) -> Self;
    fn enter(&mut self) {}
    fn leave(&mut self) {}
    fn tap(&self, which: usize) -> u32;
    fn add_ptr(&self) -> u32;
    fn set_add_ptr(&mut self, to: u32);
    fn input_rotate(&self) -> u32;
    fn set_input_rotate(&mut self, to: u32);
}

/// In the pool's structure, for every word anew.
struct Reloaded<'a, S>(&'a S);

impl<'a, S: Store> Registers<'a, S> for Reloaded<'a, S> {
    fn before_lock(store: &'a S) -> Self {
        Self(store)
    }
    fn tap(&self, which: usize) -> u32 {
        self.0.info().tap(which)
    }
    fn add_ptr(&self) -> u32 {
        self.0.counters().add_ptr.load(Ordering::Relaxed)
    }
    fn set_add_ptr(&mut self, to: u32) {
        self.0.counters().add_ptr.store(to, Ordering::Relaxed);
    }
    fn input_rotate(&self) -> u32 {
        self.0.counters().input_rotate.load(Ordering::Relaxed)
    }
    fn set_input_rotate(&mut self, to: u32) {
        self.0.counters().input_rotate.store(to, Ordering::Relaxed);
    }
}

/// In registers: taps since before the lock (they never change), position and rotation while it is held.
struct Hoisted<'a, S> {
    store: &'a S,
    taps: [u32; 5],
    add_ptr: u32,
    input_rotate: u32,
}

impl<'a, S: Store> Registers<'a, S> for Hoisted<'a, S> {
    fn before_lock(store: &'a S) -> Self {
        let info = store.info();
        // Spelled out: `map` is not always inlined, and then the array is in memory for good.
        let taps = [info.tap(0), info.tap(1), info.tap(2), info.tap(3), info.tap(4)];
        Self { store, taps, add_ptr: 0, input_rotate: 0 }
    }
    fn enter(&mut self) {
        self.add_ptr = self.store.counters().add_ptr.load(Ordering::Relaxed);
        self.input_rotate = self.store.counters().input_rotate.load(Ordering::Relaxed);
    }
    fn leave(&mut self) {
        self.store.counters().input_rotate.store(self.input_rotate, Ordering::Relaxed);
        self.store.counters().add_ptr.store(self.add_ptr, Ordering::Relaxed);
    }
    fn tap(&self, which: usize) -> u32 {
        self.taps[which]
    }
    fn add_ptr(&self) -> u32 {
        self.add_ptr
    }
    fn set_add_ptr(&mut self, to: u32) {
        self.add_ptr = to;
    }
    fn input_rotate(&self) -> u32 {
        self.input_rotate
    }
    fn set_input_rotate(&mut self, to: u32) {
        self.input_rotate = to;
    }
}

/// The words of one call, in order.
trait Input<'a>: Iterator<Item = u32> {
    fn before_lock(words: &'a [u32]) -> Self;
}

/// Each read when it is mixed.
type AsNeeded<'a> = Copied<slice::Iter<'a, u32>>;

impl<'a> Input<'a> for AsNeeded<'a> {
    fn before_lock(words: &'a [u32]) -> Self {
        words.iter().copied()
    }
}

/// Each read when the one before it is mixed.
struct Ahead<'a> {
    next: Option<u32>,
    rest: AsNeeded<'a>,
}

impl<'a> Input<'a> for Ahead<'a> {
    fn before_lock(words: &'a [u32]) -> Self {
        let mut rest = words.iter().copied();
        Self { next: rest.next(), rest }
    }
}

impl Iterator for Ahead<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let word = self.next?;
        self.next = self.rest.next();
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twist_is_three_steps_of_crc_32() {
        assert_eq!(
            TWIST,
            [0, 0x3b6e_20c8, 0x76dc_4190, 0x4db2_6158, 0xedb8_8320, 0xd6d6_a3e8, 0x9b64_c2b0, 0xa00a_e278]
        );
    }

    #[test]
    fn reading_ahead_gives_the_same_words() {
        for words in [&[][..], &[1], &[1, 2, 3]] {
            assert!(Ahead::before_lock(words).eq(AsNeeded::before_lock(words)));
        }
    }
}
