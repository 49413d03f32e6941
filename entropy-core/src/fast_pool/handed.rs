//! What leaves a fast pool, and what it is believed to be worth.

use crate::siphash::Word;

/// Two words of a fast pool on their way to the input pool: 16 bytes of a 64-bit kernel, 8 of a 32-bit one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    bytes: [u8; 16],
    length: usize,
    /// Interrupts since the last time, with [`MIX_INFLIGHT`](super::MIX_INFLIGHT) as it was.
    pub count: u32,
    /// Credit for them, in bits.
    pub credit_bits: u32,
}

impl Handed {
    pub(super) fn new<W: Word>(words: [W; 2], count: u32, credit_bits: u32) -> Self {
        let mut bytes = [0; 16];
        for (bytes, word) in bytes.chunks_exact_mut(W::BYTES).zip(words) {
            bytes.copy_from_slice(&word.widened().to_le_bytes()[..W::BYTES]);
        }
        Self { bytes, length: 2 * W::BYTES, count, credit_bits }
    }

    /// What is mixed in, little end first.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Credit for `count` interrupts in a kernel with words of type `W`, in bits: one for 64 interrupts, at least one, at
/// most eight for each byte that is handed over.
///
/// Only the low 16 bits of the count are looked at. Interrupts that arrive while a mix is under way are counted too, and
/// 65536 of them are worth as much as none.
#[must_use]
pub fn credit_bits<W: Word>(count: u32) -> u32 {
    ((count & 0xffff) / 64).clamp(1, 16 * W::BYTES as u32)
}

/// Where fast pools go: the input pool behind its lock.
pub trait Destination {
    /// Waits for the lock, mixes and credits.
    fn hand_over(&self, handed: &Handed);

    /// Mixes and credits if the lock is free now; whether it was. This is all that an interrupt may do.
    fn try_hand_over(&self, handed: &Handed) -> bool;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn both_widths_credit_no_more_than_they_hand_over() {
        assert_eq!((credit_bits::<u64>(0xffff), credit_bits::<u32>(0xffff)), (128, 64));
        assert_eq!((credit_bits::<u64>(0), credit_bits::<u32>(0)), (1, 1));
        assert_eq!((credit_bits::<u64>(0x1_0000), credit_bits::<u32>(0x1_0000)), (1, 1));
    }

    #[test]
    fn words_go_out_little_end_first() {
        let handed = Handed::new([0x0403_0201_u32, 0x0807_0605], 1, 1);
        assert_eq!(handed.bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        let handed = Handed::new([0x0807_0605_0403_0201_u64, 9], 1, 1);
        assert_eq!(handed.bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0]);
    }
}
