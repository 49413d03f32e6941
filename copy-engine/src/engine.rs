//! The engine: a cached and a streaming routine, and the policy that picks between them.

use core::mem::MaybeUninit;
use core::ops::Range;

use crate::arch::Available;
use crate::features::Features;
use crate::page::Page;
use crate::policy::{Limits, NextUse, PAGE, Path, Policy};
use crate::receipt::Receipt;
use crate::routine::Routine;
use crate::topology::{Topology, Vendor};

/// Routines and a policy. `Copy`, immutable: make one, keep it, share it.
///
/// Long copies through the cache take the string instruction where it is fast, unless the destination lies 1 to 63 bytes
/// past the source modulo 4096, where the microcode of some processors collapses.
///
/// ```
/// use copy_engine::{Engine, NextUse, Policy};
///
/// let engine = Engine::detect().with_policy(Policy::PageUp);
/// let mut out = vec![0; 256];
/// let receipt = engine.copy(&mut out, &[7; 256], NextUse::Unknown);
/// assert_eq!((receipt.cached, receipt.streamed), (256, 0));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Engine {
    cached: Available,
    /// Below these lengths, one for each hint, every policy leads through the cache: one comparison is all that a short
    /// copy pays.
    cached_below: [usize; NextUse::ALL.len()],
    long: Available,
    ahead: Available,
    stream: Available,
    page: Available,
    policy: Policy,
    limits: Limits,
}

/// The routines that suit a processor, as names: a choice on paper, testable with processors that are not here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Selection {
    /// Through the cache.
    pub cached: Routine,
    /// Through the cache, when more is copied than its first level holds.
    pub long: Routine,
    /// Through the cache, to a destination that is elsewhere.
    pub ahead: Routine,
    /// Around it.
    pub stream: Routine,
    /// For exactly a page.
    pub page: Routine,
}

impl Selection {
    /// The routines for a processor with these features, made by `vendor`.
    ///
    /// - 64-byte vectors where `rep movsb` is fast for short copies as well (FSRM): the first processors with AVX-512 lower
    ///   their clock for it and lack that, later ones do neither.
    /// - There the string instruction takes long copies through the cache, since its microcode fetches no line that it
    ///   overwrites whole. Short ones never: it takes long to begin. And none that it may stumble over, see [`Engine`].
    /// - Four pages side by side on Intel's, where they keep more of the memory busy; on AMD's they were slower.
    pub const fn for_processor(features: Features, vendor: Vendor) -> Self {
        let side_by_side = matches!(vendor, Vendor::Intel);
        let mut chosen = if features.contains(Features::AVX512F) && features.contains(Features::FSRM) {
            Self {
                cached: Routine::Avx512,
                long: Routine::Avx512,
                ahead: Routine::AheadAvx512,
                stream: if side_by_side { Routine::StreamAvx512Pages } else { Routine::StreamAvx512 },
                page: Routine::StreamAvx512,
            }
        } else if features.contains(Features::AVX2) {
            Self {
                cached: Routine::Avx2,
                long: Routine::Avx2,
                ahead: Routine::AheadAvx2,
                stream: if side_by_side { Routine::StreamAvx2Pages } else { Routine::StreamAvx2 },
                page: Routine::StreamAvx2,
            }
        } else if features.contains(Features::X86_64) {
            Self {
                cached: Routine::Sse2,
                long: Routine::Sse2,
                ahead: Routine::AheadSse2,
                stream: Routine::StreamSse2,
                page: Routine::StreamSse2,
            }
        } else {
            Self::PLATFORM
        };
        if features.contains(Features::FSRM) {
            chosen.long = Routine::RepMovsb;
        }
        chosen
    }

    /// The platform's own copy for everything.
    const PLATFORM: Self = Self {
        cached: Routine::Memcpy,
        long: Routine::Memcpy,
        ahead: Routine::Memcpy,
        stream: Routine::Memcpy,
        page: Routine::Memcpy,
    };
}

impl Engine {
    /// The routines for this processor, the automatic policy, and limits from what the processor says of its caches.
    ///
    /// Asks the processor, which inside a virtual machine takes some tens of microseconds: keep the answer.
    pub fn detect() -> Self {
        let topology = Topology::native();
        let selection = Selection::for_processor(Features::native(), topology.vendor);
        let available = |routine: Routine| routine.on_this_cpu().unwrap_or(Available::MEMCPY);
        Self {
            cached: available(selection.cached),
            long: available(selection.long),
            ahead: available(selection.ahead),
            stream: available(selection.stream),
            page: available(selection.page),
            policy: Policy::Automatic,
            limits: Limits::from_topology(&topology),
            cached_below: [0; NextUse::ALL.len()],
        }
        .settled()
    }

    /// The same engine with the shortcuts for short copies that follow from its policy and limits.
    const fn settled(self) -> Self {
        let mut cached_below = [0; NextUse::ALL.len()];
        let mut hint = 0;
        while hint < cached_below.len() {
            let next = NextUse::ALL[hint];
            cached_below[next as usize] = self.policy.cached_below(next, &self.limits);
            hint += 1;
        }
        Self { cached_below, ..self }
    }

