//! Why a comparison could not be measured.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a comparison could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No CPU to use.
    #[error("{comparison} needs a CPU to run on; --cpus names none")]
    NoCpu {
        /// The comparison.
        comparison: String,
    },
    /// A CPU that this process may not use.
    #[error(
        "{comparison} cannot use CPU {cpu}: this process may run on {allowed:?} (--cpus, taskset, cpuset)"
    )]
    Cpu {
        /// The comparison.
        comparison: String,
        /// The CPU asked for.
        cpu: usize,
        /// Those that are allowed.
        allowed: Vec<usize>,
    },
    /// `--threads` leaves nothing.
    #[error("{comparison} has no case with {threads:?} tasks; it has cases with {available:?}")]
    NoCase {
        /// The comparison.
        comparison: String,
        /// What was asked for.
        threads: Vec<usize>,
        /// What there is.
        available: Vec<usize>,
    },
    /// This program does not know where it is.
    #[error("the path of this program cannot be found; was it replaced while running?")]
    Program(#[source] io::Error),
    /// A launch could not be started or talked to.
    #[error("launch {launch} of {comparison} cannot be started as {}", program.display())]
    Start {
        /// The comparison.
        comparison: String,
        /// Which launch.
        launch: u16,
        /// What was started.
        program: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A launch failed.
    #[error("launch {launch} of {comparison} failed ({status}); its last words: {stderr}")]
    Failed {
        /// The comparison.
        comparison: String,
        /// Which launch.
        launch: u16,
        /// How it ended.
        status: ExitStatus,
        /// The end of its stderr.
        stderr: String,
    },
    /// A launch ended well and said something else than a record.
    #[error("launch {launch} of {comparison} ended without a record that can be read")]
    Record {
        /// The comparison.
        comparison: String,
        /// Which launch.
        launch: u16,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}
