#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod blake2s;
pub mod chacha;
pub mod clock;
pub mod crng;
pub mod fast;
pub mod fast_pool;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
mod fork;
pub mod history;
pub mod pool;
mod prefetch;
pub mod range;
pub mod siphash;
mod sync;
// What asks the kernel; model checking has no kernel to ask.
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
pub mod system;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
pub mod vdso;
mod wipe;
