//! The two marker functions around a batch: USDT sites that any tracer can list and attach to.
//!
//! Each marker is one function with one five-byte nop and one `.note.stapsdt` note that names it, so that an
//! idle marker costs a call and a nop. The kernel emulates a nop under a uprobe, where most other first
//! instructions are stepped out of line at fifteen times the cost.
//!
//! Traps:
//! * An inlined site would multiply, one note a copy: hence `#[inline(never)]`.
//! * Notes hold virtual addresses and uprobes want file offsets. Tools that take one for the other plant their
//!   breakpoint into the wrong instruction, so programs with markers are linked with `-z separate-code`, which
//!   makes them equal.

#![cfg_attr(
    target_arch = "x86_64",
    allow(unsafe_code, reason = "the site is a nop at a known place, which takes inline assembly")
)]

use crate::batch::BatchKey;

/// The provider in the notes of both markers.
pub const PROVIDER: &str = "hotpath";
/// Name of the marker at the beginning of a batch.
pub const BATCH_BEGIN: &str = "batch_begin";
/// Name of the marker at the end of a batch.
pub const BATCH_END: &str = "batch_end";

/// Marks the beginning of a batch.
#[inline]
pub fn begin(key: BatchKey) {
    batch_begin(key.to_raw());
}

/// Marks the end of a batch.
#[inline]
pub fn end(key: BatchKey) {
    batch_end(key.to_raw());
}

/// A function that holds one site with its raw key as argument.
macro_rules! marker {
    ($function:ident, $name:literal) => {
        #[inline(never)]
        extern "C" fn $function(key: u64) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instructions executed are a nop of five bytes. The rest are directives: they fill
            // sections that no code reads. `key` is in the register that the note names.
            unsafe {
                core::arch::asm!(
                    ".p2align 3",
                    "770: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
                    ".pushsection .note.stapsdt, \"?\", \"note\"",
                    ".balign 4",
                    ".4byte 772f - 771f, 774f - 773f, 3",
                    "771: .asciz \"stapsdt\"",
                    "772: .balign 4",
                    "773: .8byte 770b",
                    ".8byte _.stapsdt.base",
                    ".8byte 0",
                    ".asciz \"hotpath\"",
                    concat!(".asciz \"", $name, "\""),
                    ".asciz \"8@%rdi\"",
                    "774: .balign 4",
                    ".popsection",
                    // Prelinking moves sections after the note was written; tools compare this symbol's
                    // address with the one in the note to find out by how much.
                    ".ifndef _.stapsdt.base",
                    ".pushsection .stapsdt.base, \"aGR\", \"progbits\", .stapsdt.base, comdat",
                    ".weak _.stapsdt.base",
                    ".hidden _.stapsdt.base",
                    "_.stapsdt.base: .space 1",
                    ".size _.stapsdt.base, 1",
                    ".popsection",
                    ".endif",
                    in("rdi") key,
                    // Not `nomem`: timed work must not move across a marker.
                    options(nostack, preserves_flags),
                );
            }
            #[cfg(not(target_arch = "x86_64"))]
            core::hint::black_box(key);
        }
    };
}

marker!(batch_begin, "batch_begin");
marker!(batch_end, "batch_end");
