//! Which instructions make the blocks: chosen once, and a value that exists proves that the processor has them.

use core::fmt;

use super::{BLOCK_BYTES, avx2, avx512, portable};
use crate::wipe::wipe;

/// A way to make blocks. All give the same bytes.
///
/// ```
/// use entropy_core::chacha::{Backend, ChaCha20};
///
/// let fill = |backend| {
///     let mut bytes = [0; 1000];
///     ChaCha20::with_backend(backend, &[7; 32], 0, 0).fill(&mut bytes);
///     bytes
/// };
/// assert_eq!(fill(Backend::best()), fill(Backend::PORTABLE));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Backend(Kind);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Portable,
    Avx2(avx2::Lanes),
    Avx512(avx512::Lanes),
}

impl Backend {
    /// One block at a time, on every processor; the reference.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// Every backend by name, and the backend if this processor has what it takes: the slowest first.
    ///
    /// Without the feature `std` a processor is taken for what the crate is compiled for.
    #[must_use]
    pub fn all() -> [(&'static str, Option<Self>); 3] {
        [
            ("portable", Some(Self::PORTABLE)),
            ("avx2", avx2::Lanes::detect().map(|lanes| Self(Kind::Avx2(lanes)))),
            ("avx512", avx512::Lanes::detect().map(|lanes| Self(Kind::Avx512(lanes)))),
        ]
    }

    /// The fastest here.
    #[must_use]
    pub fn best() -> Self {
        // Asked from the fastest down, and none that is not needed.
        let avx512 = || avx512::Lanes::detect().map(Kind::Avx512);
        let avx2 = || avx2::Lanes::detect().map(Kind::Avx2);
        Self(avx512().or_else(avx2).unwrap_or(Kind::Portable))
    }

    /// The name in [`all`](Self::all).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            Kind::Avx2(_) => "avx2",
            Kind::Avx512(_) => "avx512",
        }
    }

    /// Fills `out` with the blocks from that of `words` on, the last one cut, and counts on.
    #[inline]
    pub(super) fn fill(self, words: &mut [u32; 16], out: &mut [u8]) {
        match self.0 {
            Kind::Portable => narrow(words, out),
            Kind::Avx2(lanes) => wide(words, out, |words, blocks| lanes.blocks(words, blocks)),
            Kind::Avx512(lanes) => wide(words, out, |words, blocks| lanes.blocks(words, blocks)),
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A block at a time.
fn narrow(words: &mut [u32; 16], out: &mut [u8]) {
    let (blocks, rest) = out.as_chunks_mut();
    for block in blocks {
        portable::block(words, block);
        advance(words, 1);
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK_BYTES];
        portable::block(words, &mut block);
        advance(words, 1);
        rest.copy_from_slice(&block[..rest.len()]);
        wipe(&mut block);
    }
}

/// `LANES` blocks at a time. A rest of more than one block is made by all lanes too, and cut: that takes about as long
/// as two blocks by themselves.
#[inline]
fn wide<const LANES: usize>(
    words: &mut [u32; 16],
    out: &mut [u8],
    make: impl Fn(&[u32; 16], &mut [[u8; BLOCK_BYTES]; LANES]),
) {
    let mut whole = out.chunks_exact_mut(LANES * BLOCK_BYTES);
    for bytes in &mut whole {
        let (blocks, _) = bytes.as_chunks_mut();
        make(words, blocks.try_into().expect("a whole chunk has a block for each lane"));
        advance(words, LANES as u64);
    }
    let rest = whole.into_remainder();
    if rest.len() <= BLOCK_BYTES {
        return narrow(words, rest);
    }
    let mut blocks = [[0; BLOCK_BYTES]; LANES];
    make(words, &mut blocks);
    advance(words, rest.len().div_ceil(BLOCK_BYTES) as u64);
    rest.copy_from_slice(&blocks.as_flattened()[..rest.len()]);
    wipe(blocks.as_flattened_mut());
}

/// The number of the block that `words` make.
pub(super) fn counter(words: &[u32; 16]) -> u64 {
    u64::from(words[12]) | u64::from(words[13]) << 32
}

/// Goes on by `blocks`; wraps at 2^64.
pub(super) fn advance(words: &mut [u32; 16], blocks: u64) {
    let next = counter(words).wrapping_add(blocks);
    (words[12], words[13]) = (next as u32, (next >> 32) as u32);
}

/// Low and high halves of the counters of as many blocks. Each lane carries by itself: that is where vector code goes
/// wrong, and here it is plain arithmetic on 64 bits.
#[allow(dead_code, reason = "used by the wide kernels, where there are some")]
#[inline(always)]
pub(super) fn lane_counters<const LANES: usize>(words: &[u32; 16]) -> [[u32; LANES]; 2] {
    let lane = |lane: usize| counter(words).wrapping_add(lane as u64);
    [core::array::from_fn(|n| lane(n) as u32), core::array::from_fn(|n| (lane(n) >> 32) as u32)]
}
