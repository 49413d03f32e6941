//! BLAKE2s (RFC 7693), with a key and any length of digest: what the modern input pool is made of.
//!
//! Small and portable; it hashes a few dozen bytes at a time, where a faster one would not show.

use core::fmt;

use crate::{chacha::LANES, wipe::wipe};

/// Bytes of the longest digest and of the longest key.
pub const DIGEST_BYTES: usize = 32;

const BLOCK_BYTES: usize = 64;

const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// In which order each round takes the words of a block.
const ORDER: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// A hash under way. It holds key material: it is not `Clone`, does not print its state, and is wiped when dropped.
///
/// ```
/// use entropy_core::blake2s::Blake2s;
///
/// let mut hash = Blake2s::new(32);
/// hash.update(b"a");
/// hash.update(b"bc");
/// let mut digest = [0; 32];
/// hash.finish(&mut digest);
/// assert_eq!(digest[..4], [0x50, 0x8c, 0x5e, 0x8c]);
/// ```
pub struct Blake2s {
    chain: [u32; 8],
    hashed_bytes: u64,
    /// A block is hashed when the next byte is known to come: the last one is marked.
    block: [u8; BLOCK_BYTES],
    filled: usize,
}

impl fmt::Debug for Blake2s {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blake2s").finish_non_exhaustive()
    }
}

impl Drop for Blake2s {
    fn drop(&mut self) {
        wipe(&mut self.chain);
        wipe(&mut self.block);
    }
}

impl Blake2s {
    /// Without a key, for a digest of `digest_bytes`.
    ///
    /// # Panics
    ///
    /// Unless `digest_bytes` is 1 to 32.
    #[must_use]
    pub fn new(digest_bytes: usize) -> Self {
        Self::keyed(&[], digest_bytes)
    }

    /// With a key of up to 32 bytes; an empty one is none.
    ///
    /// # Panics
    ///
    /// Unless `digest_bytes` is 1 to 32 and the key at most 32 bytes.
    #[must_use]
    pub fn keyed(key: &[u8], digest_bytes: usize) -> Self {
        assert!((1..=DIGEST_BYTES).contains(&digest_bytes), "a digest of {digest_bytes} bytes");
        assert!(key.len() <= DIGEST_BYTES, "a key of {} bytes", key.len());
        let mut chain = INITIAL;
        // Fan-out and depth are one: no tree.
        chain[0] ^= 0x0101_0000 | (key.len() as u32) << 8 | digest_bytes as u32;
        let mut hash = Self { chain, hashed_bytes: 0, block: [0; BLOCK_BYTES], filled: 0 };
        if !key.is_empty() {
            hash.block[..key.len()].copy_from_slice(key);
            hash.filled = BLOCK_BYTES;
        }
        hash
    }

    /// Hashes `input`.
    pub fn update(&mut self, mut input: &[u8]) {
        while !input.is_empty() {
            if self.filled == BLOCK_BYTES {
                self.compress(false);
            }
            let taken = input.len().min(BLOCK_BYTES - self.filled);
            self.block[self.filled..][..taken].copy_from_slice(&input[..taken]);
            self.filled += taken;
            input = &input[taken..];
        }
    }

    /// Writes the digest to `out`, which is as long as was said.
    ///
    /// # Panics
    ///
    /// If `out` is longer than the longest digest.
    pub fn finish(mut self, out: &mut [u8]) {
        self.block[self.filled..].fill(0);
        self.compress(true);
        assert!(out.len() <= DIGEST_BYTES, "a digest of {} bytes", out.len());
        for (bytes, word) in out.chunks_mut(4).zip(self.chain) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }

    fn compress(&mut self, last: bool) {
        self.hashed_bytes += self.filled as u64;
        self.filled = 0;
        let mut message = [0; 16];
        for (word, bytes) in message.iter_mut().zip(self.block.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut v = [0; 16];
        v[..8].copy_from_slice(&self.chain);
        v[8..].copy_from_slice(&INITIAL);
        v[12] ^= self.hashed_bytes as u32;
        v[13] ^= (self.hashed_bytes >> 32) as u32;
        if last {
            v[14] = !v[14];
        }
        for order in &ORDER {
            for (lane, pair) in LANES.iter().zip(order.as_chunks::<2>().0) {
                quarter(&mut v, *lane, pair.map(|word| message[word]));
            }
        }
        for (word, chained) in self.chain.iter_mut().enumerate() {
            *chained ^= v[word] ^ v[word + 8];
        }
        wipe(&mut message);
        wipe(&mut v);
    }
}

#[inline]
fn quarter(v: &mut [u32; 16], [a, b, c, d]: [usize; 4], [first, second]: [u32; 2]) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(first);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(12);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(second);
    v[d] = (v[d] ^ v[a]).rotate_right(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(7);
}

/// All at once.
///
/// # Panics
///
/// Unless `out` is 1 to 32 bytes and the key at most 32.
pub fn blake2s(key: &[u8], input: &[u8], out: &mut [u8]) {
    let mut hash = Blake2s::keyed(key, out.len());
    hash.update(input);
    hash.finish(out);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sequence(out: &mut [u8], seed: u32) {
        let (mut a, mut b) = (0xdead_4bad_u32.wrapping_mul(seed), 1_u32);
        for byte in out {
            (a, b) = (b, a.wrapping_add(b));
            *byte = (b >> 24) as u8;
        }
    }

    /// RFC 7693, appendix E: a hash over digests of every kind of input.
    #[test]
    fn the_self_test_of_the_rfc_passes() {
        let mut all = Blake2s::new(32);
        for digest_bytes in [16, 20, 28, 32] {
            for input_bytes in [0, 3, 64, 65, 255, 1024] {
                let (mut input, mut key, mut digest) = ([0; 1024], [0; 32], [0; 32]);
                let (input, digest) = (&mut input[..input_bytes], &mut digest[..digest_bytes]);
                sequence(input, input_bytes as u32);
                blake2s(&[], input, digest);
                all.update(digest);
                sequence(&mut key[..digest_bytes], digest_bytes as u32);
                blake2s(&key[..digest_bytes], input, digest);
                all.update(digest);
            }
        }
        let mut digest = [0; 32];
        all.finish(&mut digest);
        let expected = [
            0x6a, 0x41, 0x1f, 0x08, 0xce, 0x25, 0xad, 0xcd, 0xfb, 0x02, 0xab, 0xa6, 0x41, 0x45, 0x1c, 0xec,
            0x53, 0xc5, 0x98, 0xb2, 0x4f, 0x4f, 0xc7, 0x87, 0xfb, 0xdc, 0x88, 0x79, 0x7f, 0x4c, 0x1d, 0xfe,
        ];
        assert_eq!(digest, expected);
    }

    #[test]
    fn how_the_input_is_cut_does_not_matter() {
        let mut input = [0; 200];
        sequence(&mut input, 1);
        let mut whole = [0; 32];
        blake2s(b"key", &input, &mut whole);
        for cut in 0..=input.len() {
            let mut hash = Blake2s::keyed(b"key", 32);
            hash.update(&input[..cut]);
            hash.update(&input[cut..]);
            let mut digest = [0; 32];
            hash.finish(&mut digest);
            assert_eq!(digest, whole, "{cut}");
        }
    }
}
