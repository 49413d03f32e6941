//! The engine of the whole process, and functions for those who need no other.

use std::sync::OnceLock;

use crate::arch::Batch;
use crate::engine::Engine;
use crate::policy::NextUse;
use crate::receipt::{Receipt, Tally};

static SHARED: OnceLock<Engine> = OnceLock::new();

/// The engine that [`copy`], [`copy_for`] and [`batch`] use: what [`share`] was given, else [`Engine::detect`] once.
#[inline]
pub fn shared() -> &'static Engine {
    SHARED.get_or_init(Engine::detect)
}

/// Makes `engine` the one of the whole process; to be called before the first copy.
///
/// # Errors
///
/// The engine comes back if one is in force already: routines do not change under a running program.
#[expect(clippy::result_large_err, reason = "asked once in the life of a process")]
pub fn share(engine: Engine) -> Result<(), Engine> {
    SHARED.set(engine)
}

/// Copies `src` over `dst` when nobody knows what comes next.
///
/// # Panics
///
/// If the lengths differ.
#[inline]
pub fn copy(dst: &mut [u8], src: &[u8]) -> Receipt {
    copy_for(dst, src, NextUse::Unknown)
}

/// Copies `src` over `dst`, which is used next as `next` says.
///
/// # Panics
///
/// If the lengths differ.
#[inline]
pub fn copy_for(dst: &mut [u8], src: &[u8], next: NextUse) -> Receipt {
    shared().copy(dst, src, next)
}

/// Runs many copies and fences once; [`Engine::batch`] says how.
///
/// # Panics
///
/// If the closure does; what it copied before has been fenced by then.
#[inline]
pub fn batch<'d, R>(copies: impl FnOnce(&mut Batch<'d>) -> R) -> (R, Tally) {
    shared().batch(copies)
}
