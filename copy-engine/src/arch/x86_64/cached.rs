//! Copies through the cache, in assembly from the first instruction to the last: what a short copy costs is the way to
//! its few moves.
//!
//! Up to sixteen vectors no length needs a loop: the first and the last vectors overlap in the middle, and everything is
//! loaded before anything is stored. Each function ends with padding to a line: that aligns its section, and so its
//! beginning, without which the shortest copies take a fifth longer. The wide routine uses the registers that AVX-512 added, 16 to 31, whose use leaves
//! nothing behind that would slow down SSE code: no `vzeroupper`.

use core::arch::naked_asm;

/// Bytes below the width of a vector: pairs of moves that overlap, each half as wide as the one before.
macro_rules! under_a_vector {
    (64) => {
        concat!(
            "cmp edx, 32\n jb 22f\n",
            "movups xmm0, [rsi]\n movups xmm1, [rsi + 16]\n",
            "movups xmm2, [rsi + rdx - 32]\n movups xmm3, [rsi + rdx - 16]\n",
            "movups [rdi], xmm0\n movups [rdi + 16], xmm1\n",
            "movups [rdi + rdx - 32], xmm2\n movups [rdi + rdx - 16], xmm3\n ret\n",
            "22:\n",
            under_a_vector!(32)
        )
    };
    (32) => {
        concat!(
            "cmp edx, 16\n jb 23f\n",
            "movups xmm0, [rsi]\n movups xmm1, [rsi + rdx - 16]\n",
            "movups [rdi], xmm0\n movups [rdi + rdx - 16], xmm1\n ret\n",
            "23:\n",
            under_a_vector!(16)
        )
    };
    (16) => {
        concat!(
            "cmp edx, 8\n jb 24f\n",
            "mov r8, [rsi]\n mov r9, [rsi + rdx - 8]\n mov [rdi], r8\n mov [rdi + rdx - 8], r9\n ret\n",
            "24: cmp edx, 4\n jb 25f\n",
            "mov r8d, [rsi]\n mov r9d, [rsi + rdx - 4]\n mov [rdi], r8d\n mov [rdi + rdx - 4], r9d\n ret\n",
            "25: cmp edx, 1\n jb 27f\n",
            "movzx r8d, byte ptr [rsi]\n je 26f\n",
            "movzx r9d, word ptr [rsi + rdx - 2]\n mov [rdi + rdx - 2], r9w\n",
            "26: mov [rdi], r8b\n",
            "27: ret",
        )
    };
}

/// Vectors between registers and memory, `$side` being a base register with the range's first byte, and what is said
/// after it the offset in vectors; `end` counts back from the end of the range, which RDX is long.
macro_rules! load {
    ($mov:literal, $width:literal, $($register:literal = $at:literal),+) => {
        concat!($($mov, " ", $register, ", [rsi + ", $at, " * ", $width, "]\n"),+)
    };
    ($mov:literal, $width:literal, end, $($register:literal = $at:literal),+) => {
        concat!($($mov, " ", $register, ", [rsi + rdx - ", $at, " * ", $width, "]\n"),+)
    };
}
macro_rules! store {
    ($mov:literal, $width:literal, $($register:literal = $at:literal),+) => {
        concat!($($mov, " [rdi + ", $at, " * ", $width, "], ", $register, "\n"),+)
    };
    ($mov:literal, $width:literal, end, $($register:literal = $at:literal),+) => {
        concat!($($mov, " [rdi + rdx - ", $at, " * ", $width, "], ", $register, "\n"),+)
    };
}

