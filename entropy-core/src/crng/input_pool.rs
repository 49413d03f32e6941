//! The pool of today: a hash that never ends. Taking from it replaces it by one that is keyed with what was not taken.

use core::mem;

use crate::{
    blake2s::{Blake2s, DIGEST_BYTES, blake2s},
    wipe::wipe,
};

/// From here on output is allowed to hope.
pub const EARLY_BITS: u32 = 128;

/// From here on credit is no longer counted.
pub const READY_BITS: u32 = 256;

/// Words of the block that is hashed beside the pool's digest.
const SEED_WORDS: usize = 4;

/// The block and a counter behind it.
const BLOCK_BYTES: usize = 8 * (SEED_WORDS + 1);

/// The input pool.
///
/// ```
/// use entropy_core::crng::InputPool;
///
/// let mut pool = InputPool::default();
/// pool.mix(b"what happened, and when");
/// let (mut one, mut other) = ([0; 32], [0; 32]);
/// pool.extract(&mut || 0, &mut one);
/// pool.extract(&mut || 0, &mut other);
/// assert_ne!(one, other);
/// ```
#[derive(Debug)]
pub struct InputPool {
    hash: Blake2s,
    credited_bits: u32,
}

impl Default for InputPool {
    fn default() -> Self {
        Self { hash: Blake2s::new(DIGEST_BYTES), credited_bits: 0 }
    }
}

impl InputPool {
    /// Mixes bytes in.
    pub fn mix(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// Credits bits, up to [`READY_BITS`]; returns the count before and after.
    pub fn credit(&mut self, bits: u32) -> [u32; 2] {
        let before = self.credited_bits;
        self.credited_bits = before.saturating_add(bits).min(READY_BITS);
        [before, self.credited_bits]
    }

    /// Bits credited so far.
    #[must_use]
    pub fn credited_bits(&self) -> u32 {
        self.credited_bits
    }

    /// Fills `out` and replaces the pool. `word` is asked for four words that are hashed beside the digest; how many
    /// bits were credited is not looked at.
    ///
    /// Each piece of 32 bytes is a hash of its own, and a shorter last one has its length as a parameter of the hash: it is
    /// *not* the beginning of a longer one.
    pub fn extract(&mut self, word: &mut impl FnMut() -> u64, out: &mut [u8]) {
        let mut block = [0; BLOCK_BYTES];
        for place in block.as_chunks_mut().0.iter_mut().take(SEED_WORDS) {
            *place = word().to_le_bytes();
        }
        let (mut seed, mut next_key) = ([0; DIGEST_BYTES], [0; DIGEST_BYTES]);
        mem::replace(&mut self.hash, Blake2s::new(DIGEST_BYTES)).finish(&mut seed);
        blake2s(&seed, &block, &mut next_key);
        self.hash = Blake2s::keyed(&next_key, DIGEST_BYTES);
        for (number, piece) in (1_u64..).zip(out.chunks_mut(DIGEST_BYTES)) {
            block[8 * SEED_WORDS..].copy_from_slice(&number.to_le_bytes());
            blake2s(&seed, &block, piece);
        }
        wipe(&mut seed);
        wipe(&mut next_key);
        wipe(&mut block);
    }
}

/// A pool behind a lock is where the interrupts' fast pools go.
#[cfg(all(feature = "std", not(loom)))]
mod destination {
    use std::sync::{Mutex, PoisonError, TryLockError};

    use super::InputPool;
    use crate::fast_pool::{Destination, Handed};

    impl InputPool {
        fn take_in(&mut self, handed: &Handed) {
            self.mix(handed.bytes());
            self.credit(handed.credit_bits);
        }
    }

    impl Destination for Mutex<InputPool> {
        fn hand_over(&self, handed: &Handed) {
            // A hash has no state that a panic of somebody else could have left half-made.
            self.lock().unwrap_or_else(PoisonError::into_inner).take_in(handed);
        }

        fn try_hand_over(&self, handed: &Handed) -> bool {
            match self.try_lock() {
                Ok(mut pool) => pool.take_in(handed),
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take_in(handed),
                Err(TryLockError::WouldBlock) => return false,
            }
            true
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn credit_ends_where_the_pool_is_ready() {
        let mut pool = InputPool::default();
        assert_eq!(pool.credit(100), [0, 100]);
        assert_eq!(pool.credit(0), [100, 100]);
        assert_eq!(pool.credit(u32::MAX), [100, 256]);
        assert_eq!(pool.credit(1), [256, 256]);
    }

    #[test]
    fn a_short_piece_is_not_the_beginning_of_a_long_one() {
        let take = |length: usize| {
            let mut out = alloc::vec![0; length];
            InputPool::default().extract(&mut || 1, &mut out);
            out
        };
        assert_ne!(take(31), take(32)[..31]);
        assert_eq!(take(33)[..32], take(32)[..]);
        assert!(take(0).is_empty());
    }
}
