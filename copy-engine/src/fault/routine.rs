//! The routines with their exception table.
//!
//! All take the destination in RDI, the source in RSI, the length in RDX and an [`Outcome`] in RCX, and return in RAX how
//! many bytes are left. Where an instruction faults, the handler puts the cause in R10 and the address in R11 and goes on
//! at the fixup that the table names; every other register is as it was, so that fixups count from the loop's own state.
//! R8 to R11 carry data in the loops and are free in every fixup.
//!
//! One file and one block of assembly for all: the entries of the table have to follow each other.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU8, Ordering};

use super::session::FaultRoutine;
use crate::engine::Selection;
use crate::features::Features;
use crate::policy::PAGE;
use crate::routine::Routine;
use crate::topology::Vendor;

/// No instruction of the routines touches a byte this far from RSI or RDI, or further, to either side.
pub(super) const REACH: usize = 1024;

/// What a routine leaves behind when it faults. The assembly knows the offsets.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Outcome {
    /// In: whether to go on byte by byte after the first fault. Offset 0.
    pub(super) retry: u64,
    /// Bytes left by the count of the first fault. Offset 8.
    pub(super) coarse: usize,
    /// The loop counter register as the original's fixup left it. Offset 16.
    pub(super) counter: u64,
    /// Signal in the upper half, code in the lower; of the last fault. Offset 24.
    pub(super) cause: u64,
    /// The faulting address. Offset 32.
    pub(super) address: usize,
    /// What a fixup reports that counts nothing: the whole length, then that after the head. Offset 40.
    pub(super) len: usize,
}

const _: () = assert!(size_of::<Outcome>() == 48);

/// An exception: the instruction that may fault, and where to go on, each relative to its own place.
#[repr(C)]
struct Entry {
    instruction: i32,
    fixup: i32,
}

/// Names a symbol so that two versions of this crate can live in one program.
macro_rules! symbol {
    ($name:literal) => {
        concat!(
            "copy_engine_",
            env!("CARGO_PKG_VERSION_MAJOR"),
            "_",
            env!("CARGO_PKG_VERSION_MINOR"),
            "_",
            env!("CARGO_PKG_VERSION_PATCH"),
            "_fault_",
            $name
        )
    };
}

macro_rules! begin {
    ($name:literal) => {
        concat!(
            ".balign 64\n.hidden ",
            symbol!($name),
            "\n.globl ",
            symbol!($name),
            "\n.type ",
            symbol!($name),
            ", @function\n",
            symbol!($name),
            ":\n.cfi_startproc"
        )
    };
}

macro_rules! end {
    ($name:literal) => {
        concat!(".cfi_endproc\n.size ", symbol!($name), ", . - ", symbol!($name))
    };
}

/// The section that holds the table.
macro_rules! table {
    ($line:expr) => {
        concat!(".pushsection .rodata.", symbol!("table"), ",\"a\",@progbits\n", $line, "\n.popsection")
    };
}

/// An instruction that may fault, and its fixup. The label 77 is used again and again.
macro_rules! may_fault {
    ($instruction:literal => $fixup:literal) => {
        concat!("77: ", $instruction, "\n", table!(concat!(".long 77b - .\n.long ", $fixup, " - .")))
    };
}