/// One routine. All take the destination in RDI, the source in RSI and the length in RDX, and return in RAX how many
/// bytes went around the cache: none.
macro_rules! cached {
    ($name:ident, $mov:literal, $width:tt, $clean:literal,
     [$a:literal, $b:literal, $c:literal, $d:literal, $e:literal, $f:literal, $g:literal, $h:literal,
      $i:literal, $j:literal, $k:literal, $l:literal, $m:literal, $n:literal, $o:literal, $p:literal]) => {
        #[doc = concat!("Copies with vectors of ", stringify!($width), " bytes.")]
        ///
        /// # Safety
        ///
        /// As [`Move`](super::Move), and the processor has the instruction set.
        #[unsafe(naked)]
        pub(super) unsafe extern "sysv64" fn $name(dst: *mut u8, src: *const u8, len: usize) -> usize {
            naked_asm!(
                "xor eax, eax",
                concat!("cmp rdx, ", $width),
                "jb 21f",
                load!($mov, $width, $a = 0),
                load!($mov, $width, end, $p = 1),
                concat!("cmp rdx, 2 * ", $width),
                "ja 2f",
                store!($mov, $width, $a = 0),
                store!($mov, $width, end, $p = 1),
                $clean,
                "ret",
                "2:",
                concat!("cmp rdx, 4 * ", $width),
                "ja 3f",
                load!($mov, $width, $b = 1),
                load!($mov, $width, end, $o = 2),
                store!($mov, $width, $a = 0, $b = 1),
                store!($mov, $width, end, $o = 2, $p = 1),
                $clean,
                "ret",
                "3:",
                concat!("cmp rdx, 8 * ", $width),
                "ja 4f",
                load!($mov, $width, $b = 1, $c = 2, $d = 3),
                load!($mov, $width, end, $m = 4, $n = 3, $o = 2),
                store!($mov, $width, $a = 0, $b = 1, $c = 2, $d = 3),
                store!($mov, $width, end, $m = 4, $n = 3, $o = 2, $p = 1),
                $clean,
                "ret",
                "4:",
                concat!("cmp rdx, 16 * ", $width),
                "ja 5f",
                // Stores that cross lines cost twice: where there would be sixteen, the loop aligns them.
                concat!("test dil, ", $width, " - 1"),
                "jnz 5f",
                load!($mov, $width, $b = 1, $c = 2, $d = 3, $e = 4, $f = 5, $g = 6, $h = 7),
                load!($mov, $width, end, $i = 8, $j = 7, $k = 6, $l = 5, $m = 4, $n = 3, $o = 2),
                store!($mov, $width, $a = 0, $b = 1, $c = 2, $d = 3, $e = 4, $f = 5, $g = 6, $h = 7),
                store!($mov, $width, end, $i = 8, $j = 7, $k = 6, $l = 5, $m = 4, $n = 3, $o = 2, $p = 1),
                $clean,
                "ret",
                // R8 is the first vector of the destination, R9 the last; the loop moves four at aligned addresses as long
                // as more than four are left, and what is left ends with the range. Loads run ahead of the stores by a
                // block, so that a destination just past the source modulo 4096 holds up one load in four at most.
                "5:",
                "mov r8, rdi",
                concat!("lea r9, [rdi + rdx - ", $width, "]"),
                "sub rsi, rdi",
                concat!("or rdi, ", $width, " - 1"),
                "inc rdi",
                "add rsi, rdi",
                concat!("lea rcx, [r9 - 3 * ", $width, "]"),
                ".balign 16",
                "6:",
                load!($mov, $width, $b = 0, $c = 1, $d = 2, $e = 3),
                store!($mov, $width, $b = 0, $c = 1, $d = 2, $e = 3),
                concat!("add rsi, 4 * ", $width),
                concat!("add rdi, 4 * ", $width),
                "cmp rdi, rcx",
                "jb 6b",
                "sub rsi, rdi",
                concat!($mov, " ", $b, ", [rsi + r9 - 3 * ", $width, "]"),
                concat!($mov, " ", $c, ", [rsi + r9 - 2 * ", $width, "]"),
                concat!($mov, " ", $d, ", [rsi + r9 - 1 * ", $width, "]"),
                concat!($mov, " [r8], ", $a),
                concat!($mov, " [r9 - 3 * ", $width, "], ", $b),
                concat!($mov, " [r9 - 2 * ", $width, "], ", $c),
                concat!($mov, " [r9 - 1 * ", $width, "], ", $d),
                concat!($mov, " [r9], ", $p),
                $clean,
                "ret",
                "21:",
                under_a_vector!($width),
                ".balign 64",
            )
        }
    };
}

cached!(
    sse2,
    "movups",
    16,
    "",
    [
        "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15"
    ]
);
cached!(
    avx2,
    "vmovups",
    32,
    "vzeroupper",
    [
        "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", "ymm10", "ymm11",
        "ymm12", "ymm13", "ymm14", "ymm15"
    ]
);
cached!(
    avx512,
    "vmovups",
    64,
    "",
    [
        "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26",
        "zmm27", "zmm28", "zmm29", "zmm30", "zmm31"
    ]
);

/// The same, the lines of the destination asked for at once, before anything is moved: a store that misses waits for its
/// line, and stores wait for each other; requests do not. Past a page the loop's own stores are far enough behind.
macro_rules! ahead {
    ($name:ident, $cached:ident) => {
        #[doc = concat!("Asks for the destination's lines, then copies as [`", stringify!($cached), "`].")]
        ///
        /// # Safety
        ///
        /// As there.
        #[unsafe(naked)]
        pub(super) unsafe extern "sysv64" fn $name(dst: *mut u8, src: *const u8, len: usize) -> usize {
            naked_asm!(
                "mov ecx, 4096",
                "cmp rdx, rcx",
                "cmovb rcx, rdx",
                "add rcx, rdi",
                "mov rax, rdi",
                // A prefetch never faults, and one line more than there is does no harm.
                "2:",
                "prefetchw [rax]",
                "add rax, 64",
                "cmp rax, rcx",
                "jb 2b",
                "jmp {cached}",
                ".balign 64",
                cached = sym $cached,
            )
        }
    };
}

ahead!(ahead_sse2, sse2);
ahead!(ahead_avx2, avx2);
ahead!(ahead_avx512, avx512);
