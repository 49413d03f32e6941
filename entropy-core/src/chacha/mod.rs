//! ChaCha20 (RFC 8439): blocks by the portable reference, streams by the fastest backend there is.
//!
//! The counter has 64 bits, as in the kernel and in the cipher's first description; the RFC's has 32, and both agree as
//! long as it does not wrap.
//!
//! | file | holds |
//! | --- | --- |
//! | `portable` | one block in plain arithmetic: the reference |
//! | `avx2`, `avx512` | eight and sixteen blocks at a time |
//! | `backend` | which of them this processor can run, and the loop around them |
//!
//! What a backend leaves in vector registers, and what the compiler puts on the stack meanwhile, is not wiped; keys and
//! blocks in memory of ours are.

mod backend;
mod portable;

// The wide kernels, or nobody in their place.
#[cfg_attr(not(all(target_arch = "x86_64", not(any(miri, loom)))), path = "absent.rs")]
mod avx2;
#[cfg_attr(not(all(target_arch = "x86_64", not(any(miri, loom)))), path = "absent.rs")]
mod avx512;

use core::fmt;

pub use self::backend::Backend;
use crate::wipe::wipe;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// "expand 32-byte k"
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Columns, then diagonals; BLAKE2s took the same order over from the cipher.
pub(crate) const LANES: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Key, counter and nonce. It is not `Clone`, does not print itself, and is wiped when dropped.
pub struct ChaCha20 {
    words: [u32; 16],
    backend: Backend,
}

impl fmt::Debug for ChaCha20 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChaCha20").finish_non_exhaustive()
    }
}

impl Drop for ChaCha20 {
    fn drop(&mut self) {
        wipe(&mut self.words);
    }
}

impl ChaCha20 {
    /// A state that will make block `counter`, by the fastest backend here.
    #[must_use]
    pub fn new(key: &[u8; KEY_BYTES], counter: u64, nonce: u64) -> Self {
        Self::with_backend(Backend::best(), key, counter, nonce)
    }

    /// The same by a backend of one's choice.
    #[must_use]
    #[inline]
    pub fn with_backend(backend: Backend, key: &[u8; KEY_BYTES], counter: u64, nonce: u64) -> Self {
        let mut words = [0; 16];
        words[..4].copy_from_slice(&CONSTANTS);
        words[12] = counter as u32;
        words[13] = (counter >> 32) as u32;
        words[14] = nonce as u32;
        words[15] = (nonce >> 32) as u32;
        let mut state = Self { words, backend };
        state.set_key(key);
        state
    }

    /// Another key; counter and nonce stay.
    #[inline]
    pub fn set_key(&mut self, key: &[u8; KEY_BYTES]) {
        for (word, bytes) in self.words[4..12].iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }

    /// The number of the block that comes next.
    #[must_use]
    pub fn counter(&self) -> u64 {
        backend::counter(&self.words)
    }

    /// Writes the next block. The counter wraps at 2^64.
    pub fn block(&mut self, out: &mut [u8; BLOCK_BYTES]) {
        portable::block(&self.words, out);
        backend::advance(&mut self.words, 1);
    }

    /// Fills `out` with the blocks from here on, the last one cut: what is left of that one is nobody's.
    #[inline]
    pub fn fill(&mut self, out: &mut [u8]) {
        self.backend.fill(&mut self.words, out);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// RFC 8439, 2.3.2: key 00 01 .. 1f, nonce 000000090000004a00000000, block 1. The first word of the RFC's nonce is
    /// the high half of our counter.
    #[test]
    fn the_block_of_the_rfc_comes_out() {
        let key = core::array::from_fn(|byte| byte as u8);
        let mut block = [0; BLOCK_BYTES];
        ChaCha20::new(&key, 0x0900_0000_0000_0001, 0x4a00_0000).block(&mut block);
        let words = block.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let expected: [u32; 16] = [
            0xe4e7_f110,
            0x1559_3bd1,
            0x1fdd_0f50,
            0xc471_20a3,
            0xc7f4_d1c7,
            0x0368_c033,
            0x9aaa_2204,
            0x4e6c_d4c3,
            0x4664_82d2,
            0x09aa_9f07,
            0x05d7_c214,
            0xa202_8bd9,
            0xd19c_12b5,
            0xb94e_16de,
            0xe883_d0cb,
            0x4e3c_50a2,
        ];
        assert!(words.eq(expected));
    }

    #[test]
    fn the_counter_wraps_at_the_end_to_block_zero() {
        let key = [9; KEY_BYTES];
        let mut state = ChaCha20::new(&key, u64::MAX, 5);
        let (mut last, mut first, mut again) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES], [0; BLOCK_BYTES]);
        state.block(&mut last);
        assert_eq!(state.counter(), 0);
        state.block(&mut first);
        ChaCha20::new(&key, 0, 5).block(&mut again);
        assert_eq!(first, again);
        assert_ne!(first, last);
    }
}
