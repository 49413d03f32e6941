//! Vector loops, cached and streaming, one shape for three instruction sets.

use core::arch::asm;
use core::arch::x86_64::_mm256_zeroupper;

use super::{fence, ladder};

const LINE: usize = 64;

// Functions with wide vectors end with `vzeroupper`, since the compiler does not see that the assembly leaves the upper
// halves dirty, and SSE code would be slow after it.

/// Copies through the cache: one block at the start, blocks at aligned addresses, one block at the end.
macro_rules! cached {
    ($name:ident, $blocks:ident, $feature:literal, $width:literal, $load:literal, $store:literal,
     [$a:tt, $b:tt, $c:tt, $d:tt] $(, $clean:ident)?) => {
        #[doc = concat!("Copies with vectors of ", stringify!($width), " bytes through the cache.")]
        ///
        /// # Safety
        ///
        /// `src` is valid for reads and `dst` for writes of `len` bytes, the ranges do not overlap, `len` is at least
        /// four vectors, and the processor has the instruction set.
        #[target_feature(enable = $feature)]
        #[inline(never)]
        pub(super) unsafe fn $name(dst: *mut u8, src: *const u8, len: usize) -> usize {
            const WIDTH: usize = $width;
            const BLOCK: usize = 4 * WIDTH;
            debug_assert!(len >= BLOCK);
            // The first block reaches past the first aligned address, the last one ends with the range; both overlap
            // the loop's blocks, which is harmless since the ranges are apart.
            let skip = WIDTH - dst.addr() % WIDTH;
            // SAFETY: a block fits at either end, as `len >= BLOCK`; the loop starts `skip <= WIDTH` bytes in, and its
            // blocks end at or before the last one's start plus a block.
            unsafe {
                $blocks(dst, src, 1);
                $blocks(dst.wrapping_add(skip), src.wrapping_add(skip), (len - skip) / BLOCK);
                $blocks(dst.wrapping_add(len - BLOCK), src.wrapping_add(len - BLOCK), 1);
            }
            $($clean();)?
            0
        }

        /// Moves `count` blocks of four vectors with ordinary stores.
        ///
        /// # Safety
        ///
        /// The ranges are valid for `count` blocks and do not overlap.
        #[target_feature(enable = $feature)]
        #[inline]
        unsafe fn $blocks(dst: *mut u8, src: *const u8, count: usize) {
            if count == 0 {
                return;
            }
            // SAFETY: the loop runs `count` times, which is not 0, over blocks of the two ranges; the target feature
            // is enabled on this function, so its caller has proved it.
            unsafe {
                asm!(
                    "2:",
                    concat!($load, " ", $a, ", [{src}]"),
                    concat!($load, " ", $b, ", [{src} + ", $width, "]"),
                    concat!($load, " ", $c, ", [{src} + 2 * ", $width, "]"),
                    concat!($load, " ", $d, ", [{src} + 3 * ", $width, "]"),
                    concat!($store, " [{dst}], ", $a),
                    concat!($store, " [{dst} + ", $width, "], ", $b),
                    concat!($store, " [{dst} + 2 * ", $width, "], ", $c),
                    concat!($store, " [{dst} + 3 * ", $width, "], ", $d),
                    concat!("add {src}, 4 * ", $width),
                    concat!("add {dst}, 4 * ", $width),
                    "dec {count}",
                    "jnz 2b",
                    src = inout(reg) src => _,
                    dst = inout(reg) dst => _,
                    count = inout(reg) count => _,
                    out($a) _, out($b) _, out($c) _, out($d) _,
                    options(nostack),
                );
            }
        }
    };
}

cached!(cached_sse2, blocks_sse2, "sse2", 16, "movups", "movups", ["xmm0", "xmm1", "xmm2", "xmm3"]);
cached!(
    cached_avx2,
    blocks_avx2,
    "avx2",
    32,
    "vmovups",
    "vmovups",
    ["ymm0", "ymm1", "ymm2", "ymm3"],
    _mm256_zeroupper
);
cached!(
    cached_avx512,
    blocks_avx512,
    "avx512f",
    64,
    "vmovups",
    "vmovups",
    ["zmm0", "zmm1", "zmm2", "zmm3"],
    _mm256_zeroupper
);

