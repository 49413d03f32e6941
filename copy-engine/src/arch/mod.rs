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

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use self::x86_64::{Move, fence, moves, native_cpuid, native_xcr0};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) use self::portable::{Move, fence, moves, native_cpuid, native_xcr0};
