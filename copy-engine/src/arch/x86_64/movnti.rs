//! The two routines of the mail of February 2009, with the real instruction: the generic one and the page door.

use core::arch::asm;

use super::fence;
use crate::policy::PAGE;

const LINE: usize = 64;
const QUAD: usize = 8;

/// Both routines, fenced or for a batch, which fences later.
macro_rules! routines {
    ($generic:ident, $page:ident, $page_or_generic:ident, $fence:block) => {
        /// Aligns the destination to 8, then moves lines of 64, quads of 8 and the last bytes. Returns the bytes streamed.
        ///
        /// Below 8 bytes, in the head and in the tail the stores are ordinary ones: `movnti` knows 4 and 8 bytes only.
        ///
        /// # Safety
        ///
        /// As [`Move`](super::Move).
        #[inline(never)]
        pub(super) unsafe extern "sysv64" fn $generic(dst: *mut u8, src: *const u8, len: usize) -> usize {
            let head = if len < QUAD { len } else { dst.addr().wrapping_neg() % QUAD };
            let (lines, quads) = ((len - head) / LINE, (len - head) % LINE / QUAD);
            let streamed = lines * LINE + quads * QUAD;
            let tail = len - head - streamed;
            let at = |offset: usize| (dst.wrapping_add(offset), src.wrapping_add(offset));
            let ((first, first_src), (second, second_src)) = (at(head), at(head + lines * LINE));
            let (last, last_src) = at(len - tail);
            // SAFETY: head, lines, quads and tail add up to `len`, so each piece lies inside both ranges.
            unsafe {
                bytes(dst, src, head);
                move_lines(first, first_src, lines);
                move_quads(second, second_src, quads);
                bytes(last, last_src, tail);
            }
            $fence
            streamed
        }

        /// Copies exactly one page: no head, no tail, no length. Returns the bytes streamed.
        ///
        /// An unaligned destination is copied correctly, and slowly.
        ///
        /// # Safety
        ///
        /// As the generic routine with a `len` of [`PAGE`].
        #[inline(never)]
        unsafe extern "sysv64" fn $page(dst: *mut u8, src: *const u8) -> usize {
            // SAFETY: the contract is the same.
            unsafe { move_lines(dst, src, PAGE / LINE) };
            $fence
            PAGE
        }

        /// A page by the page routine, any other length by the generic one.
        ///
        /// # Safety
        ///
        /// As the generic routine.
        pub(super) unsafe extern "sysv64" fn $page_or_generic(dst: *mut u8, src: *const u8, len: usize) -> usize {
            match len {
                // SAFETY: the contract is the same.
                PAGE => unsafe { $page(dst, src) },
                // SAFETY: as above.
                _ => unsafe { $generic(dst, src, len) },
            }
        }
    };
}

routines!(generic, page, page_or_generic, {
    fence();
});
routines!(generic_unfenced, page_unfenced, page_or_generic_unfenced, {});

/// Moves `count` bytes one by one, as the original does.
///
/// # Safety
///
/// As the generic routine with a `len` of `count`.
#[inline(always)]
unsafe fn bytes(dst: *mut u8, src: *const u8, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: the loop runs `count` times, which is not 0, over bytes of the two ranges.
    unsafe {
        asm!(
            "2:",
            "mov {byte}, byte ptr [{src}]",
            "mov byte ptr [{dst}], {byte}",
            "inc {src}",
            "inc {dst}",
            "dec {count}",
            "jnz 2b",
            byte = out(reg_byte) _,
            src = inout(reg) src => _,
            dst = inout(reg) dst => _,
            count = inout(reg) count => _,
            options(nostack),
        );
    }
}

/// Moves `count` quads with `movnti`.
///
/// # Safety
///
/// As the generic routine with a `len` of `count * 8`; nothing may touch the destination before a fence.
#[inline(always)]
unsafe fn move_quads(dst: *mut u8, src: *const u8, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: the loop runs `count` times, which is not 0, over quads of the two ranges.
    unsafe {
        asm!(
            "2:",
            "mov {quad}, qword ptr [{src}]",
            "movnti qword ptr [{dst}], {quad}",
            "add {src}, 8",
            "add {dst}, 8",
            "dec {count}",
            "jnz 2b",
            quad = out(reg) _,
            src = inout(reg) src => _,
            dst = inout(reg) dst => _,
            count = inout(reg) count => _,
            options(nostack),
        );
    }
}

/// Moves `count` lines of 64 bytes with `movnti`: four loads, four stores, and again.
///
/// # Safety
///
/// As the generic routine with a `len` of `count * 64`; nothing may touch the destination before a fence.
#[inline(always)]
unsafe fn move_lines(dst: *mut u8, src: *const u8, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: the loop runs `count` times, which is not 0, over lines of the two ranges.
    unsafe {
        asm!(
            "2:",
            "mov {a}, qword ptr [{src}]",
            "mov {b}, qword ptr [{src} + 8]",
            "mov {c}, qword ptr [{src} + 16]",
            "mov {d}, qword ptr [{src} + 24]",
            "movnti qword ptr [{dst}], {a}",
            "movnti qword ptr [{dst} + 8], {b}",
            "movnti qword ptr [{dst} + 16], {c}",
            "movnti qword ptr [{dst} + 24], {d}",
            "mov {a}, qword ptr [{src} + 32]",
            "mov {b}, qword ptr [{src} + 40]",
            "mov {c}, qword ptr [{src} + 48]",
            "mov {d}, qword ptr [{src} + 56]",
            "movnti qword ptr [{dst} + 32], {a}",
            "movnti qword ptr [{dst} + 40], {b}",
            "movnti qword ptr [{dst} + 48], {c}",
            "movnti qword ptr [{dst} + 56], {d}",
            "add {src}, 64",
            "add {dst}, 64",
            "dec {count}",
            "jnz 2b",
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            d = out(reg) _,
            src = inout(reg) src => _,
            dst = inout(reg) dst => _,
            count = inout(reg) count => _,
            options(nostack),
        );
    }
}