/// One line of 64 bytes as the mail moves it, with the fixup of each pair of load and store.
macro_rules! movnti_line {
    ($f0:literal, $f1:literal, $f2:literal, $f3:literal, $f4:literal, $f5:literal, $f6:literal, $f7:literal) => {
        concat!(
            may_fault!("mov r8, qword ptr [rsi]" => $f0), "\n",
            may_fault!("mov r9, qword ptr [rsi + 8]" => $f1), "\n",
            may_fault!("mov r10, qword ptr [rsi + 16]" => $f2), "\n",
            may_fault!("mov r11, qword ptr [rsi + 24]" => $f3), "\n",
            may_fault!("movnti qword ptr [rdi], r8" => $f0), "\n",
            may_fault!("movnti qword ptr [rdi + 8], r9" => $f1), "\n",
            may_fault!("movnti qword ptr [rdi + 16], r10" => $f2), "\n",
            may_fault!("movnti qword ptr [rdi + 24], r11" => $f3), "\n",
            may_fault!("mov r8, qword ptr [rsi + 32]" => $f4), "\n",
            may_fault!("mov r9, qword ptr [rsi + 40]" => $f5), "\n",
            may_fault!("mov r10, qword ptr [rsi + 48]" => $f6), "\n",
            may_fault!("mov r11, qword ptr [rsi + 56]" => $f7), "\n",
            may_fault!("movnti qword ptr [rdi + 32], r8" => $f4), "\n",
            may_fault!("movnti qword ptr [rdi + 40], r9" => $f5), "\n",
            may_fault!("movnti qword ptr [rdi + 48], r10" => $f6), "\n",
            may_fault!("movnti qword ptr [rdi + 56], r11" => $f7), "\n",
            "add rsi, 64\n",
            "add rdi, 64",
        )
    };
    ($fixup:literal) => {
        movnti_line!($fixup, $fixup, $fixup, $fixup, $fixup, $fixup, $fixup, $fixup)
    };
}

