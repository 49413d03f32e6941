//! The program that is traced: started and held before its first instruction, so that nothing of it is missed.
//!
//! A child of this program gives up what is ours (groups, user, signals) and stops itself. Once everything is attached
//! it is told to go on and becomes the program, under the number it had.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Gid, Pid, Uid, getpid, initgroups, setgroups, setresgid, setresuid};

use crate::error::{Error, Result};
use crate::report::file::Owner;
use crate::sys::lifeline;

/// The hidden subcommand that plays the child.
pub const SUBCOMMAND: &str = "hold";

/// How long a program that was asked to end is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A program under way, or held before its beginning. Dropped before its end, it is ended.
#[derive(Debug)]
pub struct Traced {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Traced {
    /// Starts `command` and holds it.
    ///
    /// # Errors
    ///
    /// There is no such program, or it may not be run.
    pub fn hold(command: &[OsString]) -> Result<Self> {
        let name = command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = |source: io::Error| Error::Command { program: name.clone(), source };
        let program = find(Path::new(command.first().map_or_else(Default::default, |name| name.as_os_str())))
            .map_err(failed)?;
        let own = std::env::current_exe().map_err(failed)?;
        let child = Command::new(own)
            .arg(SUBCOMMAND)
            .arg(std::process::id().to_string())
            .arg(program)
            .args(command)
            .spawn()
            .map_err(failed)?;
        let mut traced = Self { child, ended: None };
        loop {
            match waitpid(traced.pid_of_child(), Some(WaitPidFlag::WUNTRACED)) {
                Ok(WaitStatus::Stopped(..)) => return Ok(traced),
                Err(Errno::EINTR) => {}
                Ok(_) => {
                    traced.ended = Some(ExitStatus::default());
                    return Err(failed(io::Error::other("it ended before it began")));
                }
                Err(errno) => return Err(failed(errno.into())),
            }
        }
    }

    fn pid_of_child(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn go(&self) -> Result<()> {
        kill(self.pid_of_child(), Signal::SIGCONT).map_err(|errno| Error::Command {
            program: "the traced program".to_owned(),
            source: errno.into(),
        })
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Asks it to end, if it has not, and waits a little.
    pub fn end(&mut self) {
        if self.ended().is_some() {
            return;
        }
        let _ = kill(self.pid_of_child(), Signal::SIGTERM);
        let _ = kill(self.pid_of_child(), Signal::SIGCONT);
        let asked = Instant::now();
        while self.ended().is_none() && asked.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where a shell would find it.
fn find(program: &Path) -> io::Result<PathBuf> {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.as_os_str().as_bytes().contains(&b'/') {
        return match program.metadata() {
            Err(error) => Err(error),
            Ok(_) if is_program(program) => Ok(program.to_owned()),
            Ok(_) => Err(io::ErrorKind::PermissionDenied.into()),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| is_program(path))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Plays the child: gives up what is ours, stops, and becomes `program` with `arguments`, whose first is its name.
/// Returns only what went wrong.
#[must_use]
pub fn become_program(parent: u32, program: &Path, arguments: &[OsString]) -> io::Error {
    let prepare = || -> nix::Result<bool> {
        // As long as it is held it must not outlive who would let it go.
        let parent_is_there = lifeline::end_with(parent)?;
        give_up()?;
        // A change of user cuts the lifeline.
        Ok(parent_is_there && lifeline::end_with(parent)?)
    };
    match prepare() {
        Ok(true) => {}
        Ok(false) => return io::Error::other("whoever traces it is gone"),
        Err(errno) => return errno.into(),
    }
    close_others();
    if let Err(errno) = kill(getpid(), Signal::SIGSTOP) {
        return errno.into();
    }
    if let Err(errno) = prctl::set_pdeathsig(None) {
        return errno.into();
    }
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.clone(), rest),
        None => (program.as_os_str().to_owned(), &[][..]),
    };
    // Also puts the signals back that Rust programs ignore.
    Command::new(program).arg0(name).args(rest).exec()
}

/// Closes all descriptors but the three standard ones: whatever else is open is not meant for the program.
fn close_others() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The one that the folder was read by is closed already.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Becomes the user behind sudo, with that user's groups; without one only groups of root's are given up.
fn give_up() -> nix::Result<()> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    let Some(owner) = Owner::invoking_user() else {
        return setgroups(&[]);
    };
    let (user, group) = (Uid::from_raw(owner.uid()), Gid::from_raw(owner.gid()));
    let name = nix::unistd::User::from_uid(user)?.and_then(|user| CString::new(user.name).ok());
    match name {
        Some(name) => initgroups(&name, group)?,
        None => setgroups(&[])?,
    }
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find(Path::new("sh")).unwrap().ends_with("sh"));
        assert!(find(Path::new("/bin/sh")).is_ok());
        assert_eq!(find(Path::new("no-such-program")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(find(Path::new("/etc/passwd")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(find(Path::new("")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
