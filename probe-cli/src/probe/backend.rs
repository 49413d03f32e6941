//! The mechanisms by which a row can have been measured.

use std::fmt;

/// How a live row was measured.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Backend {
    /// Trampolines at entry and exit of a kernel function.
    Fentry,
    /// Breakpoints or jumps in a kernel function.
    Kprobe,
    /// The events of one system call.
    Tracepoint,
    /// The points that all system calls pass.
    RawTracepoint,
    /// Breakpoints in a program.
    Uprobe,
    /// Called from a program that is run by request.
    Call,
    /// Nothing could.
    None,
}

impl Backend {
    /// Its name in reports and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fentry => "fentry",
            Self::Kprobe => "kprobe",
            Self::Tracepoint => "tracepoint",
            Self::RawTracepoint => "raw-tracepoint",
            Self::Uprobe => "uprobe",
            Self::Call => "call",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
