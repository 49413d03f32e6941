//! The routines of x86-64: assembly where the instruction is the point, and the ladder for what is small.

mod lines;
mod movnti;
mod string;

use super::{Moved, portable, small};
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

/// Runs `routine`. Nothing is fenced: streamed bytes must not be touched before [`fence`].
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, the ranges do not overlap, and the processor and the
/// operating system have the features that `routine` needs.
#[inline]
#[expect(clippy::multiple_unsafe_ops_per_block, reason = "one contract, handed on by every arm")]
pub(crate) unsafe fn run(routine: Routine, dst: *mut u8, src: *const u8, len: usize) -> Moved {
    // SAFETY: each arm hands its own contract on; the features are there by the last clause.
    let streamed = unsafe {
        match routine {
            Routine::Portable => {
                portable::copy(dst, src, len);
                0
            }
            Routine::Memcpy => {
                core::ptr::copy_nonoverlapping(src, dst, len);
                0
            }
            Routine::RepMovsb => {
                string::rep_movsb(dst, src, len);
                0
            }
            Routine::Sse2 | Routine::Avx2 | Routine::Avx512 if len <= small::LADDER => {
                small::copy(dst, src, len);
                0
            }
            Routine::Sse2 => lines::cached_sse2(dst, src, len),
            Routine::Avx2 => lines::cached_avx2(dst, src, len),
            Routine::Avx512 => lines::cached_avx512(dst, src, len),
            Routine::MovntiPage if len == movnti::PAGE => movnti::page(dst, src),
            Routine::Movnti | Routine::MovntiPage => {
                return Moved { routine: Routine::Movnti, streamed: movnti::generic(dst, src, len) };
            }
            Routine::StreamSse2 => lines::stream_sse2(dst, src, len),
            Routine::StreamAvx2 => lines::stream_avx2(dst, src, len),
            Routine::StreamAvx2Prefetch => lines::stream_avx2_prefetch(dst, src, len),
            Routine::StreamAvx512 => lines::stream_avx512(dst, src, len),
        }
    };
    Moved { routine, streamed }
}
