//! The door to memory that a child process finds empty: a mapping of its own for one value, with a mark beside it.
//!
//! The kernel zeroes such a mapping in the child of a fork (`MADV_WIPEONFORK`, Linux 4.14), however the child was made,
//! with or without the C library. A process that shares its parent's memory (threads, `vfork`) shares the mapping too.
//! Where the kernel has no such thing the value is not wiped, and [`Protection`] says so: then nothing may be kept in it
//! that a child must not have.
//!
//! Beside that the mapping is left out of core dumps and is not swapped out, if the kernel lets us. Neither is
//! necessary for anything to work.
#![allow(unsafe_code, reason = "memory that the kernel may empty between two instructions")]

use core::{
    ptr::NonNull,
    sync::atomic::{Ordering, compiler_fence},
};

use crate::vdso::Errno;

#[cfg_attr(miri, path = "no_mapping.rs")]
mod mapping;

/// What the kernel does for the memory of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Protection {
    /// A child finds it empty. If not, nothing is kept in it.
    pub wiped_on_fork: bool,
    /// It is not in core dumps.
    pub not_dumped: bool,
    /// It is not written to swap; the limit for locked memory may be in the way. A child has to lock it anew, and does.
    pub locked: bool,
}

/// A value that is made of numbers only, for which all zeros are a value too.
///
/// # Safety
///
/// All zero bytes are a valid value, the value owns nothing, and it has no padding that is read.
pub(crate) unsafe trait Wipeable: Send {}

// SAFETY: bytes and a number.
unsafe impl Wipeable for crate::fast::Stock {}

/// A value in memory of its own, all zeros at first, and a mark that is gone when the value was wiped.
///
/// A process may fork at any instruction: in a signal handler, that is. So what was read is known to be good only if the
/// mark is there *after* reading; and whoever fills the value sets the mark *before* he gets what he fills it with, so
/// that a fork in between removes it.
pub(crate) struct WipedPage<T: Wipeable> {
    place: NonNull<Marked<T>>,
    protection: Protection,
}

#[repr(C)]
struct Marked<T> {
    value: T,
    mark: u64,
}

// SAFETY: the memory belongs to this value alone, and what is in it may be sent.
unsafe impl<T: Wipeable> Send for WipedPage<T> {}

impl<T: Wipeable> WipedPage<T> {
    /// # Errors
    ///
    /// There is no memory.
    pub(crate) fn new() -> Result<Self, Errno> {
        let place = mapping::map::<Marked<T>>()?;
        let protection = mapping::protect(place);
        Ok(Self { place, protection })
    }

    pub(crate) fn protection(&self) -> Protection {
        self.protection
    }

    /// Keeps the page in memory, if the limit allows. A child's memory is not locked, whatever its parent's was.
    pub(crate) fn lock(&mut self) {
        self.protection.locked = mapping::lock(self.place);
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        // SAFETY: the mapping is ours until we are dropped, aligned to a page, and holds zeros or what was put there;
        // `self` is borrowed for as long as the value is.
        let marked = unsafe { self.place.as_mut() };
        &mut marked.value
    }

    #[inline]
    pub(crate) fn mark(&mut self) {
        // SAFETY: as in `get_mut`.
        let mark = unsafe { &raw mut (*self.place.as_ptr()).mark };
        // SAFETY: the place is in the mapping, aligned and ours to write.
        unsafe { mark.write_volatile(1) };
        // What is put there now comes after the mark.
        compiler_fence(Ordering::SeqCst);
    }

    pub(crate) fn unmark(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `get_mut`.
        let mark = unsafe { &raw mut (*self.place.as_ptr()).mark };
        // SAFETY: the place is in the mapping, aligned and ours to write.
        unsafe { mark.write_volatile(0) };
    }

    /// Whether the mark is still there, and so everything that was read before this is good.
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `get_mut`; volatile, as the kernel may have changed it since we wrote it.
        let mark = unsafe { &raw const (*self.place.as_ptr()).mark };
        // SAFETY: the place is in the mapping and aligned.
        unsafe { mark.read_volatile() != 0 }
    }
}

impl<T: Wipeable> Drop for WipedPage<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and zeros are a value of `T`, which owns nothing.
        unsafe { self.place.as_ptr().write_bytes(0, 1) };
        // The memory is about to be given away: the zeros have to be there before.
        compiler_fence(Ordering::SeqCst);
        mapping::unmap(self.place);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::fast::Stock;

    #[test]
    fn a_new_page_is_empty_and_not_marked() {
        let mut page = WipedPage::<Stock>::new().unwrap();
        assert!(!page.is_marked());
        assert_eq!(page.get_mut().take::<1>(), None);
        page.mark();
        assert!(page.is_marked());
        page.unmark();
        assert!(!page.is_marked());
    }

    #[cfg(not(miri))]
    #[test]
    fn this_kernel_wipes_and_does_not_dump() {
        let protection = WipedPage::<Stock>::new().unwrap().protection();
        assert!(protection.wiped_on_fork && protection.not_dumped, "{protection:?}");
    }
}
