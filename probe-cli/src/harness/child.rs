//! A launch as its parent sees it: a child process with orders, a record and last words.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::Notify;

use super::record::{LaunchRecord, LaunchSpec};
use super::run_error::RunError;

/// The hidden subcommand that a launch is started with.
pub const SUBCOMMAND: &str = "launch";

/// How a launch is started: orders go to its stdin, its record comes from its stdout.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// This program with the hidden subcommand.
    ///
    /// # Errors
    ///
    /// The path of this program cannot be found.
    pub fn this_program() -> Result<Self, RunError> {
        let program = std::env::current_exe().map_err(RunError::Program)?;
        Ok(Self { program, arguments: vec![SUBCOMMAND.into()] })
    }
}

/// Bytes of a failed launch's stderr that its error shows.
const TAIL: usize = 2000;

/// A launch under way. Dropped before its end, it is ended.
pub(super) struct Launch {
    child: Child,
    program: PathBuf,
    comparison: String,
    number: u16,
    stdout: Option<JoinHandle<Vec<u8>>>,
    /// Told when stdout ends, which is when the launch does.
    ended: Arc<Notify>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Launch {
    /// Starts it and hands it its orders.
    pub(super) fn start(launcher: &Launcher, spec: LaunchSpec) -> Result<Self, RunError> {
        let failed = |source: io::Error| RunError::Start {
            comparison: spec.comparison.clone(),
            launch: spec.launch,
            program: launcher.program.clone(),
            source,
        };
        let mut child = Command::new(&launcher.program)
            .args(&launcher.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C on the terminal is for the parent alone, which then decides.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let orders = serde_json::to_vec(&spec).map_err(|error| failed(error.into()))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ended = Arc::new(Notify::new());
        let launch = Self {
            ended: Arc::clone(&ended),
            child,
            program: launcher.program.clone(),
            comparison: spec.comparison.clone(),
            number: spec.launch,
            stdout: stdout.map(|mut pipe| {
                thread::spawn(move || {
                    let mut all = Vec::new();
                    // A pipe that breaks ends the record, which then cannot be read: told there.
                    let _ = pipe.read_to_end(&mut all);
                    ended.notify_one();
                    all
                })
            }),
            stderr: stderr.map(|pipe| thread::spawn(move || pass_on(pipe))),
        };
        // Dropping the pipe ends the orders. A launch that does not read them says why by its exit status.
        match stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&orders)) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
            _ => Ok(launch),
        }
    }

    /// Returns once its stdout has ended.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// How it ended, if it has.
    pub(super) fn poll(&mut self) -> Result<Option<ExitStatus>, RunError> {
        self.child.try_wait().map_err(|source| RunError::Start {
            comparison: self.comparison.clone(),
            launch: self.number,
            program: self.program.clone(),
            source,
        })
    }

    /// What it measured, or why it did not; `status` is how it ended.
    pub(super) fn record(mut self, status: ExitStatus) -> Result<LaunchRecord, RunError> {
        let join = |thread: Option<JoinHandle<Vec<u8>>>| thread.and_then(|thread| thread.join().ok());
        let stdout = join(self.stdout.take()).unwrap_or_default();
        let stderr = join(self.stderr.take()).unwrap_or_default();
        let (comparison, launch) = (self.comparison.clone(), self.number);
        if !status.success() {
            let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
            return Err(RunError::Failed { comparison, launch, status, stderr });
        }
        serde_json::from_slice(&stdout).map_err(|source| RunError::Record { comparison, launch, source })
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // Both fail only for a child that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies a launch's stderr to ours as it comes, and returns the end of it.
fn pass_on(mut from: impl Read) -> Vec<u8> {
    let (mut tail, mut buffer) = (Vec::new(), [0; 1024]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return tail,
            Ok(len) => {
                // Nobody may be listening to our stderr, and the tail is kept all the same.
                let _ = io::stderr().write_all(&buffer[..len]);
                tail.extend_from_slice(&buffer[..len]);
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return tail,
        }
    }
}
