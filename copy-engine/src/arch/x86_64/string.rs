//! The string instruction: the processor's own microcode decides how to move the bytes.

use core::arch::naked_asm;

/// Copies with `rep movsb`; no byte goes around the cache.
///
/// # Safety
///
/// As [`Move`](super::Move).
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn rep_movsb(dst: *mut u8, src: *const u8, len: usize) -> usize {
    // The direction flag is clear on entry to every function.
    naked_asm!("mov rcx, rdx", "rep movsb", "xor eax, eax", "ret")
}
