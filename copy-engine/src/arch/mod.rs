//! Chooses the instructions: everything outside this module is safe code or a documented contract.
//!
//! Both doors export the same names, so that `cfg` is written here and nowhere else. The portable one is built on
//! every target, cannot rot, and is what Miri runs.

#![allow(unsafe_code, reason = "the door to assembly and raw pointers")]

mod available;
mod batch;
mod portable;
mod raw;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

pub use self::available::Available;
pub use self::batch::Batch;
use crate::routine::Routine;

/// What a routine did with the bytes it was given.
#[derive(Clone, Copy)]
pub(crate) struct Moved {
    /// The routine that really ran.
    pub(crate) routine: Routine,
    /// Bytes that went around the cache; the others went through it.
    pub(crate) streamed: usize,
}

impl Moved {
    /// Everything went through the cache.
    pub(crate) const fn cached(routine: Routine) -> Self {
        Self { routine, streamed: 0 }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use self::x86_64::{fence, has_ladder, ladder, native_cpuid, native_xcr0, run};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) use self::portable::{fence, has_ladder, ladder, native_cpuid, native_xcr0, run};
