//! One block in plain arithmetic: the reference.

use super::{BLOCK_BYTES, LANES};
use crate::wipe::wipe;

/// The block of `words`: twenty rounds, then the words once more.
pub(super) fn block(words: &[u32; 16], out: &mut [u8; BLOCK_BYTES]) {
    let mut v = *words;
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
    for ((bytes, mixed), word) in out.as_chunks_mut().0.iter_mut().zip(v).zip(words) {
        *bytes = mixed.wrapping_add(*word).to_le_bytes();
    }
    wipe(&mut v);
}

#[inline]
fn quarter<const LANE: usize>(v: &mut [u32; 16]) {
    let [a, b, c, d] = const { LANES[LANE] };
    v[a] = v[a].wrapping_add(v[b]);
    v[d] = (v[d] ^ v[a]).rotate_left(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_left(12);
    v[a] = v[a].wrapping_add(v[b]);
    v[d] = (v[d] ^ v[a]).rotate_left(8);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_left(7);
}
