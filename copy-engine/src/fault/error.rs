//! Why there is no handler, or why it would not help: what was tried and what to do.

use core::fmt;

/// Why the handler could not be installed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InstallError {
    /// There are no routines with an exception table for this target.
    Unsupported,
    /// The kernel refused the handler.
    Refused {
        /// For this signal.
        signal: i32,
        /// With this errno.
        errno: i32,
    },
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str(
                "this target has no copy routines with an exception table; Session::without_handler copies through the kernel",
            ),
            Self::Refused { signal, errno } => write!(
                f,
                "sigaction for signal {signal} was refused with errno {errno}, perhaps by a seccomp filter; \
                 Session::without_handler copies through the kernel"
            ),
        }
    }
}

impl core::error::Error for InstallError {}

/// Why a fault would not be survived by this thread, so that copies take the fallback.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unready {
    /// Nobody has called [`install`](super::install), or the session was made without it.
    NotInstalled,
    /// Somebody has installed another handler since.
    HandlerReplaced {
        /// For this signal.
        signal: i32,
    },
    /// This thread blocks the signal: the kernel would end the process at a fault.
    SignalBlocked {
        /// Which one.
        signal: i32,
    },
    /// This thread has no alternate stack, and its own may be too short for the kernel's frame.
    NoAlternateStack,
    /// The alternate stack is in use, or smaller than the kernel's frame may be.
    AlternateStackFull,
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled => f.write_str("no handler is installed: call fault::install first"),
            Self::HandlerReplaced { signal } => {
                write!(f, "the handler of signal {signal} was replaced after fault::install: install it last")
            }
            Self::SignalBlocked { signal } => {
                write!(f, "this thread blocks signal {signal}: unblock it with pthread_sigmask")
            }
            Self::NoAlternateStack => f.write_str(
                "this thread has no alternate signal stack: threads of std have one, others call sigaltstack",
            ),
            Self::AlternateStackFull => {
                f.write_str("the alternate signal stack is in use or smaller than AT_MINSIGSTKSZ")
            }
        }
    }
}

impl core::error::Error for Unready {}
