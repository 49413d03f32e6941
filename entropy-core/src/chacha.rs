//! ChaCha20 (RFC 8439), a block at a time: the portable form, and the reference for every other.
//!
//! The counter has 64 bits, as in the kernel and in the cipher's first description; the RFC's has 32, and both agree as
//! long as it does not wrap.

use core::fmt;

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
    /// A state that will make block `counter`.
    #[must_use]
    pub fn new(key: &[u8; KEY_BYTES], counter: u64, nonce: u64) -> Self {
        let mut words = [0; 16];
        words[..4].copy_from_slice(&CONSTANTS);
        words[12] = counter as u32;
        words[13] = (counter >> 32) as u32;
        words[14] = nonce as u32;
        words[15] = (nonce >> 32) as u32;
        let mut state = Self { words };
        state.set_key(key);
        state
    }

    /// Another key; counter and nonce stay.
    pub fn set_key(&mut self, key: &[u8; KEY_BYTES]) {
        for (word, bytes) in self.words[4..12].iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }

    /// The number of the block that comes next.
    #[must_use]
    pub fn counter(&self) -> u64 {
        u64::from(self.words[12]) | u64::from(self.words[13]) << 32
    }

    /// Writes the next block. The counter wraps at 2^64.
    pub fn block(&mut self, out: &mut [u8; BLOCK_BYTES]) {
        let mut v = self.words;
        for _ in 0..10 {
            for lane in LANES {
                quarter(&mut v, lane);
            }
        }
        for ((bytes, mixed), word) in out.as_chunks_mut().0.iter_mut().zip(v).zip(self.words) {
            *bytes = mixed.wrapping_add(word).to_le_bytes();
        }
        wipe(&mut v);
        let next = self.counter().wrapping_add(1);
        self.words[12] = next as u32;
        self.words[13] = (next >> 32) as u32;
    }

    /// Fills `out` with the blocks from here on, the last one cut.
    pub fn fill(&mut self, out: &mut [u8]) {
        let (blocks, rest) = out.as_chunks_mut();
        blocks.iter_mut().for_each(|block| self.block(block));
        if !rest.is_empty() {
            let mut block = [0; BLOCK_BYTES];
            self.block(&mut block);
            rest.copy_from_slice(&block[..rest.len()]);
            wipe(&mut block);
        }
    }
}

#[inline]
fn quarter(v: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    v[a] = v[a].wrapping_add(v[b]);
    v[d] = (v[d] ^ v[a]).rotate_left(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_left(12);
    v[a] = v[a].wrapping_add(v[b]);
    v[d] = (v[d] ^ v[a]).rotate_left(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_left(7);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use chacha20::{
        ChaCha20Legacy,
        cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _},
    };
    use proptest::prelude::*;

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

    /// Another implementation, at the wraps where vector code goes wrong.
    #[test]
    fn counters_carry_at_every_wrap() {
        let (key, nonce) = ([7; KEY_BYTES], [3; 8]);
        for wrap in [1 << 32, 1 << 33, 1 << 48] {
            for before in 0..20 {
                let start = wrap - before;
                let (mut ours, mut theirs) = ([0; 21 * BLOCK_BYTES], [0; 21 * BLOCK_BYTES]);
                ChaCha20::new(&key, start, u64::from_le_bytes(nonce)).fill(&mut ours);
                let mut cipher = ChaCha20Legacy::new(&key.into(), &nonce.into());
                cipher.seek(start * BLOCK_BYTES as u64);
                cipher.apply_keystream(&mut theirs);
                assert_eq!(ours, theirs, "{start}");
            }
        }
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

    proptest! {
        #[test]
        fn the_stream_is_that_of_another_implementation(
            key: [u8; KEY_BYTES],
            nonce: [u8; 8],
            start in 0_u64..1 << 50,
            length in 0_usize..300,
        ) {
            let mut ours = alloc::vec![0; length];
            let mut theirs = ours.clone();
            ChaCha20::new(&key, start, u64::from_le_bytes(nonce)).fill(&mut ours);
            let mut cipher = ChaCha20Legacy::new(&key.into(), &nonce.into());
            cipher.seek(start * BLOCK_BYTES as u64);
            cipher.apply_keystream(&mut theirs);
            prop_assert_eq!(ours, theirs);
        }
    }
}
