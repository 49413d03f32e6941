//! The state of the machine: set up before each launch, and put back once, whatever happens.
//!
//! Set-up and undo are the user's own commands and run with the rights of this program, since they are to change what
//! only those can. They run in a shell and in a process group of their own, which ends with their patience.

use std::{
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use super::plan::Side;
use crate::error::{Error, Result};

/// What puts the machine back. Done when it is dropped, if anything was set up and it was not done before; clones share
/// that.
#[derive(Clone, Debug)]
pub struct Undo {
    command: Option<String>,
    patience: Duration,
    /// Whether there is something to put back.
    due: Arc<Mutex<bool>>,
}

impl Undo {
    /// Nothing is due yet.
    #[must_use]
    pub fn new(command: Option<String>, patience: Duration) -> Self {
        Self { command, patience, due: Arc::default() }
    }

    /// From now on it is due.
    pub fn arm(&self) {
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = self.command.is_some();
    }

    /// Puts the machine back, once. Who comes second waits until that is done.
    ///
    /// # Errors
    ///
    /// The command fails or does not end; what is left to do by hand is in the error.
    pub fn now(&self) -> Result<()> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.command {
            Some(command) if std::mem::take(&mut *due) => run("undo", command, self.patience, &|| false),
            _ => Ok(()),
        }
    }
}

/// Puts the machine into the state of `side`.
///
/// # Errors
///
/// The command fails, does not end in `patience`, or `stop` says to stop.
pub fn set_up(side: Side, command: &str, patience: Duration, stop: &dyn Fn() -> bool) -> Result<()> {
    run(&format!("set-up of {}", side.name()), command, patience, stop)
}

fn run(what: &str, command: &str, patience: Duration, stop: &dyn Fn() -> bool) -> Result<()> {
    let failed = |why: String| Error::State { what: what.to_owned(), command: command.to_owned(), why };
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        // Data is on standard output, and this is none.
        .stdout(std::io::stderr())
        .process_group(0)
        .spawn()
        .map_err(|error| failed(format!("the shell could not be started: {error}")))?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(format!("it ended with {status}"))),
            Ok(None) if begun.elapsed() >= patience => {
                end(&mut child);
                return Err(failed(format!(
                    "it did not end in {} and was stopped",
                    humantime::format_duration(patience)
                )));
            }
            Ok(None) if stop() => {
                end(&mut child);
                return Err(failed("it was interrupted".to_owned()));
            }
            Ok(None) => thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(failed(format!("it could not be waited for: {error}"))),
        }
    }
}

/// Ends it with all that it started.
fn end(child: &mut Child) {
    let group = Pid::from_raw(child.id().cast_signed());
    let _ = killpg(group, Signal::SIGTERM);
    thread::sleep(Duration::from_millis(50));
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_was_set_up_is_put_back_once_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("undone");
        let undo = Undo::new(Some(format!("echo undone >> '{}'", file.display())), LONG);
        undo.now().unwrap();
        assert!(!file.exists(), "nothing had been set up");
        undo.arm();
        undo.clone().now().unwrap();
        undo.now().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "undone\n");
    }

    #[test]
    fn a_set_up_that_fails_hangs_or_is_interrupted_says_so_and_is_gone() {
        let set_up = |command: &str, patience, stop: bool| {
            set_up(Side::A, command, patience, &|| stop).unwrap_err().to_string()
        };
        assert!(set_up("exit 7", LONG, false).contains("exit status: 7"));
        let short = Duration::from_millis(50);
        let words = set_up("sleep 86399 & wait", short, false);
        assert!(words.contains("did not end in 50ms"), "{words}");
        assert!(set_up("sleep 86398", LONG, true).contains("interrupted"));
        let running = Command::new("ps").args(["-eo", "args"]).output().unwrap();
        let running = String::from_utf8_lossy(&running.stdout).into_owned();
        assert!(!running.contains("sleep 8639"), "{running}");
    }
}