global_asm!(
    ".pushsection .text.copy_engine_fault,\"ax\",@progbits",
    table!(concat!(
        ".balign 4\n.hidden ",
        symbol!("table"),
        "\n.globl ",
        symbol!("table"),
        "\n",
        symbol!("table"),
        ":"
    )),
    // The end of every counted routine: RDX bytes are left from RSI to RDI. Goes on byte by byte where that is wanted,
    // which makes the count exact; then what is left is what could not be reached.
    begin!("tail"),
    "mov qword ptr [rax + 24], r10",
    "mov qword ptr [rax + 32], r11",
    "cmp qword ptr [rax], 0",
    "je 33f",
    "test rdx, rdx",
    "jz 33f",
    "22:",
    may_fault!("mov r8b, byte ptr [rsi]" => "34f"),
    may_fault!("mov byte ptr [rdi], r8b" => "34f"),
    "inc rsi",
    "inc rdi",
    "dec rdx",
    "jnz 22b",
    "xor eax, eax",
    "ret",
    "34:",
    "mov qword ptr [rax + 24], r10",
    "mov qword ptr [rax + 32], r11",
    "33:",
    "mov rax, rdx",
    "ret",
    end!("tail"),
    // Vectors of 16 bytes, which every x86-64 has. Less than a line, alone or at the end: pairs of moves that overlap, all
    // loaded before anything is stored, so that a fault of either side leaves the registers as they were.
    begin!("vector"),
    "mov rax, rcx",
    concat!(symbol!("vector_rest"), ":"),
    "cmp rdx, 64",
    "jb 23f",
    ".balign 16",
    "22:",
    may_fault!("movups xmm0, xmmword ptr [rsi]" => "44f"),
    may_fault!("movups xmm1, xmmword ptr [rsi + 16]" => "44f"),
    may_fault!("movups xmm2, xmmword ptr [rsi + 32]" => "44f"),
    may_fault!("movups xmm3, xmmword ptr [rsi + 48]" => "44f"),
    may_fault!("movups xmmword ptr [rdi], xmm0" => "44f"),
    may_fault!("movups xmmword ptr [rdi + 16], xmm1" => "44f"),
    may_fault!("movups xmmword ptr [rdi + 32], xmm2" => "44f"),
    may_fault!("movups xmmword ptr [rdi + 48], xmm3" => "44f"),
    "add rsi, 64",
    "add rdi, 64",
    "sub rdx, 64",
    "cmp rdx, 64",
    "jae 22b",
    "23:",
    "cmp edx, 32",
    "jb 24f",
    may_fault!("movups xmm0, xmmword ptr [rsi]" => "44f"),
    may_fault!("movups xmm1, xmmword ptr [rsi + 16]" => "44f"),
    may_fault!("movups xmm2, xmmword ptr [rsi + rdx - 32]" => "44f"),
    may_fault!("movups xmm3, xmmword ptr [rsi + rdx - 16]" => "44f"),
    may_fault!("movups xmmword ptr [rdi], xmm0" => "44f"),
    may_fault!("movups xmmword ptr [rdi + 16], xmm1" => "44f"),
    may_fault!("movups xmmword ptr [rdi + rdx - 32], xmm2" => "44f"),
    may_fault!("movups xmmword ptr [rdi + rdx - 16], xmm3" => "44f"),
    "xor eax, eax",
    "ret",
    "24:",
    "cmp edx, 16",
    "jb 25f",
    may_fault!("movups xmm0, xmmword ptr [rsi]" => "44f"),
    may_fault!("movups xmm1, xmmword ptr [rsi + rdx - 16]" => "44f"),
    may_fault!("movups xmmword ptr [rdi], xmm0" => "44f"),
    may_fault!("movups xmmword ptr [rdi + rdx - 16], xmm1" => "44f"),
    "xor eax, eax",
    "ret",
    "25:",
    "cmp edx, 8",
    "jb 26f",
    may_fault!("mov r8, qword ptr [rsi]" => "44f"),
    may_fault!("mov r9, qword ptr [rsi + rdx - 8]" => "44f"),
    may_fault!("mov qword ptr [rdi], r8" => "44f"),
    may_fault!("mov qword ptr [rdi + rdx - 8], r9" => "44f"),
    "xor eax, eax",
    "ret",
    "26:",
    "cmp edx, 4",
    "jb 27f",
    may_fault!("mov r8d, dword ptr [rsi]" => "44f"),
    may_fault!("mov r9d, dword ptr [rsi + rdx - 4]" => "44f"),
    may_fault!("mov dword ptr [rdi], r8d" => "44f"),
    may_fault!("mov dword ptr [rdi + rdx - 4], r9d" => "44f"),
    "xor eax, eax",
    "ret",
    "27:",
    "cmp edx, 1",
    "jb 29f",
    may_fault!("movzx r8d, byte ptr [rsi]" => "44f"),
    "je 28f",
    may_fault!("movzx r9d, word ptr [rsi + rdx - 2]" => "44f"),
    may_fault!("mov byte ptr [rdi], r8b" => "44f"),
    may_fault!("mov word ptr [rdi + rdx - 2], r9w" => "44f"),
    "xor eax, eax",
    "ret",
    "28:",
    may_fault!("mov byte ptr [rdi], r8b" => "44f"),
    "29:",
    "xor eax, eax",
    "ret",
    "44:",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rdx",
    concat!("jmp ", symbol!("tail")),
    end!("vector"),
    // Vectors of 64 bytes, in the registers that leave nothing behind. Overlapping ones up to eight; then the destination
    // is aligned, blocks of four as long as more than four are left, and the last four end with the range. From 32 KiB on
    // the string instruction, which fetches no line that it overwrites whole and counts for itself, unless the destination
    // lies 1 to 63 bytes past the source modulo 4096, where the microcode of some processors collapses.
    begin!("vector_avx512"),
    "mov rax, rcx",
    "cmp rdx, 64",
    concat!("jb ", symbol!("vector_rest")),
    "cmp rdx, 128",
    "ja 22f",
    may_fault!("vmovups zmm16, zmmword ptr [rsi]" => "44f"),
    may_fault!("vmovups zmm17, zmmword ptr [rsi + rdx - 64]" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi], zmm16" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 64], zmm17" => "44f"),
    "xor eax, eax",
    "ret",
    "22:",
    "cmp rdx, 256",
    "ja 23f",
    may_fault!("vmovups zmm16, zmmword ptr [rsi]" => "44f"),
    may_fault!("vmovups zmm17, zmmword ptr [rsi + 64]" => "44f"),
    may_fault!("vmovups zmm18, zmmword ptr [rsi + rdx - 128]" => "44f"),
    may_fault!("vmovups zmm19, zmmword ptr [rsi + rdx - 64]" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi], zmm16" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 64], zmm17" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 128], zmm18" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 64], zmm19" => "44f"),
    "xor eax, eax",
    "ret",
    "23:",
    "cmp rdx, 512",
    "ja 24f",
    may_fault!("vmovups zmm16, zmmword ptr [rsi]" => "44f"),
    may_fault!("vmovups zmm17, zmmword ptr [rsi + 64]" => "44f"),
    may_fault!("vmovups zmm18, zmmword ptr [rsi + 128]" => "44f"),
    may_fault!("vmovups zmm19, zmmword ptr [rsi + 192]" => "44f"),
    may_fault!("vmovups zmm20, zmmword ptr [rsi + rdx - 256]" => "44f"),
    may_fault!("vmovups zmm21, zmmword ptr [rsi + rdx - 192]" => "44f"),
    may_fault!("vmovups zmm22, zmmword ptr [rsi + rdx - 128]" => "44f"),
    may_fault!("vmovups zmm23, zmmword ptr [rsi + rdx - 64]" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi], zmm16" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 64], zmm17" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 128], zmm18" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 192], zmm19" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 256], zmm20" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 192], zmm21" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 128], zmm22" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 64], zmm23" => "44f"),
    "xor eax, eax",
    "ret",
    "24:",
    "cmp rdx, 32768",
    "jb 25f",
    "mov r8, rdi",
    "sub r8, rsi",
    "and r8d, 4095",
    "dec r8d",
    "cmp r8d, 63",
    "jae 27f",
    "25:",
    may_fault!("vmovups zmm16, zmmword ptr [rsi]" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi], zmm16" => "44f"),
    "mov r8, rdi",
    "or r8, 63",
    "inc r8",
    "sub r8, rdi",
    "add rsi, r8",
    "add rdi, r8",
    "sub rdx, r8",
    ".balign 16",
    "26:",
    may_fault!("vmovups zmm16, zmmword ptr [rsi]" => "44f"),
    may_fault!("vmovups zmm17, zmmword ptr [rsi + 64]" => "44f"),
    may_fault!("vmovups zmm18, zmmword ptr [rsi + 128]" => "44f"),
    may_fault!("vmovups zmm19, zmmword ptr [rsi + 192]" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi], zmm16" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 64], zmm17" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 128], zmm18" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + 192], zmm19" => "44f"),
    "add rsi, 256",
    "add rdi, 256",
    "sub rdx, 256",
    "cmp rdx, 256",
    "ja 26b",
    may_fault!("vmovups zmm16, zmmword ptr [rsi + rdx - 256]" => "44f"),
    may_fault!("vmovups zmm17, zmmword ptr [rsi + rdx - 192]" => "44f"),
    may_fault!("vmovups zmm18, zmmword ptr [rsi + rdx - 128]" => "44f"),
    may_fault!("vmovups zmm19, zmmword ptr [rsi + rdx - 64]" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 256], zmm16" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 192], zmm17" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 128], zmm18" => "44f"),
    may_fault!("vmovups zmmword ptr [rdi + rdx - 64], zmm19" => "44f"),
    "xor eax, eax",
    "ret",
    "27:",
    "mov rcx, rdx",
    may_fault!("rep movsb" => "43f"),
    "xor eax, eax",
    "ret",
    "43:",
    "mov rdx, rcx",
    "44:",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rdx",
    concat!("jmp ", symbol!("tail")),
    end!("vector_avx512"),
    // Vectors of 32 bytes as long as there are four, then as above.
    begin!("vector_avx2"),
    "mov rax, rcx",
    "cmp rdx, 128",
    concat!("jb ", symbol!("vector_rest")),
    ".balign 16",
    "22:",
    may_fault!("vmovups ymm0, ymmword ptr [rsi]" => "44f"),
    may_fault!("vmovups ymm1, ymmword ptr [rsi + 32]" => "44f"),
    may_fault!("vmovups ymm2, ymmword ptr [rsi + 64]" => "44f"),
    may_fault!("vmovups ymm3, ymmword ptr [rsi + 96]" => "44f"),
    may_fault!("vmovups ymmword ptr [rdi], ymm0" => "44f"),
    may_fault!("vmovups ymmword ptr [rdi + 32], ymm1" => "44f"),
    may_fault!("vmovups ymmword ptr [rdi + 64], ymm2" => "44f"),
    may_fault!("vmovups ymmword ptr [rdi + 96], ymm3" => "44f"),
    "add rsi, 128",
    "add rdi, 128",
    "sub rdx, 128",
    "cmp rdx, 128",
    "jae 22b",
    "vzeroupper",
    concat!("jmp ", symbol!("vector_rest")),
    "44:",
    "vzeroupper",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rdx",
    concat!("jmp ", symbol!("tail")),
    end!("vector_avx2"),
    // The string instruction: RCX counts down, and a fault leaves it exact.
    begin!("movsb"),
    "mov r9, rcx",
    "mov rcx, rdx",
    may_fault!("rep movsb" => "44f"),
    "xor eax, eax",
    "ret",
    "44:",
    "mov qword ptr [r9 + 8], rcx",
    "mov qword ptr [r9 + 16], rcx",
    "mov qword ptr [r9 + 24], r10",
    "mov qword ptr [r9 + 32], r11",
    "mov rax, rcx",
    "ret",
    end!("movsb"),
    // The generic routine of the mail, as in 2.6.27: head, lines, quads, tail.
    begin!("nocache"),
    "mov rax, rcx",
    "cmp rdx, 8",
    "jb 27f",
    "mov ecx, edi",
    "and ecx, 7",
    "jz 23f",
    "neg ecx",
    "add ecx, 8",
    "sub rdx, rcx",
    "22:",
    may_fault!("mov r8b, byte ptr [rsi]" => "44f"),
    may_fault!("mov byte ptr [rdi], r8b" => "44f"),
    "inc rsi",
    "inc rdi",
    "dec ecx",
    "jnz 22b",
    "23:",
    "mov rcx, rdx",
    "and edx, 63",
    "shr rcx, 6",
    "jz 25f",
    "24:",
    movnti_line!("45f"),
    "dec rcx",
    "jnz 24b",
    "25:",
    "mov ecx, edx",
    "and edx, 7",
    "shr ecx, 3",
    "jz 27f",
    "26:",
    may_fault!("mov r8, qword ptr [rsi]" => "46f"),
    may_fault!("movnti qword ptr [rdi], r8" => "46f"),
    "add rsi, 8",
    "add rdi, 8",
    "dec ecx",
    "jnz 26b",
    "27:",
    "test edx, edx",
    "jz 29f",
    "mov ecx, edx",
    "28:",
    may_fault!("mov r8b, byte ptr [rsi]" => "47f"),
    may_fault!("mov byte ptr [rdi], r8b" => "47f"),
    "inc rsi",
    "inc rdi",
    "dec ecx",
    "jnz 28b",
    "29:",
    "sfence",
    "xor eax, eax",
    "ret",
    "44:",
    "add rdx, rcx",
    "jmp 48f",
    "45:",
    "shl rcx, 6",
    "add rdx, rcx",
    "jmp 48f",
    "46:",
    "lea rdx, [rdx + rcx * 8]",
    "jmp 48f",
    "47:",
    "mov edx, ecx",
    "48:",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rcx",
    "sfence",
    concat!("jmp ", symbol!("tail")),
    end!("nocache"),
    // The page routine of the mail as it was meant: the comma is there, success returns 0, and every entry of the table
    // belongs to an instruction of this very routine.
    begin!("page"),
    "mov rax, rcx",
    "mov ecx, 64",
    "22:",
    movnti_line!("44f"),
    "dec ecx",
    "jnz 22b",
    "sfence",
    "xor eax, eax",
    "ret",
    "44:",
    "shl ecx, 6",
    "mov edx, ecx",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rcx",
    "sfence",
    concat!("jmp ", symbol!("tail")),
    end!("page"),
    // The form up to 2.6.26: counts in quads although four loads precede their stores, reports a fault in the last bytes as
    // if nothing after the head had been copied, and never tries again.
    begin!("until_2_6_26"),
    "mov rax, rcx",
    "mov qword ptr [rax + 40], rdx",
    "mov ecx, edi",
    "and ecx, 7",
    "jz 23f",
    "neg ecx",
    "add ecx, 8",
    "cmp rcx, rdx",
    "cmova rcx, rdx",
    "test rcx, rcx",
    "jz 23f",
    "sub rdx, rcx",
    "22:",
    may_fault!("mov r8b, byte ptr [rsi]" => "44f"),
    may_fault!("mov byte ptr [rdi], r8b" => "44f"),
    "inc rsi",
    "inc rdi",
    "dec ecx",
    "jnz 22b",
    "23:",
    "mov qword ptr [rax + 40], rdx",
    "mov rcx, rdx",
    "and edx, 63",
    "shr rcx, 6",
    "jz 25f",
    "24:",
    movnti_line!("50f", "51f", "52f", "53f", "54f", "55f", "56f", "57f"),
    "dec rcx",
    "jnz 24b",
    "25:",
    "mov ecx, edx",
    "and edx, 7",
    "shr ecx, 3",
    "jz 27f",
    "26:",
    may_fault!("mov r8, qword ptr [rsi]" => "46f"),
    may_fault!("movnti qword ptr [rdi], r8" => "46f"),
    "add rsi, 8",
    "add rdi, 8",
    "dec ecx",
    "jnz 26b",
    "27:",
    "test edx, edx",
    "jz 29f",
    "mov ecx, edx",
    "28:",
    may_fault!("mov r8b, byte ptr [rsi]" => "44f"),
    may_fault!("mov byte ptr [rdi], r8b" => "44f"),
    "inc rsi",
    "inc rdi",
    "dec ecx",
    "jnz 28b",
    "29:",
    "sfence",
    "xor eax, eax",
    "ret",
    "44:",
    "mov rdx, qword ptr [rax + 40]",
    "jmp 48f",
    "57: sub rdx, 8",
    "56: sub rdx, 8",
    "55: sub rdx, 8",
    "54: sub rdx, 8",
    "53: sub rdx, 8",
    "52: sub rdx, 8",
    "51: sub rdx, 8",
    "50:",
    "shl rcx, 6",
    "add rdx, rcx",
    "jmp 48f",
    "46:",
    "lea rdx, [rdx + rcx * 8]",
    "48:",
    "sfence",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rcx",
    "mov qword ptr [rax + 24], r10",
    "mov qword ptr [rax + 32], r11",
    "mov rax, rdx",
    "ret",
    end!("until_2_6_26"),
    // The form since 6.4: a fault falls from 64 bytes back to 8, then one last try of 4.
    begin!("since_6_4"),
    "mov rax, rcx",
    "test dil, 7",
    "jnz 30f",
    "22:",
    "cmp rdx, 64",
    "jb 24f",
    "23:",
    may_fault!("mov r8, qword ptr [rsi]" => "24f"),
    may_fault!("mov r9, qword ptr [rsi + 8]" => "24f"),
    may_fault!("mov r10, qword ptr [rsi + 16]" => "24f"),
    may_fault!("mov r11, qword ptr [rsi + 24]" => "24f"),
    may_fault!("movnti qword ptr [rdi], r8" => "45f"),
    may_fault!("movnti qword ptr [rdi + 8], r9" => "45f"),
    may_fault!("movnti qword ptr [rdi + 16], r10" => "45f"),
    may_fault!("movnti qword ptr [rdi + 24], r11" => "45f"),
    may_fault!("mov r8, qword ptr [rsi + 32]" => "43f"),
    may_fault!("mov r9, qword ptr [rsi + 40]" => "43f"),
    may_fault!("mov r10, qword ptr [rsi + 48]" => "43f"),
    may_fault!("mov r11, qword ptr [rsi + 56]" => "43f"),
    may_fault!("movnti qword ptr [rdi + 32], r8" => "45f"),
    may_fault!("movnti qword ptr [rdi + 40], r9" => "45f"),
    may_fault!("movnti qword ptr [rdi + 48], r10" => "45f"),
    may_fault!("movnti qword ptr [rdi + 56], r11" => "45f"),
    "add rsi, 64",
    "add rdi, 64",
    "sub rdx, 64",
    "cmp rdx, 64",
    "jae 23b",
    "24:",
    "cmp rdx, 8",
    "jb 25f",
    may_fault!("mov r8, qword ptr [rsi]" => "44f"),
    may_fault!("movnti qword ptr [rdi], r8" => "45f"),
    "add rsi, 8",
    "add rdi, 8",
    "sub rdx, 8",
    "jmp 24b",
    "25:",
    "test dl, 4",
    "jz 26f",
    may_fault!("mov r8d, dword ptr [rsi]" => "45f"),
    may_fault!("movnti dword ptr [rdi], r8d" => "45f"),
    "add rsi, 4",
    "add rdi, 4",
    "sub rdx, 4",
    "26:",
    "test dl, 2",
    "jz 27f",
    may_fault!("mov r8w, word ptr [rsi]" => "45f"),
    may_fault!("mov word ptr [rdi], r8w" => "45f"),
    "add rsi, 2",
    "add rdi, 2",
    "sub rdx, 2",
    "27:",
    "test dl, 1",
    "jz 28f",
    may_fault!("mov r8b, byte ptr [rsi]" => "45f"),
    may_fault!("mov byte ptr [rdi], r8b" => "45f"),
    "dec rdx",
    "28:",
    "sfence",
    "xor eax, eax",
    "ret",
    "30:",
    "test dil, 1",
    "jz 32f",
    "test rdx, rdx",
    "jz 28b",
    may_fault!("mov r8b, byte ptr [rsi]" => "45f"),
    may_fault!("mov byte ptr [rdi], r8b" => "45f"),
    "inc rsi",
    "inc rdi",
    "dec rdx",
    "32:",
    "test dil, 2",
    "jz 34f",
    "cmp rdx, 2",
    "jb 27b",
    may_fault!("mov r8w, word ptr [rsi]" => "45f"),
    may_fault!("mov word ptr [rdi], r8w" => "45f"),
    "add rsi, 2",
    "add rdi, 2",
    "sub rdx, 2",
    "34:",
    "test dil, 4",
    "jz 22b",
    "cmp rdx, 4",
    "jb 26b",
    may_fault!("mov r8d, dword ptr [rsi]" => "45f"),
    may_fault!("movnti dword ptr [rdi], r8d" => "45f"),
    "add rsi, 4",
    "add rdi, 4",
    "sub rdx, 4",
    "jmp 22b",
    "43:",
    "add rsi, 32",
    "add rdi, 32",
    "sub rdx, 32",
    "jmp 24b",
    "44:",
    may_fault!("mov r8d, dword ptr [rsi]" => "45f"),
    may_fault!("movnti dword ptr [rdi], r8d" => "45f"),
    "sub rdx, 4",
    "45:",
    "sfence",
    "mov qword ptr [rax + 8], rdx",
    "mov qword ptr [rax + 16], rdx",
    "mov qword ptr [rax + 24], r10",
    "mov qword ptr [rax + 32], r11",
    "mov rax, rdx",
    "ret",
    end!("since_6_4"),
    // Zeros RSI bytes from RDI; what is left if that faults as well.
    begin!("clear"),
    "mov rcx, rsi",
    "xor eax, eax",
    may_fault!("rep stosb" => "44f"),
    "44:",
    "mov rax, rcx",
    "ret",
    end!("clear"),
    table!(concat!(
        ".hidden ",
        symbol!("table_end"),
        "\n.globl ",
        symbol!("table_end"),
        "\n",
        symbol!("table_end"),
        ":"
    )),
    ".popsection",
);