    /// The same engine with another policy.
    pub const fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }.settled()
    }

    /// The same engine with other limits for the automatic policy.
    pub const fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }.settled()
    }

    /// The same engine with another routine through the cache, whatever the length and whatever is asked for ahead. One
    /// that streams is taken at its word, too.
    pub const fn with_cached(self, routine: Available) -> Self {
        Self { cached: routine, long: routine, ahead: routine, ..self }
    }

    /// The same engine with another routine around the cache.
    pub const fn with_stream(self, routine: Available) -> Self {
        Self { stream: routine, ..self }
    }

    /// The same engine with another routine for exactly a page.
    pub const fn with_page(self, routine: Available) -> Self {
        Self { page: routine, ..self }
    }

    /// The policy in force.
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// The limits in force.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// The routines in force.
    pub const fn selection(&self) -> Selection {
        Selection {
            cached: self.cached.routine(),
            long: self.long.routine(),
            ahead: self.ahead.routine(),
            stream: self.stream.routine(),
            page: self.page.routine(),
        }
    }

    /// The routines through the cache and around it that large copies take.
    #[cfg(feature = "std")]
    pub(crate) const fn routines(&self) -> (Available, Available) {
        (self.long, self.stream)
    }

    /// The routine that a copy takes.
    #[inline(always)]
    pub(crate) fn pick(&self, len: usize, dst_addr: usize, src_addr: usize, next: NextUse) -> &Available {
        if len < self.cached_below[next as usize] {
            return &self.cached;
        }
        self.decide(len, dst_addr, src_addr, next)
    }

    #[inline(never)]
    fn decide(&self, len: usize, dst_addr: usize, src_addr: usize, next: NextUse) -> &Available {
        match self.policy.path(len, dst_addr, next, &self.limits) {
            Path::CachedLong if collapses(dst_addr, src_addr) => &self.cached,
            Path::Cached => &self.cached,
            Path::CachedLong => &self.long,
            Path::Ahead => &self.ahead,
            Path::Stream => &self.stream,
            Path::StreamPage => &self.page,
        }
    }

    /// Copies `src` over `dst`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline(always)]
    pub fn copy(&self, dst: &mut [u8], src: &[u8], next: NextUse) -> Receipt {
        self.pick(src.len(), dst.as_ptr().addr(), src.as_ptr().addr(), next).copy(dst, src)
    }

    /// Copies `src` into memory that need not be initialised, and hands it back initialised.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn copy_uninit<'d>(
        &self,
        dst: &'d mut [MaybeUninit<u8>],
        src: &[u8],
        next: NextUse,
    ) -> (&'d mut [u8], Receipt) {
        self.pick(src.len(), dst.as_ptr().addr(), src.as_ptr().addr(), next).copy_uninit(dst, src)
    }

    /// Copies a page into a page, around the cache whatever the policy: no length to look at and no alignment.
    #[inline]
    pub fn copy_page(&self, dst: &mut Page, src: &[u8; PAGE]) -> Receipt {
        self.page.copy(dst.as_mut(), src)
    }

    /// Copies `from` to the place that starts at `to` in the same slice; the two may overlap in any way.
    ///
    /// # Panics
    ///
    /// If either range leaves the slice.
    pub fn copy_within(&self, bytes: &mut [u8], from: Range<usize>, to: usize, next: NextUse) -> Receipt {
        let base = bytes.as_ptr().addr();
        let routine = self.pick(from.len(), base.wrapping_add(to), base.wrapping_add(from.start), next);
        routine.copy_within(bytes, from, to)
    }
}

/// Whether `rep movsb` may be ten times slower than it is: on some processors where the destination lies less than a line
/// past the source modulo 4096, so that each load looks as if it hit the store before it.
const fn collapses(dst_addr: usize, src_addr: usize) -> bool {
    const LINE: usize = 64;
    let past = dst_addr.wrapping_sub(src_addr) % PAGE;
    past != 0 && past < LINE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Basis;

    /// The shortcut for short copies decides as the policy does.
    #[test]
    fn the_shortcut_agrees_with_the_policy() {
        for &policy in Policy::ALL {
            for (read_soon, not_read, unknown) in
                [(1 << 20, 1024, 1 << 19), (0, 0, 0), (64, 128, 256), (9000, 8000, 7)]
            {
                let (ahead, long) = (unknown / 2, not_read / 2);
                let limits = Limits {
                    read_soon,
                    not_read,
                    not_read_batched: 64,
                    unknown,
                    ahead,
                    long,
                    basis: Basis::Caller,
                };
                let engine = Engine::detect().with_policy(policy).with_limits(limits);
                for len in (0..600).chain([1023, 1024, 4095, 4096, 4097, 8192, 1 << 20]) {
                    for next in [NextUse::ReadSoon, NextUse::NotRead, NextUse::Unknown] {
                        for dst in [0, 1, 64] {
                            let expected = match policy.path(len, dst, next, &limits) {
                                Path::Cached => engine.cached,
                                Path::CachedLong => engine.long,
                                Path::Ahead => engine.ahead,
                                Path::Stream => engine.stream,
                                Path::StreamPage => engine.page,
                            };
                            assert_eq!(
                                *engine.pick(len, dst, dst, next),
                                expected,
                                "{policy} {len} {next} {dst}"
                            );
                        }
                    }
                }
            }
        }
    }
    #[test]
    fn long_copies_avoid_the_string_instruction_where_it_may_collapse() {
        let engine = Engine::detect();
        let Limits { long, unknown, .. } = engine.limits();
        assert!(long < unknown);
        for (past, routine) in [
            (0, engine.long),
            (1, engine.cached),
            (63, engine.cached),
            (64, engine.long),
            (PAGE - 1, engine.long),
            (PAGE, engine.long),
            (3 * PAGE + 63, engine.cached),
        ] {
            assert_eq!(
                *engine.pick(long, 5 * PAGE + 7 + past, 5 * PAGE + 7, NextUse::Unknown),
                routine,
                "{past}"
            );
        }
    }
}
