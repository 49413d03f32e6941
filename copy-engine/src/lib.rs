//! Copies that choose how the destination meets the cache, and copies that survive faults.
//!
//! A store normally pulls its cache line in. When the destination is written once and not read soon (a page headed for
//! disk), that displaces data somebody did want, and the line is read from memory only to be overwritten. A
//! *non-temporal* store goes around the cache instead, and loses when the copy is small or is read back at once. In
//! February 2009 this cost Linux a part of its small-`write()` throughput; the fix was to go around the cache only from a
//! page up. This crate holds all sides of that argument, better routines than it had, and a policy that is right without
//! being told and better when told what comes next.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use copy_engine::{NextUse, batch, copy, copy_for};
//!
//! let block = vec![7; 4096];
//! let (mut page, mut arena) = (vec![0; 4096], vec![0; 64 * 4096]);
//!
//! copy(&mut page, &block);                                // nothing known: by size and by this machine's caches
//! copy_for(&mut page, &block, NextUse::NotRead);          // headed elsewhere: around the cache
//! let ((), tally) = batch(|batch| {                       // many, and one fence for all of them
//!     for place in arena.chunks_exact_mut(4096) {
//!         batch.copy(place, &block, NextUse::NotRead);
//!     }
//! });
//! assert!(tally.fences <= 1 && arena[63 * 4096] == 7);
//! # }
//! ```
//!
//! # What is promised
//!
//! - All routines and policies give the same bytes, for all lengths, alignments and overlaps.
//! - No streamed byte can be touched before the fence in safe code: a copy fences before it returns, and a [`Batch`] keeps
//!   its destinations borrowed until it has been fenced, whatever the closure forgets, swaps or panics about.
//! - Instructions that the processor lacks cannot run: an [`Available`] is the proof, and is made by asking the processor.
//! - What ran is told: every copy returns a [`Receipt`], every batch a [`Tally`].
//!
//! # What is not
//!
//! - Durability: going around the cache is not persisting. Nothing here flushes lines that are cached already.
//! - Atomicity: a copy is no atomic access, and memory that others change meanwhile needs the `fault` module's ranges.
//!
//! # Layout
//!
//! [`Routine`] lists the ways to move bytes, [`Policy`] the ways to choose, [`Engine`] joins them; [`Topology`] and
//! [`Features`] read a processor, which may be made up. `arch` and `fault` are the only modules with `unsafe`: `arch`'s
//! portable half is built everywhere and is what Miri runs, its x86-64 half is assembly; the module `fault` (feature
//! `fault`, Linux) holds the copies that survive. On other processors than x86-64 copies go through the cache, and say so.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod arch;
#[cfg(feature = "std")]
mod crossover;
mod engine;
#[cfg(all(feature = "fault", target_os = "linux"))]
pub mod fault;
mod features;
mod page;
mod policy;
mod receipt;
mod routine;
#[cfg(feature = "std")]
mod shared;
mod topology;

pub use self::arch::{Available, Batch};
#[cfg(feature = "std")]
pub use self::crossover::Crossing;
pub use self::engine::{Engine, Selection};
pub use self::features::Features;
pub use self::page::Page;
pub use self::policy::{Basis, Limits, NextUse, PAGE, Path, Policy};
pub use self::receipt::{Receipt, Tally};
pub use self::routine::Routine;
#[cfg(feature = "std")]
pub use self::shared::{batch, copy, copy_for, share, shared};
pub use self::topology::{Cache, Cpuid, Leaf, Topology, Vendor};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "fault"))]
#[doc = include_str!("../README.md")]
struct Readme;
