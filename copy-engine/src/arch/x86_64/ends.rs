//! The ends of a copy that streams whole lines: less than a line before the first and after the last.

use core::arch::asm;

/// Moves the first and the last bytes of a range, both loaded before either is stored.
macro_rules! ends {
    ($dst:ident, $src:ident, $len:ident, $class:ident, $mov:literal, $size:literal $(, $modifier:literal)?) => {
        asm!(
            concat!($mov, " {first", $($modifier,)? "}, [{src}]"),
            concat!($mov, " {last", $($modifier,)? "}, [{src} + {len} - ", $size, "]"),
            concat!($mov, " [{dst}], {first", $($modifier,)? "}"),
            concat!($mov, " [{dst} + {len} - ", $size, "], {last", $($modifier,)? "}"),
            src = in(reg) $src,
            dst = in(reg) $dst,
            len = in(reg) $len,
            first = out($class) _,
            last = out($class) _,
            options(nostack, preserves_flags),
        )
    };
}

/// Moves the first and the last two vectors of a range.
macro_rules! vector_ends {
    ($dst:ident, $src:ident, $len:ident, $class:ident, $mov:literal, $size:literal) => {
        asm!(
            concat!($mov, " {a}, [{src}]"),
            concat!($mov, " {b}, [{src} + ", $size, "]"),
            concat!($mov, " {c}, [{src} + {len} - 2 * ", $size, "]"),
            concat!($mov, " {d}, [{src} + {len} - ", $size, "]"),
            concat!($mov, " [{dst}], {a}"),
            concat!($mov, " [{dst} + ", $size, "], {b}"),
            concat!($mov, " [{dst} + {len} - 2 * ", $size, "], {c}"),
            concat!($mov, " [{dst} + {len} - ", $size, "], {d}"),
            src = in(reg) $src,
            dst = in(reg) $dst,
            len = in(reg) $len,
            a = out($class) _,
            b = out($class) _,
            c = out($class) _,
            d = out($class) _,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies up to 63 bytes with what every x86-64 has.
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, and `len` is at most 63.
#[inline(always)]
#[expect(clippy::multiple_unsafe_ops_per_block, reason = "one argument for every arm")]
pub(super) unsafe fn under_a_line(dst: *mut u8, src: *const u8, len: usize) {
    debug_assert!(len < 64);
    // SAFETY: in each arm a chunk from the start and one up to the end lie inside both ranges, as `len` is at least a
    // chunk; registers are declared, and everything is loaded before anything is stored.
    unsafe {
        match len {
            0 => {}
            1 => asm!(
                "mov {byte}, byte ptr [{src}]",
                "mov byte ptr [{dst}], {byte}",
                src = in(reg) src,
                dst = in(reg) dst,
                byte = out(reg_byte) _,
                options(nostack, preserves_flags),
            ),
            2..=3 => ends!(dst, src, len, reg, "mov", 2, ":x"),
            4..=7 => ends!(dst, src, len, reg, "mov", 4, ":e"),
            8..=15 => ends!(dst, src, len, reg, "mov", 8),
            16..=31 => ends!(dst, src, len, xmm_reg, "movups", 16),
            _ => vector_ends!(dst, src, len, xmm_reg, "movups", 16),
        }
    }
}