type Copy = unsafe extern "sysv64" fn(*mut u8, *const u8, usize, *mut Outcome) -> usize;

unsafe extern "sysv64" {
    #[link_name = symbol!("vector")]
    fn vector(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("vector_avx2")]
    fn vector_avx2(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("vector_avx512")]
    fn vector_avx512(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("movsb")]
    fn movsb(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("nocache")]
    fn nocache(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("page")]
    fn page(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("until_2_6_26")]
    fn until_2_6_26(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("since_6_4")]
    fn since_6_4(dst: *mut u8, src: *const u8, len: usize, outcome: *mut Outcome) -> usize;
    #[link_name = symbol!("clear")]
    fn clear_range(dst: *mut u8, len: usize) -> usize;
}

/// The widest vectors that copy here. Asking the processor takes long inside a virtual machine, so it is asked once.
static WIDTH: AtomicU8 = AtomicU8::new(16);

/// Asks the processor what it has; what it does not pay for is chosen as the engine does.
pub(super) fn detect() {
    let width = match Selection::for_processor(Features::native(), Vendor::Other).cached {
        Routine::Avx512 => 64,
        Routine::Avx2 => 32,
        _ => 16,
    };
    WIDTH.store(width, Ordering::Relaxed);
}

/// Copies by `routine`, and returns how many bytes are left.
///
/// # Safety
///
/// - This thread survives a fault: the handler of this crate is the one that the kernel calls.
/// - What can be read of `src` and written of `dst`, up to `len` bytes each, may be read and written by this call.
pub(super) unsafe fn run(
    dst: *mut u8,
    src: *const u8,
    len: usize,
    outcome: &mut Outcome,
    routine: FaultRoutine,
) -> usize {
    let copy: Copy = match routine {
        FaultRoutine::Vector => match WIDTH.load(Ordering::Relaxed) {
            64 => vector_avx512,
            32 => vector_avx2,
            _ => vector,
        },
        FaultRoutine::RepMovsb => movsb,
        FaultRoutine::Nocache => nocache,
        FaultRoutine::NocachePage if len == PAGE => page,
        FaultRoutine::NocachePage => nocache,
        FaultRoutine::Until2626 => until_2_6_26,
        FaultRoutine::Since64 => since_6_4,
    };
    // SAFETY: the routines touch the two ranges and the outcome alone, keep to the calling convention, and a fault is
    // survived by the first clause.
    unsafe { copy(dst, src, len, outcome) }
}

