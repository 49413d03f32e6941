//! The routines: ways to move bytes, by name.

use crate::features::Features;

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
    /// Cached, 16-byte vectors, a ladder of overlapping chunks up to 256 bytes.
    Sse2,
    /// Cached, 32-byte vectors, the same ladder.
    Avx2,
    /// Cached, 64-byte vectors, the same ladder.
    Avx512,
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
    /// Streaming, 64-byte vectors.
    StreamAvx512,
}

impl Routine {
    /// Every routine, the baseline first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Whether its stores go around the cache.
    pub const fn streams(self) -> bool {
        match self {
            Self::Portable | Self::Memcpy | Self::RepMovsb | Self::Sse2 | Self::Avx2 | Self::Avx512 => false,
            Self::Movnti
            | Self::MovntiPage
            | Self::StreamSse2
            | Self::StreamAvx2
            | Self::StreamAvx2Prefetch
            | Self::StreamAvx512 => true,
        }
    }

    /// What the processor must have.
    pub const fn needs(self) -> Features {
        match self {
            Self::Portable | Self::Memcpy => Features::NONE,
            Self::RepMovsb | Self::Sse2 | Self::Movnti | Self::MovntiPage | Self::StreamSse2 => {
                Features::X86_64
            }
            Self::Avx2 | Self::StreamAvx2 | Self::StreamAvx2Prefetch => Features::AVX2,
            Self::Avx512 | Self::StreamAvx512 => Features::AVX512F,
        }
    }
}
