//! The ladder of small sizes: first and last chunk overlap, so that no length needs a loop.

use core::arch::asm;
use core::arch::x86_64::_mm256_zeroupper;

/// The longest length the ladders take.
pub(super) const LADDER: usize = 256;

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

/// Moves the first and the last `count` vectors of a range, `count` being 2 or 4.
macro_rules! vector_ends {
    (2, $dst:ident, $src:ident, $len:ident, $class:ident, $mov:literal, $size:literal) => {
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
    (4, $dst:ident, $src:ident, $len:ident, $class:ident, $mov:literal, $size:literal) => {
        asm!(
            concat!($mov, " {a}, [{src}]"),
            concat!($mov, " {b}, [{src} + ", $size, "]"),
            concat!($mov, " {c}, [{src} + 2 * ", $size, "]"),
            concat!($mov, " {d}, [{src} + 3 * ", $size, "]"),
            concat!($mov, " {e}, [{src} + {len} - 4 * ", $size, "]"),
            concat!($mov, " {f}, [{src} + {len} - 3 * ", $size, "]"),
            concat!($mov, " {g}, [{src} + {len} - 2 * ", $size, "]"),
            concat!($mov, " {h}, [{src} + {len} - ", $size, "]"),
            concat!($mov, " [{dst}], {a}"),
            concat!($mov, " [{dst} + ", $size, "], {b}"),
            concat!($mov, " [{dst} + 2 * ", $size, "], {c}"),
            concat!($mov, " [{dst} + 3 * ", $size, "], {d}"),
            concat!($mov, " [{dst} + {len} - 4 * ", $size, "], {e}"),
            concat!($mov, " [{dst} + {len} - 3 * ", $size, "], {f}"),
            concat!($mov, " [{dst} + {len} - 2 * ", $size, "], {g}"),
            concat!($mov, " [{dst} + {len} - ", $size, "], {h}"),
            src = in(reg) $src,
            dst = in(reg) $dst,
            len = in(reg) $len,
            a = out($class) _,
            b = out($class) _,
            c = out($class) _,
            d = out($class) _,
            e = out($class) _,
            f = out($class) _,
            g = out($class) _,
            h = out($class) _,
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
            _ => vector_ends!(2, dst, src, len, xmm_reg, "movups", 16),
        }
    }
}

/// Copies up to [`LADDER`] bytes with 16-byte vectors.
///
/// # Safety
///
/// `src` is valid for reads and `dst` for writes of `len` bytes, the ranges do not overlap, and `len` is at most
/// [`LADDER`].
#[inline(never)]
pub(super) unsafe fn sse2(dst: *mut u8, src: *const u8, len: usize) {
    debug_assert!(len <= LADDER);
    match len {
        // SAFETY: the contract, and the arm's bound.
        0..=63 => unsafe { under_a_line(dst, src, len) },
        // SAFETY: as in `under_a_line`.
        64..=128 => unsafe { vector_ends!(4, dst, src, len, xmm_reg, "movups", 16) },
        _ => {
            const HALF: usize = 128;
            let (rest_dst, rest_src) = (dst.wrapping_add(len - HALF), src.wrapping_add(len - HALF));
            // SAFETY: two halves, of the start and of the end, which lie inside both ranges as `len` is more than a half.
            unsafe { vector_ends!(4, dst, src, HALF, xmm_reg, "movups", 16) };
            // SAFETY: as above; storing the first half has not changed the second's source, since the ranges are apart.
            unsafe { vector_ends!(4, rest_dst, rest_src, HALF, xmm_reg, "movups", 16) };
        }
    }
}

/// Copies up to [`LADDER`] bytes with 32-byte vectors.
///
/// # Safety
///
/// As [`sse2`], and the processor has AVX2.
#[target_feature(enable = "avx2")]
#[inline(never)]
pub(super) unsafe fn avx2(dst: *mut u8, src: *const u8, len: usize) {
    debug_assert!(len <= LADDER);
    match len {
        // SAFETY: the contract, and the arm's bound.
        0..=63 => return unsafe { under_a_line(dst, src, len) },
        // SAFETY: as in `under_a_line`; the feature is the contract.
        64..=128 => unsafe { vector_ends!(2, dst, src, len, ymm_reg, "vmovups", 32) },
        // SAFETY: as above.
        _ => unsafe { vector_ends!(4, dst, src, len, ymm_reg, "vmovups", 32) },
    }
    // The compiler does not see what the assembly leaves in the upper halves, where it would slow down SSE code.
    _mm256_zeroupper();
}
