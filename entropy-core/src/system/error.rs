//! Why there are no random numbers.

use core::fmt;

use crate::vdso::Errno;

/// The kernel gave no random numbers. What was to be filled holds nothing that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Early in the boot, and waiting was not asked for: the kernel's generator has no seed yet.
    NotSeeded,
    /// Neither the system call nor the device file works: an old kernel, a sandbox, a root directory without devices.
    Refused {
        /// What getrandom(2) answered.
        call: Errno,
        /// What opening or reading `/dev/urandom` answered.
        device: Errno,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSeeded => {
                f.write_str("the kernel's random generator has no seed yet; wait, or try again later")
            }
            Self::Refused { call, device } => write!(
                f,
                "the kernel gives no random numbers: getrandom: {call}; /dev/urandom: {device}. Let the sandbox \
                 allow getrandom, or give it the device"
            ),
        }
    }
}

impl core::error::Error for Error {}
