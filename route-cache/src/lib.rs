#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! * [`FlushCache`], in [`cache`]: the cache to use.
//! * [`RouteTable`], and [`flush`] with its ten [`FlushPlan`]s: the argument of May 2007, faithful and measurable.
//! * [`jhash`], [`Geometry`], [`Tunables`], [`footprint`]: the arithmetic under it.
//!
//! Locks and atomics come in by one private module, `sync`, where a model checker takes their place.
#![forbid(unsafe_code)]
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
