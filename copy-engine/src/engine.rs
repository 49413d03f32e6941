//! The engine: a cached and a streaming routine, and the policy that picks between them.

use core::mem::MaybeUninit;
use core::ops::Range;

use crate::arch::Available;
use crate::features::Features;
use crate::page::Page;
use crate::policy::{Limits, NextUse, PAGE, Path, Policy};
use crate::receipt::Receipt;
use crate::routine::Routine;
use crate::topology::Topology;

/// Routines and a policy. Small, `Copy`, immutable: make one, keep it, share it.
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
    stream: Available,
    page: Available,
    policy: Policy,
    limits: Limits,
    /// Up to this length every hint leads through the cache: one comparison is all that a short copy pays.
    cached_up_to: usize,
}

/// The routines that suit a processor, as names: a choice on paper, testable with processors that are not here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Selection {
    /// Through the cache.
    pub cached: Routine,
    /// Around it.
    pub stream: Routine,
    /// For exactly a page.
    pub page: Routine,
}

impl Selection {
    /// The routines for a processor with these features.
    ///
    /// 32-byte vectors are preferred even where 64-byte ones exist, which were no faster where both were measured and cost
    /// some processors clock frequency. `rep movsb` is never chosen: its speed depends on how
    /// source and destination lie to each other, and collapses for some pairs.
    pub const fn for_features(features: Features) -> Self {
        if features.contains(Features::AVX2) {
            Self { cached: Routine::Avx2, stream: Routine::StreamAvx2, page: Routine::StreamAvx2 }
        } else if features.contains(Features::X86_64) {
            Self { cached: Routine::Sse2, stream: Routine::StreamSse2, page: Routine::StreamSse2 }
        } else {
            Self { cached: Routine::Memcpy, stream: Routine::Memcpy, page: Routine::Memcpy }
        }
    }
}

impl Engine {
    /// The routines for this processor, the automatic policy, and limits from what the processor says of its caches.
    ///
    /// Asks the processor, which inside a virtual machine takes some tens of microseconds: keep the answer.
    pub fn detect() -> Self {
        let selection = Selection::for_features(Features::native());
        let available = |routine: Routine| routine.on_this_cpu().unwrap_or(Available::MEMCPY);
        Self {
            cached: available(selection.cached),
            stream: available(selection.stream),
            page: available(selection.page),
            policy: Policy::Automatic,
            limits: Limits::from_topology(&Topology::native()),
            cached_up_to: 0,
        }
        .settled()
    }

    /// The same engine with the shortcut for short copies that follows from its policy and limits.
    const fn settled(self) -> Self {
        let cached_up_to = match self.policy {
            Policy::CachedAlways => usize::MAX,
            Policy::StreamAlways => 0,
            Policy::PageUp | Policy::ExactlyPage | Policy::PageDoor => PAGE - 1,
            Policy::Automatic => {
                let Limits { read_soon, not_read, unknown, .. } = self.limits;
                let mut least = read_soon;
                if not_read < least {
                    least = not_read;
                }
                if unknown < least {
                    least = unknown;
                }
                least.saturating_sub(1)
            }
        };
        Self { cached_up_to, ..self }
    }

    /// The same engine with another policy.
    pub const fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }.settled()
    }

    /// The same engine with other limits for the automatic policy.
    pub const fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }.settled()
    }

    /// The same engine with another routine through the cache. One that streams is taken at its word, too.
    pub const fn with_cached(self, routine: Available) -> Self {
        Self { cached: routine, ..self }
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
        Selection { cached: self.cached.routine(), stream: self.stream.routine(), page: self.page.routine() }
    }

    /// The routines through the cache and around it.
    #[cfg(feature = "std")]
    pub(crate) const fn routines(&self) -> (Available, Available) {
        (self.cached, self.stream)
    }

    /// The routine that a copy of `len` bytes to `dst_addr` takes.
    #[inline]
    pub(crate) fn pick(&self, len: usize, dst_addr: usize, next: NextUse) -> Available {
        if len <= self.cached_up_to {
            return self.cached;
        }
        match self.policy.path(len, dst_addr, next, &self.limits) {
            Path::Cached => self.cached,
            Path::Stream => self.stream,
            Path::StreamPage => self.page,
        }
    }

    /// Copies `src` over `dst`.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn copy(&self, dst: &mut [u8], src: &[u8], next: NextUse) -> Receipt {
        self.pick(src.len(), dst.as_ptr().addr(), next).copy(dst, src)
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
        self.pick(src.len(), dst.as_ptr().addr(), next).copy_uninit(dst, src)
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
        let routine = self.pick(from.len(), bytes.as_ptr().addr().wrapping_add(to), next);
        routine.copy_within(bytes, from, to)
    }
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
                let limits =
                    Limits { read_soon, not_read, not_read_batched: 64, unknown, basis: Basis::Caller };
                let engine = Engine::detect().with_policy(policy).with_limits(limits);
                for len in (0..600).chain([1023, 1024, 4095, 4096, 4097, 8192, 1 << 20]) {
                    for next in [NextUse::ReadSoon, NextUse::NotRead, NextUse::Unknown] {
                        for dst in [0, 1, 64] {
                            let expected = match policy.path(len, dst, next, &limits) {
                                Path::Cached => engine.cached,
                                Path::Stream => engine.stream,
                                Path::StreamPage => engine.page,
                            };
                            // Nothing is copied by either when there is nothing to copy.
                            assert!(
                                len == 0 || engine.pick(len, dst, next) == expected,
                                "{policy} {len} {next} {dst}"
                            );
                        }
                    }
                }
            }
        }
    }
}
