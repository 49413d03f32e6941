#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

pub mod clock;
pub mod fast_pool;
pub mod history;
pub mod pool;
mod prefetch;
pub mod siphash;
mod sync;
