//! In place of the mapping under Miri, where nobody forks: memory of the allocator.

use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use core::ptr::NonNull;

use super::Protection;
use crate::vdso::Errno;

pub(super) fn map<T>() -> Result<NonNull<T>, Errno> {
    // SAFETY: what is kept here is not of size zero.
    NonNull::new(unsafe { alloc_zeroed(Layout::new::<T>()) }.cast()).ok_or(Errno(libc::ENOMEM))
}

pub(super) fn protect<T>(_: NonNull<T>) -> Protection {
    Protection { wiped_on_fork: true, not_dumped: false, locked: false }
}

pub(super) fn lock<T>(_: NonNull<T>) -> bool {
    false
}

pub(super) fn unmap<T>(place: NonNull<T>) {
    // SAFETY: called once, by the owner when he is dropped, with the layout of `map`.
    unsafe { dealloc(place.as_ptr().cast(), Layout::new::<T>()) };
}
