//! The door to AVX-512: sixteen blocks at a time, a register for each word of the state, a lane for each block.
//!
//! All sixteen words stay in registers, and a rotation is one instruction. Only the foundation (AVX512F) is used.
#![allow(unsafe_code, reason = "a processor must have the instructions, and a store goes through a pointer")]

use core::arch::x86_64::*;

use super::{BLOCK_BYTES, LANES, backend::lane_counters};

const BLOCKS: usize = 16;

/// Proof that the processor has the instructions: it comes from [`detect`](Self::detect) only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes(());

impl Lanes {
    #[inline]
    pub(super) fn detect() -> Option<Self> {
        #[cfg(feature = "std")]
        let has = std::arch::is_x86_feature_detected!("avx512f");
        #[cfg(not(feature = "std"))]
        let has = cfg!(target_feature = "avx512f");
        has.then_some(Self(()))
    }

    /// The blocks from that of `words` on.
    #[inline]
    pub(super) fn blocks(self, words: &[u32; 16], out: &mut [[u8; BLOCK_BYTES]; BLOCKS]) {
        // SAFETY: `self` exists, so the processor has AVX512F and the system keeps its registers.
        unsafe { blocks(words, out) }
    }
}

#[target_feature(enable = "avx512f")]
fn blocks(words: &[u32; 16], out: &mut [[u8; BLOCK_BYTES]; BLOCKS]) {
    let [low, high] = lane_counters::<BLOCKS>(words);
    // Not `map`, which would call into code that is compiled for every processor.
    let mut start = [_mm512_setzero_si512(); 16];
    for (lanes, word) in start.iter_mut().zip(words) {
        *lanes = _mm512_set1_epi32(word.cast_signed());
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
        *mixed = _mm512_add_epi32(*mixed, word);
    }
    let blocks = transposed(v);
    for (block, bytes) in out.iter_mut().zip(blocks) {
        store(block, bytes);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn quarter<const LANE: usize>(v: &mut [__m512i; 16]) {
    let [a, b, c, d] = const { LANES[LANE] };
    v[a] = _mm512_add_epi32(v[a], v[b]);
    v[d] = _mm512_rol_epi32::<16>(_mm512_xor_si512(v[d], v[a]));
    v[c] = _mm512_add_epi32(v[c], v[d]);
    v[b] = _mm512_rol_epi32::<12>(_mm512_xor_si512(v[b], v[c]));
    v[a] = _mm512_add_epi32(v[a], v[b]);
    v[d] = _mm512_rol_epi32::<8>(_mm512_xor_si512(v[d], v[a]));
    v[c] = _mm512_add_epi32(v[c], v[d]);
    v[b] = _mm512_rol_epi32::<7>(_mm512_xor_si512(v[b], v[c]));
}

/// From a register for each word to one for each block.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(v: [__m512i; 16]) -> [__m512i; 16] {
    // `fours[4 * g + j]`: words 4g to 4g+3 of blocks j, j+4, j+8, j+12, a quarter of the register each.
    let mut fours = v;
    for (four, words) in fours.as_chunks_mut::<4>().0.iter_mut().zip(v.as_chunks::<4>().0) {
        let [a, b, c, d] = *words;
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        *four = [
            _mm512_unpacklo_epi64(ab, cd),
            _mm512_unpackhi_epi64(ab, cd),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ];
    }
    // The quarters of four registers change places: 0x88 takes the even ones of both operands, 0xdd the odd ones.
    let mut blocks = v;
    for j in 0..4 {
        let [a, b, c, d] = [fours[j], fours[4 + j], fours[8 + j], fours[12 + j]];
        let (even, even_too) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
        let (odd, odd_too) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
        blocks[j] = _mm512_shuffle_i32x4::<0x88>(even, even_too);
        blocks[4 + j] = _mm512_shuffle_i32x4::<0x88>(odd, odd_too);
        blocks[8 + j] = _mm512_shuffle_i32x4::<0xdd>(even, even_too);
        blocks[12 + j] = _mm512_shuffle_i32x4::<0xdd>(odd, odd_too);
    }
    blocks
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u32; BLOCKS]) -> __m512i {
    // SAFETY: the array is as long as the register, and the instruction asks for no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(block: &mut [u8; BLOCK_BYTES], bytes: __m512i) {
    // SAFETY: a block is as long as the register, and the instruction asks for no alignment.
    unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), bytes) }
}
