//! How a cache keeps its values.

use alloc::sync::Arc;
use core::fmt::Debug;

/// How values are kept. Sealed: [`Shared`] and [`Inline`] are all there are.
pub trait Storage<V>: sealed::Sealed {
    /// A value as it is kept. Cloning it runs no code of the value's, so that it may be done under a lock.
    type Stored: Clone;

    /// Bytes of the allocation that a value takes beside its entry.
    #[doc(hidden)]
    const ALLOCATION: usize;

    #[doc(hidden)]
    fn store(value: V) -> Self::Stored;

    #[doc(hidden)]
    fn value(stored: &Self::Stored) -> &V;
}

mod sealed {
    #[expect(unnameable_types, reason = "only the two types below may implement it")]
    pub trait Sealed: super::Debug {}
    impl Sealed for super::Shared {}
    impl Sealed for super::Inline {}
}

/// Each value in an allocation of its own, counted by its readers: for values of any kind.
#[derive(Debug)]
pub enum Shared {}

impl<V> Storage<V> for Shared {
    type Stored = Arc<V>;
    // An `Arc` keeps its two counts beside the value.
    const ALLOCATION: usize = 2 * size_of::<usize>() + size_of::<V>();

    fn store(value: V) -> Arc<V> {
        Arc::new(value)
    }

    fn value(stored: &Arc<V>) -> &V {
        stored
    }
}

/// Values in the table itself, copied out by each read: for small plain ones, which it spares the allocation and
/// the count.
#[derive(Debug)]
pub enum Inline {}

impl<V: Copy> Storage<V> for Inline {
    type Stored = V;
    const ALLOCATION: usize = 0;

    fn store(value: V) -> V {
        value
    }

    fn value(stored: &V) -> &V {
        stored
    }
}
