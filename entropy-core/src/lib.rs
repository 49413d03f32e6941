#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

pub mod clock;
pub mod pool;
mod prefetch;
mod sync;
