//! The kernel's random numbers, by the fastest way this process has: **the generator for keys and for everything else**
//! unless numbers are drawn so often that it shows.
//!
//! From Linux 6.11 on the kernel answers in user space, through its vDSO; before, or where a sandbox forbids the memory
//! for it, by the system call; where there is no such call, or a sandbox refuses it, by `/dev/urandom`. What comes out is
//! the same in quality: the kernel's own generator, reseeded when the kernel says so, in a clone of a virtual machine
//! too if the machine tells the kernel that it is one.
//!
//! | what happens | what is done |
//! | --- | --- |
//! | early in the boot there is no seed | [`fill`](SystemRng::fill) waits, [`fill_if_seeded`](SystemRng::fill_if_seeded) does not |
//! | a signal, a short answer | goes on with the rest |
//! | fork, clone | the kernel empties the state; its function asks for another key |
//! | the kernel drops the state's page, short of memory | the same |
//! | a signal handler draws while its thread does | the function makes the system call |
//! | a thread draws while it ends, in a destructor | once its state is given back, the system call |
//! | a sandbox kills for `mmap` | [`prepare`](SystemRng::prepare) first |
//!
//! The first draw of a thread allocates a little, and maps a page for every twenty-one threads; it is not for a signal
//! handler. [`fill_by_call`](SystemRng::fill_by_call) always is. A thread that ends allocates nothing.
//!
//! Linux only.
//!
//! | file | holds |
//! | --- | --- |
//! | `chain` | when to take the next way |
//! | `ways` | the ways of this process, and a state for each thread |
//! | `error` | why there are no numbers |

mod chain;
mod error;
mod ways;

pub use self::error::Error;
use self::{
    chain::{Unseeded, Ways},
    ways::Here,
};
use crate::vdso::Errno;

/// The kernel's generator. It holds nothing: make one where it is needed.
///
/// ```
/// use entropy_core::system::SystemRng;
///
/// let key: [u8; 32] = SystemRng.array()?;
/// assert_ne!(key, [0; 32]);
/// # Ok::<(), entropy_core::system::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemRng;

/// How this thread's draws reach the kernel's generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through the vDSO: without entering the kernel, most of the time.
    Vdso,
    /// By the system call, or what stands in for it.
    Call,
}

impl SystemRng {
    /// Fills `out`. Waits if the kernel's generator has no seed yet, which only happens early in the boot.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`]: nothing works. [`Error::NotSeeded`] comes only from a sandbox that answers so.
    #[inline]
    pub fn fill(self, out: &mut [u8]) -> Result<(), Error> {
        chain::fill(&mut Here, out, Unseeded::Wait)
    }

    /// Fills `out`, and never waits for a seed.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill), and [`Error::NotSeeded`] early in the boot.
    pub fn fill_if_seeded(self, out: &mut [u8]) -> Result<(), Error> {
        chain::fill(&mut Here, out, Unseeded::Fail)
    }

    /// Fills `out` by nothing but system calls: no thread-local variable, no allocation, at any time and in any signal
    /// handler. Waits as [`fill`](Self::fill) does.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill); the device file is not tried.
    pub fn fill_by_call(self, out: &mut [u8]) -> Result<(), Error> {
        chain::fill(&mut CallOnly, out, Unseeded::Wait)
    }

    /// As many bytes as an array has.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill).
    pub fn array<const BYTES: usize>(self) -> Result<[u8; BYTES], Error> {
        let mut bytes = [0; BYTES];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Does for this thread now what its first draw would: memory is allocated and mapped. Then nothing but `getrandom`
    /// itself is called any more, now and then: call it before a sandbox closes.
    pub fn prepare(self) -> Route {
        // An empty request would be answered without a look at the state.
        let drawn = ways::with_state(|state| state.fill(&mut [0], libc::GRND_NONBLOCK));
        if drawn.is_some_and(|answer| answer.is_ok()) { Route::Vdso } else { Route::Call }
    }
}

/// For where nothing but a system call may be made.
struct CallOnly;

impl Ways for CallOnly {
    fn vdso(&mut self, _: &mut [u8], _: Unseeded) -> Option<Result<usize, Errno>> {
        None
    }

    fn call(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno> {
        Here.call(out, unseeded)
    }

    fn device(&mut self, _: &mut [u8], _: Unseeded) -> Result<usize, Errno> {
        Err(Errno(libc::ENOTSUP))
    }
}

#[cfg(feature = "rand_core")]
impl rand_core::TryRng for SystemRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }
    fn try_next_u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        self.fill(out)
    }
}

#[cfg(feature = "rand_core")]
impl rand_core::TryCryptoRng for SystemRng {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_filled_to_its_end() {
        for length in [0, 1, 31, 32, 33, 96, 97, 1000, 5000] {
            for fill in [SystemRng::fill, SystemRng::fill_if_seeded, SystemRng::fill_by_call] {
                let mut out = alloc::vec![0; length];
                fill(SystemRng, &mut out).unwrap();
                // A run of sixteen zeros is chance once in 2^128.
                assert!(out.windows(16).all(|window| window != [0; 16]));
            }
        }
    }

    #[test]
    fn the_route_is_told() {
        let expected = if crate::vdso::Function::find().is_some() { Route::Vdso } else { Route::Call };
        assert_eq!(SystemRng.prepare(), expected);
    }
}
