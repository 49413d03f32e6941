//! The seven sizes of a pool, and the polynomial of each, as data.

use core::{error::Error, fmt};

use strum::{Display, VariantArray};

/// How large a pool is. The driver allowed these seven and no others.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
pub enum PoolSize {
    /// 32 words: the secondary pools.
    #[strum(to_string = "128 B")]
    Words32,
    /// 64 words.
    #[strum(to_string = "256 B")]
    Words64,
    /// 128 words: the primary pool.
    #[strum(to_string = "512 B")]
    Words128,
    /// 256 words.
    #[strum(to_string = "1 KiB")]
    Words256,
    /// 512 words.
    #[strum(to_string = "2 KiB")]
    Words512,
    /// 1024 words.
    #[strum(to_string = "4 KiB")]
    Words1024,
    /// 2048 words.
    #[strum(to_string = "8 KiB")]
    Words2048,
}

impl PoolSize {
    /// Every size, smallest first.
    pub const ALL: &[Self] = Self::VARIANTS;
    /// The primary pool's, `DEFAULT_POOL_SIZE`: 512 bytes.
    pub const PRIMARY: Self = Self::Words128;
    /// The pools' that answer reads, `SECONDARY_POOL_SIZE`: 128 bytes.
    pub const SECONDARY: Self = Self::Words32;

    /// Length in 32-bit words; a power of two.
    #[must_use]
    pub const fn words(self) -> usize {
        32 << self as usize
    }

    /// Length in bytes; what the sysctl `poolsize` is written in.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.words() * 4
    }

    /// The most entropy the pool can be credited with (`POOLBITS`).
    #[must_use]
    pub const fn bits(self) -> i32 {
        (self.words() * 32) as i32
    }

    /// Exponents of the feedback polynomial between the two ends, highest first: how far ahead of the current word
    /// the words lie that are folded into it. The current word itself, exponent 0, is always folded in too.
    ///
    /// Source: `poolinfo_table`, Linux 2.4.20 to 2.6.11. The polynomials are near to primitive and their taps evenly
    /// spread, so that a call that mixes few words still reaches every part of the pool.
    #[must_use]
    pub const fn taps(self) -> [u32; 5] {
        match self {
            Self::Words32 => [26, 20, 14, 7, 1],
            Self::Words64 => [52, 39, 26, 14, 1],
            Self::Words128 => [103, 76, 51, 25, 1],
            Self::Words256 => [205, 155, 101, 52, 1],
            Self::Words512 => [411, 308, 208, 104, 1],
            Self::Words1024 => [817, 615, 412, 204, 1],
            Self::Words2048 => [1638, 1231, 819, 411, 1],
        }
    }
}

/// From a length in bytes, as written to the sysctl `poolsize`.
impl TryFrom<usize> for PoolSize {
    type Error = NotAPoolSize;

    fn try_from(bytes: usize) -> Result<Self, NotAPoolSize> {
        Self::ALL.iter().copied().find(|size| size.bytes() == bytes).ok_or(NotAPoolSize { bytes })
    }
}

/// A length that has no polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPoolSize {
    /// The length that was asked for, in bytes.
    pub bytes: usize,
}

impl fmt::Display for NotAPoolSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a pool cannot have {} bytes: choose one of", self.bytes)?;
        PoolSize::ALL.iter().try_for_each(|size| write!(f, " {}", size.bytes()))
    }
}

impl Error for NotAPoolSize {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_powers_of_two_from_128_to_8192_bytes() {
        let bytes: [usize; 7] = [128, 256, 512, 1024, 2048, 4096, 8192];
        assert!(PoolSize::ALL.iter().map(|size| size.bytes()).eq(bytes));
        for size in bytes {
            assert_eq!(PoolSize::try_from(size).map(PoolSize::bytes), Ok(size));
        }
    }

    #[test]
    fn a_size_that_is_not_in_the_table_is_refused() {
        for bytes in [0, 1, 64, 127, 129, 384, 16384, usize::MAX] {
            assert_eq!(PoolSize::try_from(bytes), Err(NotAPoolSize { bytes }));
        }
    }

    #[test]
    fn taps_fall_and_lie_inside_their_pool() {
        for size in PoolSize::ALL {
            let taps = size.taps();
            assert!(taps.is_sorted_by(|a, b| a > b) && taps[0] < size.words() as u32 && taps[4] == 1);
        }
    }
}
