//! How often, where and from which seed to measure.

use nix::errno::Errno;

use crate::sys::affinity;

/// What the command line decides about a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// Whether the short replication was asked for.
    pub quick: bool,
    /// Fresh processes.
    pub launches: u16,
    /// Interleaved blocks in each.
    pub blocks: u16,
    /// Of every random choice.
    pub seed: u64,
    /// Only cases with one of these numbers of tasks; all if `None`.
    pub threads: Option<Vec<usize>>,
    /// Only cases with one of these names; all if `None`.
    pub cases: Option<Vec<String>>,
    /// CPUs to use, in this order; tasks are pinned to them round robin.
    pub cpus: Vec<usize>,
    /// NUMA node to take memory from.
    pub membind: Option<u32>,
}

impl Options {
    /// The full replication, at least 10 launches of 9 blocks, on the CPUs this process may use.
    ///
    /// # Errors
    ///
    /// The kernel did not tell which CPUs those are.
    pub fn full(seed: u64) -> Result<Self, Errno> {
        let cpus = affinity::allowed()?;
        Ok(Self {
            quick: false,
            launches: 10,
            blocks: 9,
            seed,
            threads: None,
            cases: None,
            cpus,
            membind: None,
        })
    }

    /// The short one, 5 launches of 5 blocks.
    ///
    /// # Errors
    ///
    /// As [`full`](Self::full).
    pub fn quick(seed: u64) -> Result<Self, Errno> {
        Ok(Self { quick: true, launches: 5, blocks: 5, ..Self::full(seed)? })
    }

    /// Least launches and blocks of a run that may judge.
    #[must_use]
    pub const fn minimum(&self) -> (u16, u16) {
        if self.quick { (5, 5) } else { (10, 9) }
    }
}
