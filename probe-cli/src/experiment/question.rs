//! What an experiment asks of the running kernel, as data: the calls to make, and the ways to trace them.

/// Something to ask of the running kernel.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What is traced, as a TARGET.
    pub target: &'static str,
    /// What the row answers, and what it includes that a row of the lab does not.
    pub question: &'static str,
    /// The calls to make.
    pub load: Load,
    /// Tasks that make them at a time, each pinned to a CPU in turn.
    pub tasks: usize,
    /// Ways to trace them, best first.
    pub candidates: &'static [Candidate],
}

/// Calls that a task makes, one after the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Load {
    /// read(2) of this many bytes of /dev/urandom.
    ReadUrandom {
        /// Bytes a call.
        bytes: usize,
    },
    /// getrandom(2) of this many bytes, past the C library.
    Getrandom {
        /// Bytes a call.
        bytes: usize,
    },
    /// pwrite(2) of this many bytes to a file of a tmpfs, 2000 blocks over and over, all of whose pages are there.
    PwriteTmpfs {
        /// Bytes a call.
        bytes: usize,
    },
    /// A connection over the loopback device, asked for, accepted and closed by the same task: accept4(2).
    Accept,
    /// The same connection; what is traced is something that the kernel does for it, any number of times.
    Connect,
    /// pread(2) of this many bytes of this program's own file past the page cache, so that the disk interrupts a CPU for
    /// each; what is traced is what the kernel does with interrupts, whomever they meet.
    DirectRead {
        /// Bytes a call; a multiple of the disk's block.
        bytes: usize,
    },
    /// None from outside: a program in the kernel makes the calls, and times them itself.
    InKernel {
        /// Bytes a call, where calls have a size.
        bytes: Option<usize>,
    },
}

impl Load {
    /// Bytes a call, where calls have a size.
    #[must_use]
    pub const fn bytes(self) -> Option<usize> {
        match self {
            Self::ReadUrandom { bytes } | Self::Getrandom { bytes } | Self::PwriteTmpfs { bytes } => {
                Some(bytes)
            }
            // What is traced has no size, though the read that causes it has one.
            Self::Accept | Self::Connect | Self::DirectRead { .. } => None,
            Self::InKernel { bytes } => bytes,
        }
    }

    /// How the calls and what is traced belong together.
    #[must_use]
    pub const fn traced(self) -> Traced {
        match self {
            Self::Connect => Traced::ForOurCalls,
            Self::DirectRead { .. } => Traced::Anywhere,
            _ => Traced::OurCalls,
        }
    }
}

/// What is traced, seen from the calls of a load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Traced {
    /// Each call, once.
    OurCalls,
    /// Something that happens in the tasks while they make their calls.
    ForOurCalls,
    /// Something that happens to whoever is running.
    Anywhere,
}

/// A way to trace the calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Candidate {
    /// A kernel function, by fentry and fexit.
    Function(&'static str),
    /// A system call, by its own events.
    SyscallEvents(&'static str),
    /// A system call, by the points that all pass.
    RawSyscall(&'static str),
    /// A function that a timer runs, by the events around it.
    Timer(&'static str),
    /// A primitive that a program calls in a loop of its own: no probe, and no load from user space.
    Called(&'static str),
}
