//! Whose calls are counted, which of them, and how they are told apart: the part of a question that every mechanism
//! keeps to, in the kernel.

use probe_abi::maps::By;
use probe_abi::pairing::MAX_DEPTH;
use probe_abi::size::Classes;

/// What is counted. The default is every call of everybody, timed, in one row a target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Scope {
    /// Only this process, by its number in the kernel's first namespace; 0 for all.
    pub process: u32,
    /// Only this thread, likewise.
    pub thread: u32,
    /// Not this process; 0 for none.
    pub excluded: u32,
    /// Only these processes, their children and theirs; empty for no such limit.
    pub followed: Vec<u32>,
    /// Only threads of this name, at most 15 bytes.
    pub comm: Option<String>,
    /// Only this cgroup and those below it.
    pub cgroup: Option<Cgroup>,
    /// Only calls that begin on one of these CPUs.
    pub cpus: Option<Vec<u32>>,
    /// Smallest and largest size, both inclusive.
    pub sizes: Option<(u64, u64)>,
    /// Whether sizes are told apart.
    pub classes: Classes,
    /// By whom calls are told apart.
    pub by: By,
    /// Whether the CPUs that calls end on are told apart.
    pub per_cpu: bool,
    /// Nested calls of one function that are timed, 1 to [`MAX_DEPTH`].
    pub depth: u32,
    /// Count entries, and time nothing.
    pub count_only: bool,
    /// Report each call that takes so long by itself, ns; 0 for none.
    pub slow_ns: u64,
}

/// A cgroup of the unified hierarchy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cgroup {
    /// Its number, which is that of its folder.
    pub id: u64,
    /// Folders between it and the root.
    pub level: u32,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            process: 0,
            thread: 0,
            excluded: 0,
            followed: Vec::new(),
            comm: None,
            cgroup: None,
            cpus: None,
            sizes: None,
            classes: Classes::One,
            by: By::Nobody,
            per_cpu: false,
            depth: MAX_DEPTH as u32,
            count_only: false,
            slow_ns: 0,
        }
    }
}

impl Scope {
    /// This process.
    #[must_use]
    pub fn own_process() -> Self {
        Self { process: std::process::id(), ..Self::default() }
    }

    /// The calling thread.
    #[must_use]
    pub fn own_thread() -> Self {
        let thread = nix::unistd::gettid().as_raw();
        Self { thread: thread.cast_unsigned(), ..Self::own_process() }
    }

    /// The same, with sizes told apart.
    #[must_use]
    pub fn by_size(self) -> Self {
        Self { classes: Classes::BySize, ..self }
    }

    /// Whether where a size is matters: it is told apart or filtered by.
    #[must_use]
    pub fn wants_sizes(&self) -> bool {
        self.classes == Classes::BySize || self.sizes.is_some()
    }

    /// The name filter as the programs compare it.
    pub(crate) fn comm_words(&self) -> [u64; 2] {
        let mut name = [0; 16];
        for (to, from) in name[..15].iter_mut().zip(self.comm.iter().flat_map(|comm| comm.bytes())) {
            *to = from;
        }
        let word = |half: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&name[8 * half..8 * half + 8]);
            u64::from_ne_bytes(bytes)
        };
        [word(0), word(1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_compared_whole_and_cut_where_the_kernel_cuts_it() {
        let words = |name: &str| Scope { comm: Some(name.into()), ..Scope::default() }.comm_words();
        assert_eq!(Scope::default().comm_words(), [0, 0]);
        assert_eq!(words("abc"), [u64::from_ne_bytes(*b"abc\0\0\0\0\0"), 0]);
        assert_eq!(words("0123456789abcdefgh"), words("0123456789abcde"));
    }
}