/// Zeros `len` bytes from `dst`, and returns how many are left.
///
/// # Safety
///
/// As [`run`].
pub(super) unsafe fn clear(dst: *mut u8, len: usize) -> usize {
    // SAFETY: the contract is the same.
    unsafe { clear_range(dst, len) }
}

/// Where to go on after a fault at `instruction`, if it is one of ours. Async-signal-safe: reads a table, no more.
pub(super) fn fixup(instruction: usize) -> Option<usize> {
    table().iter().find(|entry| entry.instruction() == instruction).map(Entry::fixup)
}

fn table() -> &'static [Entry] {
    let (start, end): (*const Entry, *const Entry);
    // The addresses come out of assembly, so that the compiler takes them for an array and not for two objects.
    // SAFETY: computes two addresses.
    unsafe {
        asm!(
            concat!("lea {start}, [rip + ", symbol!("table"), "]"),
            concat!("lea {end}, [rip + ", symbol!("table_end"), "]"),
            start = out(reg) start,
            end = out(reg) end,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    // SAFETY: the assembly puts the entries, one after the other, between the two symbols, and nobody writes there.
    unsafe { core::slice::from_raw_parts(start, (end.addr() - start.addr()) / size_of::<Entry>()) }
}

impl Entry {
    fn instruction(&self) -> usize {
        (&raw const self.instruction).addr().wrapping_add_signed(self.instruction as isize)
    }

    fn fixup(&self) -> usize {
        (&raw const self.fixup).addr().wrapping_add_signed(self.fixup as isize)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::collections::HashSet;

    /// Mistake 3 of the mail's second patch: entries for labels that its routine does not have bound to another's, which
    /// then had two fixups for one instruction.
    #[test]
    fn mistake_3_no_instruction_has_two_fixups_and_none_leaves_the_code() {
        // The three vector, the string, generic, page, old, new routines, the tail and the clearing loop, by hand.
        let vectors = (8 + 8 + 4 + 4 + 4 + 5) + 8 + (4 + 8 + 16 + 2 + 8 + 8 + 1);
        let expected = vectors + 1 + (2 + 16 + 4) + 16 + (2 + 16 + 4) + (16 + 8 + 6 + 2) + 2 + 1;
        assert_eq!(table().len(), expected);
        let instructions: HashSet<_> = table().iter().map(Entry::instruction).collect();
        assert_eq!(instructions.len(), table().len());
        let first = instructions.iter().min().unwrap();
        let last = instructions.iter().max().unwrap();
        assert!(last - first < 4096, "the routines lie together");
        for entry in table() {
            assert!((*first..last + 64).contains(&entry.fixup()), "a fixup outside of the routines");
            assert_eq!(fixup(entry.instruction()), Some(entry.fixup()));
            assert_eq!(fixup(entry.instruction() + 1), None);
        }
    }
}
