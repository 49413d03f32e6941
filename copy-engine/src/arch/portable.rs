//! The fallback: correct everywhere, non-temporal nowhere.

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    allow(dead_code, reason = "built on every target so that it cannot rot")
)]

use core::mem::MaybeUninit;

use crate::routine::Routine;
use crate::topology::Leaf;

/// The unit the loop works in; untyped, so that padding and uninitialised bytes pass through unharmed.
type Word = MaybeUninit<[u8; size_of::<usize>()]>;
type Byte = MaybeUninit<u8>;

/// Copies word by word, then byte by byte.
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, and the two ranges do not overlap. No alignment is asked.
pub(crate) unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) {
    let words = len / size_of::<Word>();
    for index in 0..words {
        let (to, from) = (dst.cast::<Word>().wrapping_add(index), src.cast::<Word>().wrapping_add(index));
        // SAFETY: `index < words`, so the word ends inside `len` bytes, where `src` is valid; no alignment is asked.
        let word = unsafe { from.read_unaligned() };
        // SAFETY: as above, for writes to `dst`.
        unsafe { to.write_unaligned(word) };
    }
    for index in words * size_of::<Word>()..len {
        let (to, from) = (dst.cast::<Byte>().wrapping_add(index), src.cast::<Byte>().wrapping_add(index));
        // SAFETY: `index < len`, so the byte is readable.
        let byte = unsafe { from.read() };
        // SAFETY: and writable.
        unsafe { to.write(byte) };
    }
}

/// A routine: destination, source, length; returns how many bytes went around the cache.
///
/// # Safety
///
/// As [`copy`].
pub(crate) type Move = unsafe extern "C" fn(*mut u8, *const u8, usize) -> usize;

/// The function behind `routine`, twice, as nothing is fenced; the portable loop stands in for what does not exist here.
pub(crate) const fn moves(routine: Routine) -> [Move; 2] {
    match routine {
        Routine::Memcpy => [memcpy, memcpy],
        _ => [word_by_word, word_by_word],
    }
}

/// # Safety
///
/// As [`copy`].
unsafe extern "C" fn word_by_word(dst: *mut u8, src: *const u8, len: usize) -> usize {
    // SAFETY: the contract is the same.
    unsafe { copy(dst, src, len) };
    0
}

/// # Safety
///
/// As [`copy`].
unsafe extern "C" fn memcpy(dst: *mut u8, src: *const u8, len: usize) -> usize {
    // SAFETY: the contract is the same.
    unsafe { core::ptr::copy_nonoverlapping(src, dst, len) };
    0
}

/// Nothing was streamed, so nothing is waited for.
pub(crate) fn fence() {}

/// No processor that answers: every leaf is zero.
pub(crate) fn native_cpuid(_leaf: u32, _subleaf: u32) -> Leaf {
    Leaf::default()
}

/// No extended state that an operating system could have enabled.
pub(crate) fn native_xcr0() -> u64 {
    0
}
