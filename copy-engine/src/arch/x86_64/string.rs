//! The string instruction: the processor's own microcode decides how to move the bytes.

use core::arch::asm;

/// Copies with `rep movsb`.
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, and the ranges do not overlap.
#[inline(always)]
pub(super) unsafe fn rep_movsb(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: by the contract the instruction reads and writes inside the two ranges. The direction flag is clear on
    // entry to every `asm!` block.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") len => _,
            inout("rdi") dst => _,
            inout("rsi") src => _,
            options(nostack, preserves_flags),
        );
    }
}
