//! The crate's one door to locks and atomics, so that a model checker can stand in it.
//!
//! A lock whose holder panicked is usable again: every change here is complete before user code can run.

#[cfg(not(any(loom, feature = "std", feature = "spin")))]
compile_error!("route-cache needs locks: enable the feature `std` or the feature `spin`");

#[cfg(loom)]
mod backend {
    pub(crate) use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) mod atomic {
        pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    }
}

#[cfg(all(not(loom), feature = "std"))]
mod backend {
    pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
}

#[cfg(all(not(loom), not(feature = "std"), feature = "spin"))]
mod backend {
    pub(crate) use spin::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
}

#[cfg(not(loom))]
pub(crate) mod atomic {
    pub(crate) use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
}

#[cfg(loom)]
pub(crate) use backend::atomic;
pub(crate) use backend::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(any(loom, feature = "std"))]
mod acquire {
    use std::sync::{PoisonError, TryLockError};

    use super::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
        lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
        lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_write<T>(lock: &RwLock<T>) -> Option<RwLockWriteGuard<'_, T>> {
        match lock.try_write() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(not(any(loom, feature = "std")))]
mod acquire {
    use super::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock()
    }

    pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
        lock.read()
    }

    pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
        lock.write()
    }

    pub(crate) fn try_write<T>(lock: &RwLock<T>) -> Option<RwLockWriteGuard<'_, T>> {
        lock.try_write()
    }
}

pub(crate) use acquire::{lock, read, try_write, write};

/// A value on cache lines of its own: two, since x86 fetches them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
