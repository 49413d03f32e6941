//! Copies that survive faults: an exception table, as in the kernel, in user space.
//!
//! Memory may vanish under a copy: a mapped file is truncated (SIGBUS), a plug-in hands over a pointer that leads nowhere
//! (SIGSEGV). The kernel copies such memory all day: each instruction that may fault has an entry in a table that says
//! where to go on, and the copy returns how many bytes it did *not* copy. This module does the same. [`install`] puts a
//! handler before whoever handles SIGSEGV and SIGBUS now; it looks at the address of the faulting instruction, moves it
//! on if that lies in one of this module's own assembly routines, and passes every other fault on.
//!
//! ```
//! use copy_engine::fault::{self, Rest, Session, Untrusted};
//!
//! let session = match fault::install() {
//!     Ok(door) => door.session(),
//!     Err(_) => Session::without_handler(), // this target has none: through the kernel
//! };
//! let mut header = [0; 16];
//! let account = session.read(&mut header, Untrusted::from(&[7; 16][..]), Rest::Zero);
//! assert_eq!((account.copied(), account.left, account.fault), (16, 0, None));
//! ```
//!
//! # Which call costs what
//!
//! [`Door::read`] and its kin ask the kernel before each copy whether this thread would survive a fault: a few system
//! calls. A [`Session`] asks once. Where the answer is no ([`Unready`] lists why), and where there is no handler at all,
//! the copy goes through `process_vm_readv`: slower, as exact, and [`Account::way`] says so.
//!
//! # What this is not
//!
//! - **A sandbox.** A pointer that leads to readable memory is read, whoever owns it.
//! - **A way around stalls.** A page that userfaultfd or a FUSE file system serves is waited for, as by any access.
//! - **A promise about somebody else's handler.** If the process replaces the handler while a session is open, a fault
//!   ends in the new one. The kernel cannot be asked before each load.

#![allow(
    unsafe_code,
    reason = "a signal handler, assembly with an exception table, and memory that may not be there"
)]

mod account;
mod error;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod handler;
mod process_vm;
mod range;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod routine;
mod session;
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod unsupported;

pub use self::account::{Account, Cause, Fault, Way};
pub use self::error::{InstallError, Unready};
pub use self::range::{Untrusted, UntrustedMut};
pub use self::session::{Door, FaultRoutine, Rest, Session, install};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
use self::unsupported as handler;
