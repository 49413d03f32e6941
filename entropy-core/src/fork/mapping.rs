//! The mapping, and what the kernel is asked to do with it.

use core::{
    ffi::{c_int, c_void},
    ptr::{self, NonNull},
};

use super::Protection;
use crate::vdso::Errno;

/// A private mapping of zeros for a `T`, which is aligned to no more than a page.
pub(super) fn map<T>() -> Result<NonNull<T>, Errno> {
    const { assert!(align_of::<T>() <= 4096, "no page is smaller") };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping of nothing, at a place of the kernel's choice, touches no memory that is in use.
    let place = unsafe { libc::mmap(ptr::null_mut(), size_of::<T>(), access, kind, -1, 0) };
    if place == libc::MAP_FAILED {
        return Err(last_error());
    }
    NonNull::new(place.cast()).ok_or(Errno(libc::ENOMEM))
}

/// Asks for what holds for children too; what is refused is left out.
pub(super) fn protect<T>(place: NonNull<T>) -> Protection {
    Protection {
        wiped_on_fork: advise(place, libc::MADV_WIPEONFORK),
        not_dumped: advise(place, libc::MADV_DONTDUMP),
        locked: false,
    }
}

fn advise<T>(place: NonNull<T>, advice: c_int) -> bool {
    // SAFETY: the mapping is ours, and neither advice that is given changes what this process finds in it.
    unsafe { libc::madvise(place.as_ptr().cast::<c_void>(), size_of::<T>(), advice) == 0 }
}

pub(super) fn lock<T>(place: NonNull<T>) -> bool {
    // SAFETY: a lock changes nothing in the memory.
    unsafe { libc::mlock(place.as_ptr().cast::<c_void>(), size_of::<T>()) == 0 }
}

/// Gives the mapping back, locks and all. Nobody may use it any more.
pub(super) fn unmap<T>(place: NonNull<T>) {
    // SAFETY: called once, by the owner of the mapping when he is dropped.
    let refused = unsafe { libc::munmap(place.as_ptr().cast::<c_void>(), size_of::<T>()) } != 0;
    // It cannot be refused but for too many mappings, and then it stays, empty.
    debug_assert!(!refused, "{}", last_error());
}

fn last_error() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}
