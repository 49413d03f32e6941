//! The door to AVX2: eight blocks at a time, a register for each word of the state, a lane for each block.
//!
//! Sixteen words fill all registers, so some go through the stack. Rotations by 16 and 8 are shuffles of bytes, the
//! others two shifts.
#![allow(unsafe_code, reason = "a processor must have the instructions, and a store goes through a pointer")]

use core::arch::x86_64::*;

use super::{BLOCK_BYTES, LANES, backend::lane_counters};

const BLOCKS: usize = 8;

/// Proof that the processor has the instructions: it comes from [`detect`](Self::detect) only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes(());

impl Lanes {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let has = std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = "avx2");
        has.then_some(Self(()))
    }

    /// The blocks from that of `words` on.
    #[inline]
    pub(super) fn blocks(self, words: &[u32; 16], out: &mut [[u8; BLOCK_BYTES]; BLOCKS]) {
        // SAFETY: `self` exists, so the processor has AVX2 and the system keeps its registers.
        unsafe { blocks(words, out) }
    }
}

#[target_feature(enable = "avx2")]
fn blocks(words: &[u32; 16], out: &mut [[u8; BLOCK_BYTES]; BLOCKS]) {
    let [low, high] = lane_counters::<BLOCKS>(words);
    // Not `map`, which would call into code that is compiled for every processor.
    let mut start = [_mm256_setzero_si256(); 16];
    for (lanes, word) in start.iter_mut().zip(words) {
        *lanes = _mm256_set1_epi32(word.cast_signed());
    }
    start[12] = load(&low);
    start[13] = load(&high);
    let mut v = start;
    for _ in 0..10 {
        quarter::<0>(&mut v);
        quarter::<1>(&mut v);
        quarter::<2>(&mut v);
        quarter::<3>(&mut v);
        quarter::<4>(&mut v);
        quarter::<5>(&mut v);
        quarter::<6>(&mut v);
        quarter::<7>(&mut v);
    }
    for (mixed, word) in v.iter_mut().zip(start) {
        *mixed = _mm256_add_epi32(*mixed, word);
    }
    let (first, second) = v.split_at(8);
    for (half, words) in [first, second].into_iter().enumerate() {
        let words: &[__m256i; 8] = words.try_into().expect("half of sixteen");
        for (block, bytes) in out.iter_mut().zip(transposed(words)) {
            store(&mut block.as_chunks_mut().0[half], bytes);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn quarter<const LANE: usize>(v: &mut [__m256i; 16]) {
    let [a, b, c, d] = const { LANES[LANE] };
    let by_16 =
        _mm256_broadcastsi128_si256(_mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
    let by_8 =
        _mm256_broadcastsi128_si256(_mm_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3));
    v[a] = _mm256_add_epi32(v[a], v[b]);
    v[d] = _mm256_shuffle_epi8(_mm256_xor_si256(v[d], v[a]), by_16);
    v[c] = _mm256_add_epi32(v[c], v[d]);
    v[b] = rotated::<12, 20>(_mm256_xor_si256(v[b], v[c]));
    v[a] = _mm256_add_epi32(v[a], v[b]);
    v[d] = _mm256_shuffle_epi8(_mm256_xor_si256(v[d], v[a]), by_8);
    v[c] = _mm256_add_epi32(v[c], v[d]);
    v[b] = rotated::<7, 25>(_mm256_xor_si256(v[b], v[c]));
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotated<const LEFT: i32, const RIGHT: i32>(word: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<LEFT>(word), _mm256_srli_epi32::<RIGHT>(word))
}

/// From a register for each of eight words to one for each of eight blocks.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(words: &[__m256i; 8]) -> [__m256i; 8] {
    // `fours[4 * g + j]`: words 4g to 4g+3 of blocks j and j+4, a half of the register each.
    let mut fours = *words;
    for (four, words) in fours.as_chunks_mut::<4>().0.iter_mut().zip(words.as_chunks::<4>().0) {
        let [a, b, c, d] = *words;
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        *four = [
            _mm256_unpacklo_epi64(ab, cd),
            _mm256_unpackhi_epi64(ab, cd),
            _mm256_unpacklo_epi64(ab_high, cd_high),
            _mm256_unpackhi_epi64(ab_high, cd_high),
        ];
    }
    let mut blocks = *words;
    for j in 0..4 {
        blocks[j] = _mm256_permute2x128_si256::<0x20>(fours[j], fours[4 + j]);
        blocks[4 + j] = _mm256_permute2x128_si256::<0x31>(fours[j], fours[4 + j]);
    }
    blocks
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(lanes: &[u32; BLOCKS]) -> __m256i {
    // SAFETY: the array is as long as the register, and the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(half: &mut [u8; BLOCK_BYTES / 2], bytes: __m256i) {
    // SAFETY: half a block is as long as the register, and the instruction asks for no alignment.
    unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), bytes) }
}
