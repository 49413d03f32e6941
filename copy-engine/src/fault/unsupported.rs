//! Targets without an exception table of ours: nothing is installed, and every copy takes the fallback.

use super::error::{InstallError, Unready};
use super::session::FaultRoutine;

/// What a routine says about a fault; never made here.
#[derive(Default)]
pub(super) struct Outcome {
    #[allow(dead_code, reason = "said to routines, of which there are none here")]
    pub(super) retry: u64,
    pub(super) coarse: usize,
    pub(super) counter: u64,
    pub(super) cause: u64,
    pub(super) address: usize,
}

pub(super) fn install() -> Result<(), InstallError> {
    Err(InstallError::Unsupported)
}

pub(super) fn is_installed() -> bool {
    false
}

pub(super) fn readiness() -> Result<(), Unready> {
    Err(Unready::NotInstalled)
}

/// # Safety
///
/// Nothing is touched.
pub(super) unsafe fn run(_: *mut u8, _: *const u8, len: usize, _: &mut Outcome, _: FaultRoutine) -> usize {
    len
}

/// # Safety
///
/// Nothing is touched.
pub(super) unsafe fn clear(_: *mut u8, len: usize) -> usize {
    len
}
