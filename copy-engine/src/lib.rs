//! Copies that choose how the destination meets the cache, and copies that survive faults.
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
