//! How a test ends: done, wrong, or not possible here.

use libtest_mimic::{Completion, Trial};
use probe_cli::probe::refusal::{Cause, Refusal};

/// Why a test stops early.
pub(crate) enum Stop {
    Skip(String),
    Fail(String),
}

pub(crate) type Outcome = Result<(), Stop>;

impl From<Refusal> for Stop {
    /// A refusal that lies in the environment skips; one that lies in us fails.
    fn from(refusal: Refusal) -> Self {
        match refusal.cause {
            Cause::Verifier(_) | Cause::BadFile | Cause::Unknown => Self::Fail(refusal.to_string()),
            _ => Self::Skip(refusal.to_string()),
        }
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Fail(error.to_string())
    }
}

impl From<nix::errno::Errno> for Stop {
    fn from(errno: nix::errno::Errno) -> Self {
        Self::Fail(errno.to_string())
    }
}

pub(crate) fn trial(name: &str, test: fn() -> Outcome) -> Trial {
    Trial::ignorable_test(name, move || match test() {
        Ok(()) => Ok(Completion::Completed),
        Err(Stop::Skip(reason)) => Ok(Completion::ignored_with(reason)),
        Err(Stop::Fail(reason)) => Err(reason.into()),
    })
}

/// Calls `condition` until it holds. Gives up after a time that no working machine takes.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) -> Outcome {
    for _ in 0..2000 {
        if condition() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Err(Stop::Fail(format!("waited in vain until {what}")))
}
