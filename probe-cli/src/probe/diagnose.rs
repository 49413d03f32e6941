//! What a program of the object sees, in its own words: the object's log, read.

use std::sync::Mutex;

use aya::programs::{RawTracePoint, RawTracePointRunOptions, TestRun as _};
use aya_log::EbpfLogger;
use probe_abi::maps::program;

use super::object::{self, Sizes};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;

/// Runs the object's diagnostic program once and returns what it logged.
///
/// # Errors
///
/// The program is refused, or its log cannot be read.
pub fn diagnose() -> Result<Vec<String>, Refusal> {
    let mut ebpf = object::load(Sizes::SMALLEST, &Scope::default())?;
    let lines = Lines::default();
    let mut logger = EbpfLogger::init_with_logger(&mut ebpf, &lines)
        .map_err(|error| Refusal::new("reading the object's log", error.to_string(), Cause::Unknown))?;
    let program: &mut RawTracePoint = object::program(&mut ebpf, program::DIAGNOSE);
    program.load().map_err(|error| Refusal::from_error(format!("loading {}", program::DIAGNOSE), &error))?;
    program
        .test_run(RawTracePointRunOptions::new())
        .map_err(|error| Refusal::from_error(format!("running {}", program::DIAGNOSE), &error))?;
    logger.flush();
    drop(logger);
    Ok(lines.0.into_inner().unwrap_or_default())
}

/// A logger that keeps what is said.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl log::Log for Lines {
    fn enabled(&self, _metadata: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if let Ok(mut lines) = self.0.lock() {
            lines.push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}
