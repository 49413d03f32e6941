//! What this machine is, read from /proc and /sys below a root that tests can move.
//!
//! Nothing here fails: a file that is missing, unreadable, cut short or absurd makes its fact null, and
//! [`Host::unknown`] says why.

mod caches;
pub mod cpu;
pub mod cpu_list;
mod facts;
pub mod interrupts;
pub mod privilege;
pub mod surroundings;
mod tree;
pub(crate) mod vdso;

pub use tree::Tree;

use crate::report::model::Host;

/// The facts of the machine below `tree`, with what the CPU says of itself in `cpu`.
///
/// A test that lays out a tree of its own passes [`cpu::Cpu::default`], so that the machine it runs on does not
/// shine through.
#[must_use]
pub fn read(tree: &Tree, cpu: &cpu::Cpu) -> Host {
    facts::read(tree, cpu)
}

/// The facts of this machine.
#[must_use]
pub fn this_machine() -> Host {
    read(&Tree::system(), &cpu::Cpu::of_this_machine())
}
