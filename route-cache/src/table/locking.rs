//! Locks of a multiprocessor, and their absence on a single processor.

use core::{
    cell::{RefCell, RefMut},
    fmt::Debug,
    ops::DerefMut,
};

use crate::sync::{Mutex, MutexGuard, lock};

/// How a table's buckets are guarded. Sealed: [`Smp`] and [`Up`] are all there are.
pub trait Locking: sealed::Sealed + Debug {
    /// A value and its lock.
    #[doc(hidden)]
    type Lock<T>;
    /// Access to the value.
    #[doc(hidden)]
    type Guard<'a, T: 'a>: DerefMut<Target = T>
    where
        Self: 'a;

    /// Locks that a visit takes: 1 or 0.
    #[doc(hidden)]
    const LOCKS: usize;

    #[doc(hidden)]
    fn new<T>(value: T) -> Self::Lock<T>;

    #[doc(hidden)]
    fn lock<T>(lock: &Self::Lock<T>) -> Self::Guard<'_, T>;
}

mod sealed {
    #[expect(unnameable_types, reason = "only the two types below may implement it")]
    pub trait Sealed {}
    impl Sealed for super::Smp {}
    impl Sealed for super::Up {}
}

/// Striped locks; the table can be shared among threads.
#[derive(Clone, Copy, Debug)]
pub struct Smp;

impl Locking for Smp {
    type Lock<T> = Mutex<T>;
    type Guard<'a, T: 'a> = MutexGuard<'a, T>;
    const LOCKS: usize = 1;

    fn new<T>(value: T) -> Mutex<T> {
        Mutex::new(value)
    }

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        lock(mutex)
    }
}

/// No locks, as in a kernel for one processor; the table belongs to one thread, and the compiler sees to it.
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<route_cache::RouteTable<u32, route_cache::Up>>();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Up;

impl Locking for Up {
    type Lock<T> = RefCell<T>;
    type Guard<'a, T: 'a> = RefMut<'a, T>;
    const LOCKS: usize = 0;

    fn new<T>(value: T) -> RefCell<T> {
        RefCell::new(value)
    }

    fn lock<T>(cell: &RefCell<T>) -> RefMut<'_, T> {
        cell.borrow_mut()
    }
}
