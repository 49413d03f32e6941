//! A large concurrent cache that can be flushed without stalling its readers.
#![cfg_attr(not(any(test, feature = "std", loom)), no_std)]

extern crate alloc;

pub mod cache;
pub mod flush;
pub mod footprint;
mod geometry;
pub mod jhash;
mod source;
mod sync;
mod table;
mod tunables;

#[cfg(feature = "std")]
pub use crate::source::{HasherRandom, SystemClock};
pub use crate::{
    cache::FlushCache,
    flush::{FlushObserver, FlushPlan, FlushReport},
    geometry::{Geometry, locks_for_cpus},
    source::{Clock, RandomSource},
    table::{Delay, Full, Locking, Overflow, RouteKey, RouteTable, Smp, Traits, Up},
    tunables::{Freeing, Tunables, buckets_for_memory},
};
