//! The routines: ways to move bytes, by name.

use crate::features::Features;
use crate::policy::PAGE;

/// A way to move bytes. All give the same bytes; they differ in instructions and in how the destination meets the
/// cache. The first is the baseline.
#[derive(
    Clone,
    Copy,
    Debug,
    Eq,
    Hash,
    PartialEq,
    strum::Display,
    strum::EnumIter,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Routine {
    /// Word by word, in Rust: what every target has.
    Portable,
    /// The platform's own `memcpy`.
    Memcpy,
    /// The string instruction `rep movsb`: short, and left to microcode.
    RepMovsb,
    /// Cached, 16-byte vectors; overlapping ones and no loop up to sixteen of them, then aligned blocks of four.
    Sse2,
    /// Cached, 32-byte vectors, the same.
    Avx2,
    /// Cached, 64-byte vectors, the same.
    Avx512,
    /// As [`Routine::Sse2`], the destination's lines asked for first (`prefetchw`), a page of them at most.
    AheadSse2,
    /// As [`Routine::Avx2`], likewise.
    AheadAvx2,
    /// As [`Routine::Avx512`], likewise.
    AheadAvx512,
    /// The generic streaming routine of Linux 2.6.27 and of the mail of February 2009: `movnti`, 8 bytes a store.
    Movnti,
    /// The page routine of the mail: 64 rounds of 64 bytes. Other lengths than 4096 run [`Routine::Movnti`].
    MovntiPage,
    /// Streaming, 16-byte vectors.
    StreamSse2,
    /// Streaming, 32-byte vectors.
    StreamAvx2,
    /// Streaming, 32-byte vectors, the source prefetched eight lines ahead.
    StreamAvx2Prefetch,
    /// Streaming, 32-byte vectors, four pages side by side as long as there are four.
    StreamAvx2Pages,
    /// Streaming, 64-byte vectors.
    StreamAvx512,
    /// Streaming, 64-byte vectors, four pages side by side as long as there are four.
    StreamAvx512Pages,
}

impl Routine {
    /// Every routine, the baseline first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Whether its stores go around the cache.
    pub const fn streams(self) -> bool {
        match self {
            Self::Portable
            | Self::Memcpy
            | Self::RepMovsb
            | Self::Sse2
            | Self::Avx2
            | Self::Avx512
            | Self::AheadSse2
            | Self::AheadAvx2
            | Self::AheadAvx512 => false,
            Self::Movnti
            | Self::MovntiPage
            | Self::StreamSse2
            | Self::StreamAvx2
            | Self::StreamAvx2Prefetch
            | Self::StreamAvx2Pages
            | Self::StreamAvx512
            | Self::StreamAvx512Pages => true,
        }
    }

    /// Whether it fences although nothing of a copy streamed, as that of 2009 does for fewer than 8 bytes.
    pub(crate) const fn always_fences(self) -> bool {
        cfg!(all(target_arch = "x86_64", not(miri))) && matches!(self, Self::Movnti | Self::MovntiPage)
    }

    /// What the processor must have.
    pub const fn needs(self) -> Features {
        match self {
            Self::Portable | Self::Memcpy => Features::NONE,
            Self::RepMovsb
            | Self::Sse2
            | Self::AheadSse2
            | Self::Movnti
            | Self::MovntiPage
            | Self::StreamSse2 => Features::X86_64,
            Self::Avx2
            | Self::AheadAvx2
            | Self::StreamAvx2
            | Self::StreamAvx2Prefetch
            | Self::StreamAvx2Pages => Features::AVX2,
            Self::Avx512 | Self::AheadAvx512 | Self::StreamAvx512 | Self::StreamAvx512Pages => {
                Features::AVX512F
            }
        }
    }

    /// The routine that runs where this one is asked to copy `len` bytes.
    pub(crate) const fn that_ran(self, len: usize) -> Self {
        match self {
            Self::MovntiPage if len != PAGE => Self::Movnti,
            _ => self,
        }
    }
}
