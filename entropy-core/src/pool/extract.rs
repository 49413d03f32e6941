//! Bytes out of a pool: SHA-1 over its words, ten bytes at a time, in the two forms of 2004.
//!
//! Both forms hash the pool *without its lock* and mix one word of the digest back after each block. In the first
//! form nothing else tells two extractors apart: if each hashes every block before the other has changed it,
//! both get the same bytes. That fault of the design was reported in November 2004 and is reproduced here on purpose;
//! the words are atomics, so it is a wrong answer and not a data race. The second form is the mend.

use sha1::block_api::compress;
use strum::{Display, EnumString, VariantArray};

use super::{Pool, lock::LockWatch, mix::HANDED_OUT_WORDS};
use crate::sync::Ordering;

/// Bytes that one round gives.
pub const ROUND_BYTES: usize = 10;

const BLOCK_WORDS: usize = 16;

/// How the digest of a round becomes bytes.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ExtractForm {
    /// Linux 2.6.0 to 2.6.9: folded as it is. Two extractors at once may get the same bytes.
    DirectFold,
    /// Linux 2.6.10: one more word is mixed, sixteen words of the pool are taken under the same lock and hashed, and
    /// then it is folded. No two extractors can take the same sixteen words.
    FinalHash,
}

/// One round, step by step, for those who want to interleave two: [`hash_block`](Self::hash_block) and
/// [`feed_back`](Self::feed_back) by turns until there is no block left, then [`finish`](Self::finish).
/// [`Pool::extract`] does just that.
#[derive(Debug)]
pub struct Round<'a> {
    pool: &'a Pool,
    form: ExtractForm,
    digest: [u32; 5],
    next_word: usize,
    fed_back: usize,
}

impl<'a> Round<'a> {
    /// Begins a round on `pool`.
    #[must_use]
    pub fn new(pool: &'a Pool, form: ExtractForm) -> Self {
        // The standard's initial value; there is no padding and no length, since what is hashed never varies in length.
        let digest = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        Self { pool, form, digest, next_word: 0, fed_back: 0 }
    }

    /// Hashes the next sixteen words, read without the lock; `false` if there are none left.
    pub fn hash_block(&mut self) -> bool {
        if self.next_word >= self.pool.size().words() {
            return false;
        }
        let start = self.next_word;
        self.next_word += BLOCK_WORDS;
        let block = self.pool.with_store(|store| {
            core::array::from_fn(|word| store.words()[start + word].load(Ordering::Relaxed))
        });
        hash(&mut self.digest, &block);
        true
    }

    /// Mixes one word of the digest into the pool, under its lock: words 0, 2, 4, 1, 3 by turns.
    pub fn feed_back(&mut self, watch: &mut impl LockWatch) {
        self.pool.mix_watched(&[self.turn()], watch);
    }

    /// The round's bytes.
    pub fn finish(mut self, watch: &mut impl LockWatch) -> [u8; ROUND_BYTES] {
        if self.form == ExtractForm::FinalHash {
            let mut taken = [0; HANDED_OUT_WORDS];
            let word = self.turn();
            self.pool.mix_into_store(&[word], Some(&mut taken), watch);
            hash(&mut self.digest, &taken);
        }
        fold(self.digest)
    }

    fn turn(&mut self) -> u32 {
        let word = self.digest[self.fed_back % 5];
        self.fed_back += 2;
        word
    }
}

impl Pool {
    /// Fills `out` from the pool, and stirs it. Entropy is not accounted: see [`Pool::account`].
    ///
    /// In the form [`ExtractForm::DirectFold`] two callers at once may get the same bytes, as in the original.
    pub fn extract(&self, form: ExtractForm, out: &mut [u8]) {
        self.extract_watched(form, out, &mut ());
    }

    /// As [`extract`](Self::extract), telling `watch` of every time that the lock is taken.
    pub fn extract_watched(&self, form: ExtractForm, out: &mut [u8], watch: &mut impl LockWatch) {
        for bytes in out.chunks_mut(ROUND_BYTES) {
            let mut round = Round::new(self, form);
            while round.hash_block() {
                round.feed_back(watch);
            }
            bytes.copy_from_slice(&round.finish(watch)[..bytes.len()]);
        }
    }
}

/// SHA-1's compression of words as they are: the crate reads blocks big-endian, so each word is written that way
/// and comes out unswapped on every machine.
fn hash(digest: &mut [u32; 5], words: &[u32; BLOCK_WORDS]) {
    let mut block = [0; 4 * BLOCK_WORDS];
    for (bytes, word) in block.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    compress(digest, &[block]);
}

/// A digest folded in half, so that a pattern of the hash would not show. The original copied memory: bytes come
/// little end first, as on the machines of the time that matter here, and here on every machine.
fn fold([a, b, c, d, e]: [u32; 5]) -> [u8; ROUND_BYTES] {
    let middle = c ^ (c >> 16);
    let mut bytes = [0; ROUND_BYTES];
    bytes[..4].copy_from_slice(&(a ^ d).to_le_bytes());
    bytes[4..8].copy_from_slice(&(b ^ e).to_le_bytes());
    bytes[8..].copy_from_slice(&(middle as u16).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha_1_of_native_words() {
        // FIPS 180's first example, "abc", padded by hand.
        let mut words = [0; BLOCK_WORDS];
        (words[0], words[15]) = (0x6162_6380, 24);
        let mut digest = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
        hash(&mut digest, &words);
        assert_eq!(digest, [0xa999_3e36, 0x4706_816a, 0xba3e_2571, 0x7850_c26c, 0x9cd0_d89d]);
    }

    #[test]
    fn the_fold_is_ten_bytes_little_end_first() {
        let folded = fold([0x0403_0201, 0x0807_0605, 0xabcd_1234, 0, 0x1111_1111]);
        // 0xabcd ^ 0x1234 = 0xb9f9
        assert_eq!(folded, [1, 2, 3, 4, 0x14, 0x17, 0x16, 0x19, 0xf9, 0xb9]);
    }
}
