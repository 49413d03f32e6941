//! Which instructions a processor has and its operating system allows.

use core::ops::BitOr;

use crate::arch;
use crate::topology::Cpuid;

/// A set of features that the routines need. No feature is assumed: an x86-64 build under Miri has none.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Features(u8);

impl Features {
    /// Nothing: what the portable routine needs.
    pub const NONE: Self = Self(0);
    /// The baseline of x86-64: SSE2, `movnti`, `rep movsb`.
    pub const X86_64: Self = Self(1);
    /// AVX2, with its registers saved by the operating system.
    pub const AVX2: Self = Self(1 << 1 | Self::X86_64.0);
    /// The foundation of AVX-512, with its registers saved by the operating system.
    pub const AVX512F: Self = Self(1 << 2 | Self::AVX2.0);
    /// `rep movsb` that is said to be fast (ERMS).
    pub const ERMS: Self = Self(1 << 3 | Self::X86_64.0);
    /// `rep movsb` that is said to be fast for short copies too (FSRM).
    pub const FSRM: Self = Self(1 << 4 | Self::ERMS.0);

    /// Whether all of `other` is in here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// What the processor behind `cpuid` has, where `xcr0` is the register state that its operating system saves.
    ///
    /// The answers may be made up: nothing is proved by this value, only by [`Routine::on_this_cpu`].
    ///
    /// [`Routine::on_this_cpu`]: crate::Routine::on_this_cpu
    pub fn read(cpuid: &impl Cpuid, xcr0: u64) -> Self {
        const YMM: u64 = 0b110;
        const ZMM: u64 = 0b1110_0110;
        let highest = cpuid.leaf(0, 0).eax;
        if highest < 1 || cpuid.leaf(1, 0).edx & 1 << 26 == 0 {
            return Self::NONE;
        }
        let mut found = Self::X86_64;
        if highest < 7 {
            return found;
        }
        let leaf = cpuid.leaf(7, 0);
        let avx = cpuid.leaf(1, 0).ecx & 1 << 28 != 0;
        if avx && leaf.ebx & 1 << 5 != 0 && xcr0 & YMM == YMM {
            found = found | Self::AVX2;
            if leaf.ebx & 1 << 16 != 0 && xcr0 & ZMM == ZMM {
                found = found | Self::AVX512F;
            }
        }
        if leaf.ebx & 1 << 9 != 0 {
            found = found | Self::ERMS;
            if leaf.edx & 1 << 4 != 0 {
                found = found | Self::FSRM;
            }
        }
        found
    }

    /// What the processor that runs this has. Asks it each time: inside a virtual machine that costs microseconds.
    pub fn native() -> Self {
        Self::read(&arch::native_cpuid, arch::native_xcr0())
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
