//! What a copy that survives says afterwards: how much is missing, and why.

use core::fmt;

use super::error::Unready;
use super::session::FaultRoutine;

/// The account of one copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Account {
    /// Bytes asked for.
    pub asked: usize,
    /// Bytes at the end that were **not** copied; 0 is success. Exact, unless the routine or [`Rest::Inatomic`] makes it
    /// an upper bound.
    ///
    /// [`Rest::Inatomic`]: super::Rest::Inatomic
    pub left: usize,
    /// The count that the first fault alone allows, in whole blocks of the routine: never less than the exact one in the
    /// kernel's routines from 2.6.27 on. 0 without a fault.
    pub coarse: usize,
    /// What the original's loop counter holds at the fault, which its fixup passed on as "zero the rest".
    pub counter: u64,
    /// The fault that ended the copy.
    pub fault: Option<Fault>,
    /// How the bytes were moved.
    pub way: Way,
}

impl Account {
    /// Bytes copied, counted from the start. Where [`Self::left`] is an upper bound this is a lower one.
    pub const fn copied(&self) -> usize {
        self.asked - self.left
    }

    /// Whether everything was copied.
    pub const fn is_complete(&self) -> bool {
        self.left == 0
    }
}

/// How a copy moved its bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Way {
    /// By this routine, under the handler.
    Handler(FaultRoutine),
    /// By the kernel, since a fault would not have been survived, and why.
    ProcessVm(Unready),
}

/// A fault, as the kernel reported it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Why.
    pub cause: Cause,
    /// Where; `None` where the processor does not say or the kernel did not.
    pub address: Option<usize>,
}

/// Why memory could not be read or written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// Nothing is mapped there.
    Unmapped,
    /// Something is, but not for this.
    Protected,
    /// The mapping reaches past the end of its file: a truncation, or a file that was too short all along.
    BeyondEndOfFile,
    /// The memory itself is broken (a machine check). Never to be taken for a truncation: the data was there, and is lost.
    MemoryError,
    /// The address is none: its upper bits are not a sign extension.
    NotAnAddress,
    /// Another reason the kernel gave, by signal and code.
    Other {
        /// The signal's number.
        signal: i32,
        /// Its `si_code`.
        code: i32,
    },
    /// `process_vm_readv` says that there was a fault, not which.
    Unknown,
    /// `process_vm_readv` itself was refused, with this errno: nothing was tried.
    Refused {
        /// The errno.
        errno: i32,
    },
}

impl Cause {
    /// From the signal and its code.
    pub(super) const fn from_signal(signal: i32, code: i32) -> Self {
        // Missing from the crate that binds the C library: SEGV_PKUERR and the like stay `Other`.
        const SEGV_MAPERR: i32 = 1;
        const SEGV_ACCERR: i32 = 2;
        const BUS_ADRERR: i32 = 2;
        const BUS_MCEERR_AR: i32 = 4;
        const SI_KERNEL: i32 = 0x80;
        match (signal, code) {
            (libc::SIGSEGV, SEGV_MAPERR) => Self::Unmapped,
            (libc::SIGSEGV, SEGV_ACCERR) => Self::Protected,
            (libc::SIGSEGV, SI_KERNEL) => Self::NotAnAddress,
            (libc::SIGBUS, BUS_ADRERR) => Self::BeyondEndOfFile,
            (libc::SIGBUS, BUS_MCEERR_AR) => Self::MemoryError,
            // Above the canonical half the stack segment is used for some addressing forms, and the signal is SIGBUS.
            (libc::SIGBUS, SI_KERNEL) => Self::NotAnAddress,
            _ => Self::Other { signal, code },
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmapped => f.write_str("nothing is mapped there"),
            Self::Protected => f.write_str("the mapping does not allow this access"),
            Self::BeyondEndOfFile => f.write_str("the mapped file ends before it (was it truncated?)"),
            Self::MemoryError => {
                f.write_str("the memory is broken: the hardware reported an error that it cannot mend")
            }
            Self::NotAnAddress => f.write_str("it is not an address (the upper bits are wrong)"),
            Self::Other { signal, code } => write!(f, "the kernel sent signal {signal} with code {code}"),
            Self::Unknown => f.write_str("the kernel could not reach it, and did not say why"),
            Self::Refused { errno } => write!(
                f,
                "process_vm_readv was refused with errno {errno}, perhaps by a seccomp filter; install the handler, or allow the call"
            ),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "fault at {address:#x}: {}", self.cause),
            None => write!(f, "fault: {}", self.cause),
        }
    }
}

impl core::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_memory_is_no_truncation() {
        assert_eq!(Cause::from_signal(libc::SIGBUS, 4), Cause::MemoryError);
        assert_eq!(Cause::from_signal(libc::SIGBUS, 2), Cause::BeyondEndOfFile);
        // The asynchronous kind is no fault of an instruction at all.
        assert_eq!(Cause::from_signal(libc::SIGBUS, 5), Cause::Other { signal: libc::SIGBUS, code: 5 });
    }
}
