//! Vector loops that go around the cache, one shape for three instruction sets.

use core::arch::asm;
use core::arch::x86_64::_mm256_zeroupper;

use super::{ends, fence};
use crate::policy::PAGE;

const LINE: usize = 64;
/// Pages that are moved side by side: each is a row of memory and a stream to prefetch of its own.
const SIDE_BY_SIDE: usize = 4;

// Functions with 32-byte vectors end with `vzeroupper`, since the compiler does not see that the assembly leaves the upper
// halves dirty, and SSE code would be slow after it. Registers above 15 have no such halves.

/// One line from `{src}` plus an offset to `{dst}` plus the same.
macro_rules! line {
    (sse2, $at:literal) => {
        concat!(
            "movups xmm0, [{src} + ",
            $at,
            "]\n movups xmm1, [{src} + ",
            $at,
            " + 16]\n",
            "movups xmm2, [{src} + ",
            $at,
            " + 32]\n movups xmm3, [{src} + ",
            $at,
            " + 48]\n",
            "movntps [{dst} + ",
            $at,
            "], xmm0\n movntps [{dst} + ",
            $at,
            " + 16], xmm1\n",
            "movntps [{dst} + ",
            $at,
            " + 32], xmm2\n movntps [{dst} + ",
            $at,
            " + 48], xmm3",
        )
    };
    (avx2, $at:literal) => {
        concat!(
            "vmovups ymm0, [{src} + ",
            $at,
            "]\n vmovups ymm1, [{src} + ",
            $at,
            " + 32]\n",
            "vmovntps [{dst} + ",
            $at,
            "], ymm0\n vmovntps [{dst} + ",
            $at,
            " + 32], ymm1",
        )
    };
    (avx512, $at:literal) => {
        concat!("vmovups zmm16, [{src} + ", $at, "]\n vmovntps [{dst} + ", $at, "], zmm16")
    };
}

/// Streams whole lines; what lies before the first line and after the last goes through the cache. Two functions each:
/// one that fences, and one for a batch, which fences later.
macro_rules! stream {
    ($name:ident, $unfenced:ident, $set:ident, $feature:literal, $ahead:literal, $pages:expr, [$($clobber:tt),+]
     $(, $clean:ident)?) => {
        stream!(@ $name, $set, $feature, $ahead, $pages, [$($clobber),+], { fence(); } $(, $clean)?);
        stream!(@ $unfenced, $set, $feature, $ahead, $pages, [$($clobber),+], {} $(, $clean)?);
    };
    (@ $name:ident, $set:ident, $feature:literal, $ahead:literal, $pages:expr, [$($clobber:tt),+], $fence:block
     $(, $clean:ident)?) => {
        #[doc = concat!("Streams whole lines with the vectors of ", $feature, "; returns the bytes streamed.")]
        ///
        /// # Safety
        ///
        /// As [`Move`](super::Move), and the processor has the instruction set.
        #[target_feature(enable = $feature)]
        #[inline(never)]
        pub(super) unsafe extern "sysv64" fn $name(dst: *mut u8, src: *const u8, len: usize) -> usize {
            let head = (dst.addr().wrapping_neg() % LINE).min(len);
            let lines = (len - head) / LINE;
            let tail = (len - head) % LINE;
            // SAFETY: `head + lines * LINE + tail` is `len`, so both ends lie inside the two ranges, and both are
            // shorter than a line.
            unsafe {
                ends::under_a_line(dst, src, head);
                ends::under_a_line(dst.wrapping_add(len - tail), src.wrapping_add(len - tail), tail);
            }
            if lines == 0 {
                return 0;
            }
            let groups = if $pages { lines / (SIDE_BY_SIDE * PAGE / LINE) } else { 0 };
            let alone = lines - groups * (SIDE_BY_SIDE * PAGE / LINE);
            let (mut dst, mut src) = (dst.wrapping_add(head), src.wrapping_add(head));
            if groups > 0 {
                // SAFETY: the groups are whole lines of both ranges, the destination's aligned; a prefetch never faults.
                // The target feature is enabled on this function, so its caller has proved it.
                unsafe {
                    asm!(
                        "2:",
                        "mov {count:e}, 64",
                        "3:",
                        "prefetcht0 [{src} + 64]",
                        "prefetcht0 [{src} + 64 + 4096]",
                        "prefetcht0 [{src} + 64 + 2 * 4096]",
                        "prefetcht0 [{src} + 64 + 3 * 4096]",
                        line!($set, "0"),
                        line!($set, "4096"),
                        line!($set, "2 * 4096"),
                        line!($set, "3 * 4096"),
                        "add {src}, 64",
                        "add {dst}, 64",
                        "dec {count:e}",
                        "jnz 3b",
                        "add {src}, 3 * 4096",
                        "add {dst}, 3 * 4096",
                        "dec {groups}",
                        "jnz 2b",
                        src = inout(reg) src,
                        dst = inout(reg) dst,
                        count = out(reg) _,
                        groups = inout(reg) groups => _,
                        $(out($clobber) _,)+
                        options(nostack),
                    );
                }
            }
            if alone > 0 {
                // SAFETY: as above: the lines that are left start where the groups end, and end before the tail.
                unsafe {
                    asm!(
                        "2:",
                        $ahead,
                        line!($set, "0"),
                        "add {src}, 64",
                        "add {dst}, 64",
                        "dec {count}",
                        "jnz 2b",
                        src = inout(reg) src => _,
                        dst = inout(reg) dst => _,
                        count = inout(reg) alone => _,
                        $(out($clobber) _,)+
                        options(nostack),
                    );
                }
            }
            $($clean();)?
            $fence
            lines * LINE
        }
    };
}

stream!(stream_sse2, stream_sse2_unfenced, sse2, "sse2", "", false, ["xmm0", "xmm1", "xmm2", "xmm3"]);
stream!(stream_avx2, stream_avx2_unfenced, avx2, "avx2", "", false, ["ymm0", "ymm1"], _mm256_zeroupper);
// Eight lines ahead. A prefetch never faults, so asking past the end of the source is harmless.
stream!(
    stream_avx2_prefetch,
    stream_avx2_prefetch_unfenced,
    avx2,
    "avx2",
    "prefetchnta [{src} + 512]",
    false,
    ["ymm0", "ymm1"],
    _mm256_zeroupper
);
stream!(
    stream_avx2_pages,
    stream_avx2_pages_unfenced,
    avx2,
    "avx2",
    "",
    true,
    ["ymm0", "ymm1"],
    _mm256_zeroupper
);
stream!(stream_avx512, stream_avx512_unfenced, avx512, "avx512f", "", false, ["zmm16"]);
stream!(stream_avx512_pages, stream_avx512_pages_unfenced, avx512, "avx512f", "", true, ["zmm16"]);
