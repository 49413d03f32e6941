//! The door to the kernel's `getrandom`: the function in the vDSO (Linux 6.11), and the system call behind it.
//!
//! The kernel maps a small library into every process. Its `__vdso_getrandom` makes numbers in user space from a state
//! that the caller maps, and asks the kernel for a new key whenever the kernel's own generator has been reseeded. The
//! rules of the kernel's documentation, and who keeps them here:
//!
//! | rule | kept by |
//! | --- | --- |
//! | size, protection and flags of the mapping are the function's to say | [`Function::find`] asks, with a length of all ones |
//! | a state does not lie across the end of a page | `library/states`: a page is cut into states, none over its end |
//! | a state is used by one thread at a time | [`State`] is not `Sync`, and is lent to one owner at a time |
//! | a signal handler may come in between | the function sees that the state is in use, and makes the system call |
//! | the page may be dropped by the kernel at any time, and is empty after a fork | the function looks, and begins anew |
//!
//! | file | holds |
//! | --- | --- |
//! | `library/elf` | finds a symbol in the library's image; safe code |
//! | `library/function` | the function, and what it wants of a state |
//! | `library/states` | who has which state; no lock, and nothing allocated when one is given back |
//! | `call` | the system call |
//!
//! Known to x86-64 only. Elsewhere, under Miri, and without the feature `vdso` there is no function, and
//! [`system`](crate::system) makes the call.
#![allow(
    unsafe_code,
    reason = "calls into the kernel, memory that it may empty, a function found at run time"
)]

mod call;
#[cfg_attr(not(all(feature = "vdso", target_arch = "x86_64", not(miri))), path = "no_library.rs")]
mod library;

pub(crate) use self::call::getrandom;
pub use self::library::{Function, State};

/// The number of an error of the kernel, as in `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl core::fmt::Display for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}
