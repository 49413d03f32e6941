//! The round of SipHash and of its 32-bit half: what stirs the fast pool, and the generator of 2020.

use core::{fmt, ops::BitXor};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for u32 {}
}

/// A machine word, `unsigned long` to the kernel: 64 bits with SipHash, 32 bits with HalfSipHash.
pub trait Word:
    Copy + Default + Eq + Ord + fmt::Debug + fmt::LowerHex + BitXor<Output = Self> + Send + Sync + sealed::Sealed
{
    /// Bytes of it.
    const BYTES: usize;
    /// What a state begins with: "somepseudorandomlygeneratedbytes", or the half of it.
    const START: [Self; 4];
    /// What the kernel's generator of 2020 keys its last two words with.
    const KEYS: [Self; 2];
    /// Rotations of a round, in the order in which they are done.
    const ROTATIONS: [u32; 6];

    /// The low bits of `wide`.
    fn truncated(wide: u64) -> Self;
    /// The same number, with zeros above.
    fn widened(self) -> u64;
    /// Sum without the carry.
    fn plus(self, other: Self) -> Self;
    /// Rotated to the left.
    fn rotated(self, bits: u32) -> Self;
    /// The number of an interrupt with its bytes in reverse order: sign-extended first, so that a negative one fills
    /// the whole word.
    fn swapped_irq(irq: i32) -> Self;
    /// Whether this moment, in ticks of a clock that wraps, comes after `other`.
    fn is_after(self, other: Self) -> bool;
}

impl Word for u64 {
    const BYTES: usize = 8;
    const START: [Self; 4] =
        [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
    const KEYS: [Self; 2] = [Self::START[0] ^ Self::START[2], Self::START[1] ^ Self::START[3]];
    const ROTATIONS: [u32; 6] = [13, 32, 16, 21, 17, 32];

    #[inline]
    fn truncated(wide: u64) -> Self {
        wide
    }
    #[inline]
    fn widened(self) -> u64 {
        self
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline]
    fn rotated(self, bits: u32) -> Self {
        self.rotate_left(bits)
    }
    #[inline]
    fn swapped_irq(irq: i32) -> Self {
        i64::from(irq).cast_unsigned().swap_bytes()
    }
    #[inline]
    fn is_after(self, other: Self) -> bool {
        other.wrapping_sub(self).cast_signed() < 0
    }
}

impl Word for u32 {
    const BYTES: usize = 4;
    const START: [Self; 4] = [0, 0, 0x6c79_6765, 0x7465_6462];
    const KEYS: [Self; 2] = [0x6c79_6765, 0x7465_6462];
    const ROTATIONS: [u32; 6] = [5, 16, 8, 7, 13, 16];

    #[inline]
    fn truncated(wide: u64) -> Self {
        wide as Self
    }
    #[inline]
    fn widened(self) -> u64 {
        self.into()
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline]
    fn rotated(self, bits: u32) -> Self {
        self.rotate_left(bits)
    }
    #[inline]
    fn swapped_irq(irq: i32) -> Self {
        irq.cast_unsigned().swap_bytes()
    }
    #[inline]
    fn is_after(self, other: Self) -> bool {
        other.wrapping_sub(self).cast_signed() < 0
    }
}

/// One round.
///
/// ```
/// use entropy_core::siphash::{Word as _, round};
///
/// let mut state = u64::START;
/// round(&mut state);
/// assert_eq!(state[0], 0x6394_8796_5a89_8377);
/// ```
#[inline]
pub fn round<W: Word>(state: &mut [W; 4]) {
    let [first, second, third, fourth, fifth, sixth] = W::ROTATIONS;
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.plus(b);
    b = b.rotated(first) ^ a;
    a = a.rotated(second);
    c = c.plus(d);
    d = d.rotated(third) ^ c;
    a = a.plus(d);
    d = d.rotated(fourth) ^ a;
    c = c.plus(b);
    b = b.rotated(fifth) ^ c;
    c = c.rotated(sixth);
    *state = [a, b, c, d];
}
