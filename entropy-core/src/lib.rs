#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod blake2s;
pub mod chacha;
pub mod clock;
pub mod crng;
pub mod fast_pool;
pub mod history;
pub mod pool;
mod prefetch;
pub mod siphash;
mod sync;
mod wipe;
