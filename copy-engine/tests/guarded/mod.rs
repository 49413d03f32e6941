//! Memory between two pages that nobody may touch, so that a step too far ends the test.

#![allow(unsafe_code, dead_code, reason = "guard pages are made by hand; each test file uses its part")]

use std::num::NonZeroUsize;
use std::os::raw::c_void;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

pub(crate) const PAGE: usize = 4096;

/// `len` bytes, a whole number of pages, with a forbidden page on either side.
pub(crate) struct Guarded {
    base: NonNull<c_void>,
    len: usize,
}

impl Guarded {
    pub(crate) fn new(len: usize) -> Self {
        let len = len.next_multiple_of(PAGE);
        let whole = NonZeroUsize::new(len + 2 * PAGE).unwrap();
        // SAFETY: a fresh private mapping at an address of the kernel's choice.
        let base =
            unsafe { mmap_anonymous(None, whole, ProtFlags::PROT_NONE, MapFlags::MAP_PRIVATE) }.unwrap();
        let mut guarded = Self { base, len };
        guarded.protect(0..len, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE);
        guarded
    }

    /// Changes what may be done with whole pages of the middle.
    pub(crate) fn protect(&mut self, pages: std::ops::Range<usize>, protection: ProtFlags) {
        assert!(pages.start.is_multiple_of(PAGE) && pages.end.is_multiple_of(PAGE) && pages.end <= self.len);
        let start = NonNull::new(self.address().wrapping_add(pages.start).cast()).unwrap();
        // SAFETY: pages of our own mapping; `bytes` and `bytes_mut` borrow `self`, so no slice is alive.
        unsafe { mprotect(start, pages.len(), protection) }.unwrap();
    }

    /// The first byte of the middle.
    pub(crate) fn address(&self) -> *mut u8 {
        self.base.as_ptr().cast::<u8>().wrapping_add(PAGE)
    }

    /// The middle. Only to be called while all of it is accessible.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: mapped, zeroed by the kernel, readable and writable by the rule above, borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(self.address(), self.len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and every slice of it borrowed from `self`.
        unsafe { munmap(self.base, self.len + 2 * PAGE) }.unwrap();
    }
}

/// Bytes in which a shifted copy cannot look right.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[3]
    };
    (0..len).map(|_| next()).collect()
}
