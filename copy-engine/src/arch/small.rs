//! The ladder of small sizes: first and last chunk overlap, so that no length needs a loop.

use core::mem::MaybeUninit;

/// The longest length the ladder takes.
pub(crate) const LADDER: usize = 256;

/// Moves the first and last `N` bytes of a range of `len`, loading both before storing either.
///
/// # Safety
///
/// As [`copy`], and `N <= len`.
#[inline(always)]
unsafe fn ends<const N: usize>(dst: *mut u8, src: *const u8, len: usize) {
    type Chunk<const N: usize> = MaybeUninit<[u8; N]>;
    let (src_last, dst_last) = (src.wrapping_add(len - N), dst.wrapping_add(len - N));
    // SAFETY: the first `N` bytes are readable by the contract.
    let first = unsafe { src.cast::<Chunk<N>>().read_unaligned() };
    // SAFETY: and so are the last.
    let last = unsafe { src_last.cast::<Chunk<N>>().read_unaligned() };
    // SAFETY: the first `N` bytes are writable by the contract.
    unsafe { dst.cast::<Chunk<N>>().write_unaligned(first) };
    // SAFETY: and so are the last.
    unsafe { dst_last.cast::<Chunk<N>>().write_unaligned(last) };
}

/// Copies up to [`LADDER`] bytes.
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, the two ranges do not overlap, and `len <= LADDER`.
#[inline(always)]
#[expect(clippy::multiple_unsafe_ops_per_block, reason = "one contract, handed on by every arm")]
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) {
    debug_assert!(len <= LADDER);
    // SAFETY: each arm's `N` is at most `len`, and the rest is the contract.
    unsafe {
        match len {
            0 => {}
            1 => ends::<1>(dst, src, len),
            2..=3 => ends::<2>(dst, src, len),
            4..=7 => ends::<4>(dst, src, len),
            8..=15 => ends::<8>(dst, src, len),
            16..=31 => ends::<16>(dst, src, len),
            32..=63 => ends::<32>(dst, src, len),
            64..=127 => ends::<64>(dst, src, len),
            _ => ends::<128>(dst, src, len),
        }
    }
}
