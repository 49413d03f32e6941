//! Why something could not be done, in terms of what the user can change.

use std::{error, fmt::Write as _, io, path::PathBuf, process::ExitCode};

use crate::{
    harness::{launch::LaunchError, run_error::RunError},
    probe::refusal::Refusal,
    report::text::safe,
};

/// What went wrong. Each message tells the next step, and none repeats its source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No experiment has this name.
    #[error(
        "no experiment is called `{}`{}; `probe-cli list` shows them all",
        safe(name),
        nearest(candidates)
    )]
    UnknownExperiment {
        /// What was typed.
        name: String,
        /// Names that are near to it, nearest first.
        candidates: Vec<String>,
    },
    /// No primitive or target has this name.
    #[error(
        "nothing that can be {how} is called `{}`{}; `probe-cli list` shows all",
        safe(name),
        nearest(candidates)
    )]
    UnknownTarget {
        /// What was typed.
        name: String,
        /// What was to be done with it, as a participle.
        how: &'static str,
        /// Names that are near to it, nearest first.
        candidates: Vec<String>,
    },
    /// A target is not written as targets are.
    #[error("`{}` is no target: {why}; `probe-cli trace --help` shows how targets are written", safe(target))]
    BadTarget {
        /// What was typed.
        target: String,
        /// What is wrong with it.
        why: String,
    },
    /// A target is there and cannot, or must not, be traced.
    #[error("`{}` cannot be traced: {}", safe(target), safe(why))]
    NotTraceable {
        /// What was typed.
        target: String,
        /// Why.
        why: String,
    },
    /// Two flags do not go together, or a value means nothing.
    #[error("{}", safe(.0))]
    Usage(String),
    /// Nothing could be attached, since this environment does not allow it.
    #[error("nothing could be attached: {}; `probe-cli doctor` says what works here", safe(.0))]
    NothingAttached(String),
    /// Capabilities are missing.
    #[error("{} {} not held, and tracing needs {}; run as root, or: sudo setcap {} PATH-OF-PROBE-CLI", .0.join(" and "), if .0.len() == 1 { "is" } else { "are" }, if .0.len() == 1 { "it" } else { "them" }, setcap(.0))]
    Capabilities(Vec<&'static str>),
    /// Too many calls were lost, or a target was hit too often.
    #[error("{}", safe(.0))]
    Quality(String),
    /// The traced program could not be started.
    #[error("{} could not be started", safe(program))]
    Command {
        /// What was to be run.
        program: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A CPU that is not online, or not allowed to this process.
    #[error("CPU {cpu} cannot be used; this process may run on {allowed}")]
    CpuNotHere {
        /// The first one that was asked for and is not there.
        cpu: u32,
        /// The list of those that are.
        allowed: String,
    },
    /// A NUMA node that is not there.
    #[error("there is no NUMA node {node}; /sys/devices/system/node lists those there are")]
    NodeNotHere {
        /// The node that was asked for.
        node: u32,
    },
    /// One stream cannot hold several documents.
    #[error("this form is one document and {} would be a second; print them one by one", safe(&second.to_string_lossy()))]
    OneDocument {
        /// The second file.
        second: PathBuf,
    },
    /// A file could not be written.
    #[error("{} could not be written; name a folder that exists, is yours and has room", safe(&path.to_string_lossy()))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A file called `-`, which means standard output elsewhere.
    #[error("`-` is no file; `-f json` puts the document on standard output, and ./- is a file")]
    Dash,
    /// The file to write is a symbolic link.
    #[error("{} is a symbolic link, and links are not followed; name the file itself", safe(&path.to_string_lossy()))]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// The rights of the user behind sudo could not be taken on.
    #[error(
        "files could not be opened with the rights of user {uid} (SUDO_UID); run as that user, or without sudo"
    )]
    UserRights {
        /// That user.
        uid: u32,
    },
    /// A file could not be read.
    #[error("{} could not be read", safe(&path.to_string_lossy()))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A file is neither report nor session.
    #[error("{} is neither a report nor a session of this tool; `probe-cli run --json FILE` and `probe-cli trace --save FILE` write them", safe(&path.to_string_lossy()))]
    NotAReport {
        /// The file.
        path: PathBuf,
        /// Where reading it ended.
        source: serde_json::Error,
    },
    /// A file is of another kind or version.
    #[error(
        "{} says that it is `{}`, and this version reads `{}` and `{}`; read it with the version that wrote it",
        safe(&path.to_string_lossy()),
        safe(schema),
        crate::report::model::SCHEMA,
        crate::trace::document::SCHEMA
    )]
    OtherSchema {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        schema: String,
    },
    /// A file is larger than any report.
    #[error("{} has more than {} MiB, and no report is so large; is it the right file?", safe(&path.to_string_lossy()), most >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Most bytes that are read.
        most: u64,
    },
    /// A report holds a number that JSON cannot say.
    #[error("the report holds a number that is not finite, which is a fault of this tool; please report it")]
    NotANumber(#[source] serde_json::Error),
    /// Standard output could not be written. A closed pipe is not a failure: see [`Error::is_closed_pipe`].
    #[error("standard output could not be written")]
    Stdout(#[source] io::Error),
    /// Signals could not be taken over.
    #[error("the handling of Ctrl-C could not be set up")]
    Signals(#[source] io::Error),
    /// The kernel did not tell which CPUs may be used.
    #[error("the kernel did not tell on which CPUs this process may run; name them with --cpus")]
    Affinity(#[source] io::Error),
    /// The event loop could not be started.
    #[error(
        "the event loop that watches over launches could not be started; is the limit of open files reached?"
    )]
    Runtime(#[source] io::Error),
    /// An experiment could not be measured.
    #[error("the run ended early; nothing was written")]
    Run(#[source] RunError),
    /// One of several experiments could not be measured.
    #[error("{name} is missing from the report, which has the others")]
    Unmeasured {
        /// The experiment.
        name: &'static str,
        /// Why.
        source: RunError,
    },
    /// The machine could not be put into a state.
    #[error("{what} failed: {why}; the command was: {}", safe(command))]
    State {
        /// Set-up of a side, or undo.
        what: String,
        /// The command.
        command: String,
        /// What went wrong.
        why: String,
    },
    /// A launch of a side failed.
    #[error(
        "a launch of {side} ended with {status}; --show-output shows what it prints, --ignore-failure goes on"
    )]
    LaunchFailed {
        /// The side.
        side: &'static str,
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// Rows of a comparison got slower.
    #[error("{rows} {} slower", if *rows == 1 { "row got" } else { "rows got" })]
    Regression {
        /// How many.
        rows: usize,
    },
    /// A comparison in which no row could be compared.
    #[error("no row could be compared: {}", safe(.0))]
    NothingComparable(String),
    /// A launch could not be done.
    #[error("a launch measured nothing; `launch` is for `probe-cli run` alone")]
    Launch(#[source] LaunchError),
    /// The kernel, or this build, would not.
    #[error("this environment cannot do that; `probe-cli doctor` says what it can")]
    Refused(#[source] Refusal),
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The exit code that CLI users and scripts rely on.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::UnknownExperiment { .. }
            | Self::CpuNotHere { .. }
            | Self::NodeNotHere { .. }
            | Self::OneDocument { .. }
            | Self::Dash => 2,
            Self::UnknownTarget { .. } | Self::NotTraceable { .. } => 4,
            Self::BadTarget { .. } | Self::Usage(_) => 2,
            Self::NothingAttached(_) | Self::Capabilities(_) => 3,
            Self::Quality(_) => 5,
            Self::Write { .. }
            | Self::Command { .. }
            | Self::SymbolicLink { .. }
            | Self::UserRights { .. }
            | Self::Read { .. }
            | Self::NotAReport { .. }
            | Self::OtherSchema { .. }
            | Self::TooLarge { .. }
            | Self::NotANumber(_)
            | Self::Stdout(_)
            | Self::Signals(_)
            | Self::Affinity(_)
            | Self::Runtime(_)
            | Self::Unmeasured { .. }
            | Self::State { .. }
            | Self::LaunchFailed { .. }
            | Self::NothingComparable(_)
            | Self::Launch(_) => 1,
            Self::Run(RunError::NoCpu { .. } | RunError::NoCase { .. }) => 2,
            Self::Run(_) => 1,
            Self::Refused(_) => 3,
            Self::Regression { .. } => 10,
        })
    }

    /// Whether the reader of standard output has gone, which ends a program quietly.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// An error and its causes on one line, outermost first, each once.
#[must_use]
pub fn chain(error: &dyn error::Error) -> String {
    let mut line = error.to_string();
    let mut last = line.clone();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Transparent wrappers print what they wrap.
        if !last.ends_with(&text) {
            let _ = write!(line, ": {text}");
        }
        last = text;
        cause = error.source();
    }
    line
}

fn setcap(missing: &[&str]) -> String {
    format!("{}=ep", missing.join(",").to_lowercase())
}

fn nearest(candidates: &[String]) -> String {
    match candidates {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("`{}`", safe(name))).collect();
            format!(" (did you mean {}?)", names.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_says_each_cause_once() {
        let error = Error::Write { path: "/x".into(), source: io::Error::from_raw_os_error(28) };
        assert_eq!(
            chain(&error),
            "/x could not be written; name a folder that exists, is yours and has room: No space left on device (os error 28)"
        );
    }

    #[test]
    fn what_was_typed_cannot_reach_the_terminal_raw() {
        let error = Error::UnknownExperiment { name: "\x1b[2J".into(), candidates: vec!["pool-mix".into()] };
        assert_eq!(
            error.to_string(),
            "no experiment is called `\\u{1b}[2J` (did you mean `pool-mix`?); `probe-cli list` shows them all"
        );
    }
}
