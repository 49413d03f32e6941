//! The clock that the kernel's generators read: `random_get_entropy()`.

use entropy_core::clock::CycleSource;

/// The processor's own counter where there is one, as the kernel's generator read it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycles;

impl CycleSource for Cycles {
    #[inline]
    fn cycles(&mut self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        return entropy_core::clock::Tsc.cycles();
        #[cfg(not(target_arch = "x86_64"))]
        return crate::harness::clock::now().ticks;
    }
}