/// Streams whole lines; what lies before the first line and after the last goes through the cache. Two functions each:
/// one that fences, and one for a batch, which fences later.
macro_rules! stream {
    ($name:ident, $unfenced:ident, $feature:literal, [$($clobber:tt),+], [$($instruction:expr),+ $(,)?]
     $(, $clean:ident)?) => {
        stream!(@ $name, $feature, [$($clobber),+], [$($instruction),+], { fence(); } $(, $clean)?);
        stream!(@ $unfenced, $feature, [$($clobber),+], [$($instruction),+], {} $(, $clean)?);
    };
    (@ $name:ident, $feature:literal, [$($clobber:tt),+], [$($instruction:expr),+], $fence:block $(, $clean:ident)?) => {
        #[doc = concat!("Streams whole lines with the vectors of ", $feature, "; returns the bytes streamed.")]
        ///
        /// # Safety
        ///
        /// `src` is valid for reads and `dst` for writes of `len` bytes, the ranges do not overlap, the processor has
        /// the instruction set, and nothing touches the destination before a fence.
        #[target_feature(enable = $feature)]
        #[inline(never)]
        pub(super) unsafe fn $name(dst: *mut u8, src: *const u8, len: usize) -> usize {
            let head = (dst.addr().wrapping_neg() % LINE).min(len);
            let lines = (len - head) / LINE;
            let tail = (len - head) % LINE;
            // SAFETY: `head + lines * LINE + tail` is `len`, so both ends lie inside the two ranges, and both are
            // shorter than a line.
            unsafe {
                ladder::under_a_line(dst, src, head);
                ladder::under_a_line(dst.wrapping_add(len - tail), src.wrapping_add(len - tail), tail);
            }
            if lines == 0 {
                return 0;
            }
            // SAFETY: as above: the lines start after the head, where the destination is aligned to a line, and end
            // before the tail. The target feature is enabled on this function, so its caller has proved it.
            unsafe {
                asm!(
                    "2:",
                    $($instruction,)+
                    "add {src}, 64",
                    "add {dst}, 64",
                    "dec {count}",
                    "jnz 2b",
                    src = inout(reg) src.wrapping_add(head) => _,
                    dst = inout(reg) dst.wrapping_add(head) => _,
                    count = inout(reg) lines => _,
                    $(out($clobber) _,)+
                    options(nostack),
                );
            }
            $($clean();)?
            $fence
            lines * LINE
        }
    };
}

stream!(
    stream_sse2,
    stream_sse2_unfenced,
    "sse2",
    ["xmm0", "xmm1", "xmm2", "xmm3"],
    [
        "movups xmm0, [{src}]",
        "movups xmm1, [{src} + 16]",
        "movups xmm2, [{src} + 32]",
        "movups xmm3, [{src} + 48]",
        "movntps [{dst}], xmm0",
        "movntps [{dst} + 16], xmm1",
        "movntps [{dst} + 32], xmm2",
        "movntps [{dst} + 48], xmm3",
    ]
);
stream!(
    stream_avx2,
    stream_avx2_unfenced,
    "avx2",
    ["ymm0", "ymm1"],
    [
        "vmovups ymm0, [{src}]",
        "vmovups ymm1, [{src} + 32]",
        "vmovntps [{dst}], ymm0",
        "vmovntps [{dst} + 32], ymm1",
    ],
    _mm256_zeroupper
);
// Eight lines ahead. A prefetch never faults, so asking past the end of the source is harmless.
stream!(
    stream_avx2_prefetch,
    stream_avx2_prefetch_unfenced,
    "avx2",
    ["ymm0", "ymm1"],
    [
        "prefetchnta [{src} + 512]",
        "vmovups ymm0, [{src}]",
        "vmovups ymm1, [{src} + 32]",
        "vmovntps [{dst}], ymm0",
        "vmovntps [{dst} + 32], ymm1",
    ],
    _mm256_zeroupper
);
stream!(
    stream_avx512,
    stream_avx512_unfenced,
    "avx512f",
    ["zmm0"],
    ["vmovups zmm0, [{src}]", "vmovntps [{dst}], zmm0"],
    _mm256_zeroupper
);
