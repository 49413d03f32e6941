//! libpmem's copy that goes around the cache, where the library is installed: found at run time, never linked.

#![allow(unsafe_code, reason = "a function of a library that may be missing is called by its address")]

use std::ffi::{c_uint, c_void};
use std::sync::LazyLock;

use libc::{RTLD_LOCAL, RTLD_NOW, dlopen, dlsym};

type Memcpy = unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_uint) -> *mut c_void;

/// `PMEM_F_MEM_NONTEMPORAL`: stores go around the cache, and are fenced before the call returns.
const AROUND_THE_CACHE: c_uint = 1 << 1;

static PMEM_MEMCPY: LazyLock<Option<Memcpy>> = LazyLock::new(|| {
    // SAFETY: both names end with a zero; the library's own initialisation takes no arguments and may run at any time.
    let library = unsafe { dlopen(c"libpmem.so.1".as_ptr(), RTLD_NOW | RTLD_LOCAL) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library was just opened, and is never closed.
    let function = unsafe { dlsym(library, c"pmem_memcpy".as_ptr()) };
    // SAFETY: the manual page of pmem_memcpy(3) declares it so, and null is told apart by the option.
    unsafe { std::mem::transmute::<*mut c_void, Option<Memcpy>>(function) }
});

/// Whether it can be called.
#[must_use]
pub fn is_here() -> bool {
    PMEM_MEMCPY.is_some()
}

/// Copies `src` over `dst`, around the cache.
///
/// # Panics
///
/// If the lengths differ, or the library is not there.
pub fn copy(dst: &mut [u8], src: &[u8]) {
    assert_eq!(dst.len(), src.len());
    let memcpy = (*PMEM_MEMCPY).expect("only what is there is measured");
    // SAFETY: slices of one length, one of them exclusive; the function accepts memory of any kind.
    unsafe { memcpy(dst.as_mut_ptr().cast(), src.as_ptr().cast(), src.len(), AROUND_THE_CACHE) };
}
