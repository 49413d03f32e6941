//! The door to the prefetch instructions: a line wanted for reading, a line wanted for writing.
//!
//! Both are hints. On other processors than x86-64 they are nothing at all.
#![allow(unsafe_code, reason = "the intrinsic and the instruction have no safe form")]

/// Asks for the line of `place` in every level of the cache, to be read.
#[inline(always)]
pub(crate) fn to_read<T>(place: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither faults nor changes memory, whatever the address; SSE is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// Asks for the line of `place`, to be written: other processors give up their copies.
///
/// The instruction is written out because the intrinsic's hint for it (`ET0`) becomes a plain `prefetcht0` unless
/// the whole crate is compiled for a processor with `prfchw`. Processors without it (Intel before Broadwell)
/// execute it as a nop.
#[inline(always)]
pub(crate) fn to_write<T>(place: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch neither faults nor changes memory, registers or flags, and every 64-bit processor knows the
    // encoding, be it as a nop.
    unsafe {
        core::arch::asm!(
            "prefetchw [{place}]",
            place = in(reg) core::ptr::from_ref(place),
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
