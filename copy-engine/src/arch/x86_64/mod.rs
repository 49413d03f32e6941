//! The routines of x86-64: assembly, since the instruction is the point.

mod cached;
mod ends;
mod movnti;
mod stream;
mod string;

use super::portable;
use crate::routine::Routine;
use crate::topology::Leaf;
use core::arch::asm;

/// Orders every non-temporal store of this thread before everything that follows.
#[inline(always)]
pub(crate) fn fence() {
    // SAFETY: `sfence` is part of the x86-64 baseline; it touches no register and no memory of ours. The block is not
    // marked `nomem`, so the compiler moves no access across it either.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

/// What the processor says about itself.
pub(crate) fn native_cpuid(leaf: u32, subleaf: u32) -> Leaf {
    let answer = core::arch::x86_64::__cpuid_count(leaf, subleaf);
    Leaf { eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx }
}

/// Which register state the operating system saves, or 0 where it does not say.
pub(crate) fn native_xcr0() -> u64 {
    const OSXSAVE: u32 = 1 << 27;
    if native_cpuid(1, 0).ecx & OSXSAVE == 0 {
        return 0;
    }
    let (low, high): (u32, u32);
    // SAFETY: OSXSAVE says that `xgetbv` is enabled; it reads register 0 of the extended controls and nothing else.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
    };
    u64::from(high) << 32 | u64::from(low)
}

/// A routine: destination, source, length; returns how many bytes went around the cache.
///
/// # Safety
///
/// - `src` is valid for reads and `dst` for writes of `len` bytes, and the ranges do not overlap. Of no bytes both may be
///   null or dangling, but for [`Routine::Memcpy`] and [`Routine::Portable`].
/// - The processor and the operating system have what the routine needs.
/// - If it is one that does not fence: nothing touches the destination before [`fence`].
pub(crate) type Move = unsafe extern "sysv64" fn(*mut u8, *const u8, usize) -> usize;

/// The function behind `routine`, and the one that leaves the fence to the caller.
pub(crate) const fn moves(routine: Routine) -> [Move; 2] {
    match routine {
        Routine::Portable => [word_by_word, word_by_word],
        Routine::Memcpy => [memcpy, memcpy],
        Routine::RepMovsb => [string::rep_movsb, string::rep_movsb],
        Routine::Sse2 => [cached::sse2, cached::sse2],
        Routine::Avx2 => [cached::avx2, cached::avx2],
        Routine::Avx512 => [cached::avx512, cached::avx512],
        Routine::AheadSse2 => [cached::ahead_sse2, cached::ahead_sse2],
        Routine::AheadAvx2 => [cached::ahead_avx2, cached::ahead_avx2],
        Routine::AheadAvx512 => [cached::ahead_avx512, cached::ahead_avx512],
        Routine::Movnti => [movnti::generic, movnti::generic_unfenced],
        Routine::MovntiPage => [movnti::page_or_generic, movnti::page_or_generic_unfenced],
        Routine::StreamSse2 => [stream::stream_sse2, stream::stream_sse2_unfenced],
        Routine::StreamAvx2 => [stream::stream_avx2, stream::stream_avx2_unfenced],
        Routine::StreamAvx2Prefetch => [stream::stream_avx2_prefetch, stream::stream_avx2_prefetch_unfenced],
        Routine::StreamAvx2Pages => [stream::stream_avx2_pages, stream::stream_avx2_pages_unfenced],
        Routine::StreamAvx512 => [stream::stream_avx512, stream::stream_avx512_unfenced],
        Routine::StreamAvx512Pages => [stream::stream_avx512_pages, stream::stream_avx512_pages_unfenced],
    }
}

/// # Safety
///
/// As [`Move`].
unsafe extern "sysv64" fn word_by_word(dst: *mut u8, src: *const u8, len: usize) -> usize {
    // SAFETY: the contract is the same.
    unsafe { portable::copy(dst, src, len) };
    0
}

/// # Safety
///
/// As [`Move`].
unsafe extern "sysv64" fn memcpy(dst: *mut u8, src: *const u8, len: usize) -> usize {
    // SAFETY: the contract is the same.
    unsafe { core::ptr::copy_nonoverlapping(src, dst, len) };
    0
}
