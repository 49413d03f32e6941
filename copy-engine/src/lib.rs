//! Copies that choose how the destination meets the cache, and copies that survive faults.
#![no_std]

#[cfg(feature = "std")]
extern crate std;

mod arch;
mod engine;
mod features;
mod page;
mod policy;
mod receipt;
mod routine;
mod topology;

pub use self::arch::{Available, Batch};
pub use self::engine::{Engine, Selection};
pub use self::features::Features;
pub use self::page::Page;
pub use self::policy::{Basis, Limits, NextUse, PAGE, Path, Policy};
pub use self::receipt::{Receipt, Tally};
pub use self::routine::Routine;
pub use self::topology::{Cache, Cpuid, Leaf, Topology, Vendor};
