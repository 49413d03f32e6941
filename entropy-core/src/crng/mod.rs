//! The generator of Linux 5.18 and after: a hash as pool, a stream cipher that forgets its keys, one for each CPU.
//!
//! | file | holds |
//! | --- | --- |
//! | `input_pool` | BLAKE2s as entropy pool, and extraction from it |
//! | `hardware` | the processor's random numbers, not trusted blindly |
//! | `key_erasure` | a block of ChaCha20 that is half next key and half output |
//! | `generators` | the base key, the keys of the CPUs, readiness and reseeding; both streams |
//! | `batch` | small numbers in stock, and ranges |
//!
//! Correct to the bit, but a model all the same: its locks are the caller's (`&mut`), its entropy is what it is given. It
//! is not a source of keys: ask the operating system for those.

mod batch;
mod generators;
mod hardware;
mod input_pool;
mod key_erasure;

pub use generators::{Crng, Readiness, reseed_interval_s};
pub use hardware::Hardware;
pub use input_pool::{EARLY_BITS, InputPool, READY_BITS};
