//! The ways of this process: the vDSO with a state for each thread, the call, the device.

use core::cell::OnceCell;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
    sync::atomic::{AtomicBool, Ordering},
};

use super::chain::{Unseeded, Ways};
use crate::vdso::{self, Errno, Function, State};

/// This thread's state, given back when the thread ends.
struct Slot(OnceCell<Option<State>>);

std::thread_local! {
    static SLOT: Slot = const { Slot(OnceCell::new()) };
}

/// Calls `with` with this thread's state: made at the first call, which allocates and maps memory; none if the kernel
/// has no function or maps no memory, or the thread is already giving back what it had.
#[inline]
pub(super) fn with_state<R>(with: impl FnOnce(&State) -> R) -> Option<R> {
    let with = |slot: &Slot| slot.state().map(with);
    SLOT.try_with(with).ok()?
}

impl Slot {
    #[inline]
    fn state(&self) -> Option<&State> {
        if self.0.get().is_none() {
            // Not `get_or_init`, which panics if a signal handler comes in between and is quicker.
            let _ = self.0.set(borrow());
        }
        self.0.get()?.as_ref()
    }
}

#[cold]
fn borrow() -> Option<State> {
    State::borrow_for_this_thread(Function::find()?)
}

/// What the process has.
pub(super) struct Here;

impl Unseeded {
    const fn flags(self) -> u32 {
        match self {
            Self::Wait => 0,
            Self::Fail => libc::GRND_NONBLOCK,
        }
    }
}

impl Ways for Here {
    #[inline]
    fn vdso(&mut self, out: &mut [u8], unseeded: Unseeded) -> Option<Result<usize, Errno>> {
        with_state(|state| state.fill(out, unseeded.flags()))
    }

    fn call(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno> {
        vdso::getrandom(out, unseeded.flags())
    }

    fn device(&mut self, out: &mut [u8], unseeded: Unseeded) -> Result<usize, Errno> {
        device(out, unseeded).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Errno(libc::EAGAIN),
            _ => Errno(error.raw_os_error().unwrap_or(libc::ENODEV)),
        })
    }
}

/// Opened for each draw and closed after it: a program that closes what it does not know, as daemons do, would leave us
/// with the number of another file.
fn device(out: &mut [u8], unseeded: Unseeded) -> io::Result<usize> {
    const RANDOM: (&str, u32) = ("/dev/random", 8);
    const URANDOM: (&str, u32) = ("/dev/urandom", 9);
    static SEEDED: AtomicBool = AtomicBool::new(false);
    // `/dev/urandom` never says "not yet", and `/dev/random` does: one byte of it is proof.
    if !SEEDED.load(Ordering::Relaxed) {
        open(RANDOM, unseeded)?.read_exact(&mut [0])?;
        SEEDED.store(true, Ordering::Relaxed);
    }
    open(URANDOM, unseeded)?.read(out)
}

/// The file, if it is the device that it is taken for: in a root directory of somebody's own it may be anything.
fn open((path, minor): (&str, u32), unseeded: Unseeded) -> io::Result<File> {
    let flags = if unseeded == Unseeded::Fail { libc::O_NONBLOCK } else { 0 };
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if metadata.file_type().is_char_device() && metadata.rdev() == libc::makedev(1, minor) {
        return Ok(file);
    }
    Err(io::Error::from_raw_os_error(libc::ENODEV))
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::*;

    #[test]
    fn the_device_gives_bytes_and_the_wrong_file_does_not() {
        for unseeded in [Unseeded::Wait, Unseeded::Fail] {
            let mut bytes = [0; 64];
            assert_eq!(device(&mut bytes, unseeded).unwrap(), 64);
            assert_ne!(bytes, [0; 64]);
        }
        let error = open(("/dev/zero", 9), Unseeded::Wait).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        assert!(open(("/proc/self/exe", 9), Unseeded::Wait).is_err());
    }

    #[test]
    fn every_way_gives_all_that_is_asked_for() {
        let mut bytes = [[0; 48]; 3];
        let [one, two, three] = &mut bytes;
        assert_eq!(Here.call(one, Unseeded::Fail), Ok(48));
        assert_eq!(Here.device(two, Unseeded::Wait), Ok(48));
        match Here.vdso(three, Unseeded::Wait) {
            Some(answer) => assert_eq!(answer, Ok(48)),
            None => std::eprintln!("skipped: this kernel has no getrandom in its vDSO"),
        }
        assert!(bytes[0] != bytes[1] && bytes[1] != bytes[2]);
    }
}
