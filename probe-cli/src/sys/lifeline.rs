//! A child that ends when its parent does, however the parent ends.

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

/// Has the kernel kill this process when the thread that started it ends.
///
/// Returns false if `parent` was gone before that was arranged: then the caller should end by itself.
///
/// # Errors
///
/// What the kernel answered.
pub fn end_with(parent: u32) -> Result<bool, Errno> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Asked after the arrangement: a parent that ended before it is seen here, a later end is signalled.
    Ok(i32::try_from(parent).is_ok_and(|parent| getppid() == Pid::from_raw(parent)))
}
