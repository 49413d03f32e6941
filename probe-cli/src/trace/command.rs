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
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::time::{TimeVal, TimeValLike as _};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Gid, Pid, Uid, getpid, initgroups, setgroups, setresgid, setresuid};

use crate::error::{Error, Result};
use crate::report::file::Owner;
use crate::sys::lifeline;

/// The hidden subcommand that plays the child.
pub const SUBCOMMAND: &str = "hold";

/// How long a program that was asked to end is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often whoever waits looks whether to go on.
const GLANCE: Duration = Duration::from_millis(50);

/// A program under way, or held before its beginning. Dropped before its end, it is ended.
#[derive(Debug)]
pub struct Traced {
    child: Child,
    ended: Option<ExitStatus>,
    /// It leads a process group of its own, so that what it starts ends with it.
    leads: bool,
    /// CPU time that went into holding it.
    held: Duration,
}

/// How a program that was waited for ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// With which status.
    pub status: ExitStatus,
    /// When.
    pub at: Instant,
    /// CPU time of it and of its children that it waited for, user and system.
    pub cpu: Duration,
}

impl Traced {
    /// Starts `command` and holds it.
    ///
    /// # Errors
    ///
    /// There is no such program, or it may not be run.
    pub fn hold(command: &[OsString]) -> Result<Self> {
        Self::start(command, false, |_| ())
    }

    /// The same for a program that nobody looks at: it reads nothing, leads a process group of its own, and what it
    /// prints is seen only where `shown`.
    ///
    /// # Errors
    ///
    /// As for [`Self::hold`].
    pub fn hold_apart(command: &[OsString], shown: bool) -> Result<Self> {
        let apart = |child: &mut Command| {
            child.stdin(Stdio::null()).process_group(0);
            if !shown {
                child.stdout(Stdio::null()).stderr(Stdio::null());
            }
        };
        Self::start(command, true, apart)
    }

    fn start(command: &[OsString], leads: bool, prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let name = command.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = |source: io::Error| Error::Command { program: name.clone(), source };
        let program = find(Path::new(command.first().map_or_else(Default::default, |name| name.as_os_str())))
            .map_err(failed)?;
        let own = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(own);
        child.arg(SUBCOMMAND).arg(std::process::id().to_string()).arg(program).args(command);
        prepare(&mut child);
        let mut traced =
            Self { child: child.spawn().map_err(failed)?, ended: None, leads, held: Duration::ZERO };
        loop {
            match waitpid(traced.pid_of_child(), Some(WaitPidFlag::WUNTRACED)) {
                Ok(WaitStatus::Stopped(..)) => {
                    traced.held = cpu_of(traced.process());
                    return Ok(traced);
                }
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

    /// Waits for its end, unless `stop` says to stop waiting, which is asked every twentieth of a second.
    ///
    /// CPU time is right as long as no other thread waits for children.
    pub fn wait(&mut self, stop: &dyn Fn() -> bool) -> Option<Ended> {
        let child = self.pid_of_child();
        let (send, receive) = mpsc::channel();
        // It is left unreaped, so its number stays its own. Should nobody wait any more, the thread ends with it.
        let watch = move || {
            while waitid(Id::Pid(child), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
            let _ = send.send(Instant::now());
        };
        std::thread::Builder::new().name("wait".into()).spawn(watch).ok()?;
        loop {
            match receive.recv_timeout(GLANCE) {
                Ok(at) => {
                    let before = children_cpu();
                    let status = self.ended()?;
                    let cpu = children_cpu().saturating_sub(before).saturating_sub(self.held);
                    return Some(Ended { status, at, cpu });
                }
                Err(RecvTimeoutError::Timeout) if !stop() => {}
                Err(_) => return None,
            }
        }
    }

    /// Asks it to end, if it has not, and waits a little; a group that it leads is ended for good.
    pub fn end(&mut self) {
        if self.ended().is_none() {
            self.signal(Signal::SIGTERM);
            self.signal(Signal::SIGCONT);
            let asked = Instant::now();
            while self.ended().is_none() && asked.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        if self.leads {
            // Also what the leader left behind. A group without members is no error.
            self.signal(Signal::SIGKILL);
            if self.ended.is_none() {
                self.ended = self.child.wait().ok();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let child = self.pid_of_child();
        let _ = if self.leads { killpg(child, signal) } else { kill(child, signal) };
    }
}

/// CPU time of a process of one thread up to now; nothing where the kernel does not tell.
fn cpu_of(process: u32) -> Duration {
    let told = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let ns = told.split_ascii_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

/// CPU time of all children that were waited for.
fn children_cpu() -> Duration {
    let part = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_or(Duration::ZERO, |usage| part(usage.user_time()) + part(usage.system_time()))
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
