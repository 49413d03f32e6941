//! One pool for each CPU: what the mail names as the way to go "if scalability really mattered".

use alloc::{boxed::Box, vec::Vec};
use core::num::NonZeroUsize;

use super::{MixPlan, Pool, PoolSize};

/// Pools that share no cache line that is written. Who uses which is the caller's to say.
///
/// ```
/// use core::num::NonZeroUsize;
/// use entropy_core::pool::{MixPlan, PerCpuPools, PoolSize};
///
/// let pools = PerCpuPools::new(NonZeroUsize::MIN.saturating_add(1), PoolSize::PRIMARY, MixPlan::BEST);
/// pools.for_cpu(1).mix(&[42]);
/// assert_ne!(pools.for_cpu(1).state(), pools.for_cpu(0).state());
/// ```
#[derive(Debug)]
pub struct PerCpuPools(Box<[Pool]>);

impl PerCpuPools {
    /// `count` empty pools.
    #[must_use]
    pub fn new(count: NonZeroUsize, size: PoolSize, plan: MixPlan) -> Self {
        Self((0..count.get()).map(|_| Pool::new(size, plan)).collect::<Vec<_>>().into())
    }

    /// The pool of the CPU or task with this number; numbers beyond the last pool start again at the first.
    #[must_use]
    pub fn for_cpu(&self, number: usize) -> &Pool {
        &self.0[number % self.0.len()]
    }

    /// All pools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Pool> {
        self.0.iter()
    }
}
