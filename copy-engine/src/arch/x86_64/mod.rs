//! The routines of x86-64: assembly where the instruction is the point, and ladders for what is small.

mod ladder;
mod lines;
mod movnti;
mod string;

use super::{Moved, portable};
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

/// Whether `routine` begins with a ladder, so that [`ladder`] may be called in its place.
#[inline(always)]
pub(crate) const fn has_ladder(routine: Routine, len: usize) -> bool {
    len <= ladder::LADDER && matches!(routine, Routine::Sse2 | Routine::Avx2 | Routine::Avx512)
}

/// Runs the ladder of `routine`: the short way for short copies.
///
/// # Safety
///
/// As [`run`], and [`has_ladder`] says yes.
#[inline]
pub(crate) unsafe fn ladder(routine: Routine, dst: *mut u8, src: *const u8, len: usize) {
    match routine {
        // SAFETY: the contract is the same.
        Routine::Sse2 => unsafe { ladder::sse2(dst, src, len) },
        // SAFETY: the contract is the same; the processor has AVX2, which both other routines with a ladder need.
        _ => unsafe { ladder::avx2(dst, src, len) },
    }
}

/// Runs `routine`; `fenced` where the call must end with a fence if anything was streamed.
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, the ranges do not overlap, and the processor and the
/// operating system have the features that `routine` needs. Without `fenced`, streamed bytes are not touched before
/// [`fence`].
#[expect(clippy::multiple_unsafe_ops_per_block, reason = "one contract, handed on by every arm")]
pub(crate) unsafe fn run(routine: Routine, dst: *mut u8, src: *const u8, len: usize, fenced: bool) -> Moved {
    // SAFETY: each arm hands its own contract on; the features are there by the last but one clause.
    let streamed = unsafe {
        match (routine, fenced) {
            (Routine::Portable, _) => {
                portable::copy(dst, src, len);
                0
            }
            (Routine::Memcpy, _) => {
                core::ptr::copy_nonoverlapping(src, dst, len);
                0
            }
            (Routine::RepMovsb, _) => {
                string::rep_movsb(dst, src, len);
                0
            }
            (Routine::Sse2 | Routine::Avx2 | Routine::Avx512, _) if len <= ladder::LADDER => {
                ladder(routine, dst, src, len);
                0
            }
            (Routine::Sse2, _) => lines::cached_sse2(dst, src, len),
            (Routine::Avx2, _) => lines::cached_avx2(dst, src, len),
            (Routine::Avx512, _) => lines::cached_avx512(dst, src, len),
            (Routine::MovntiPage, true) if len == movnti::PAGE => movnti::page(dst, src),
            (Routine::MovntiPage, false) if len == movnti::PAGE => movnti::page_unfenced(dst, src),
            (Routine::Movnti | Routine::MovntiPage, true) => {
                return Moved { routine: Routine::Movnti, streamed: movnti::generic(dst, src, len) };
            }
            (Routine::Movnti | Routine::MovntiPage, false) => {
                return Moved { routine: Routine::Movnti, streamed: movnti::generic_unfenced(dst, src, len) };
            }
            (Routine::StreamSse2, true) => lines::stream_sse2(dst, src, len),
            (Routine::StreamSse2, false) => lines::stream_sse2_unfenced(dst, src, len),
            (Routine::StreamAvx2, true) => lines::stream_avx2(dst, src, len),
            (Routine::StreamAvx2, false) => lines::stream_avx2_unfenced(dst, src, len),
            (Routine::StreamAvx2Prefetch, true) => lines::stream_avx2_prefetch(dst, src, len),
            (Routine::StreamAvx2Prefetch, false) => lines::stream_avx2_prefetch_unfenced(dst, src, len),
            (Routine::StreamAvx512, true) => lines::stream_avx512(dst, src, len),
            (Routine::StreamAvx512, false) => lines::stream_avx512_unfenced(dst, src, len),
        }
    };
    Moved { routine, streamed }
}
