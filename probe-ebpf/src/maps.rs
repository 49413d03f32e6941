//! Names of maps, globals and programs, and where a target's rows are.

use crate::size::{self, Classes};

/// Per-CPU array of [`histogram::Row`](crate::histogram::Row), one for each target and size class.
pub const HISTOGRAMS: &str = "HISTOGRAMS";
/// Per-CPU array of [`quality::Counts`](crate::quality::Counts), one for each target.
pub const QUALITY: &str = "QUALITY";
/// Hash of [`pairing::Frame`](crate::pairing::Frame) by thread, or CPU for timers, and target.
pub const FRAMES: &str = "FRAMES";
/// Array from the number of a system call to its target plus one; 0 means not traced.
pub const SYSCALLS: &str = "SYSCALLS";
/// Hash from the address of a kernel function, called or run by a timer, to its target.
pub const FUNCTIONS: &str = "FUNCTIONS";
/// Array from a target to the place of its size, or [`NO_SIZE`]: the index of a function's argument, or the
/// offset of a register in what a raw tracepoint is given.
pub const SIZE_ARGUMENTS: &str = "SIZE_ARGUMENTS";
/// Ring buffer of [`batch::BatchEvent`](crate::batch::BatchEvent).
pub const BATCHES: &str = "BATCHES";
/// Hash from a thread to its open batch.
pub const OPEN_BATCHES: &str = "OPEN_BATCHES";

/// Hash of [`histogram::Row`](crate::histogram::Row) by [`Key`], where calls are told apart by who makes them.
pub const KEYED: &str = "KEYED";
/// Hash of the processes that are followed.
pub const FOLLOWED: &str = "FOLLOWED";
/// Array of bits, one a CPU: whether calls that begin there are counted.
pub const CPUS: &str = "CPUS";
/// Ring buffer of [`slow::SlowCall`](crate::slow::SlowCall).
pub const SLOW_CALLS: &str = "SLOW_CALLS";

/// Global: process whose calls are counted; 0 for all.
pub const PROCESS: &str = "PROCESS";
/// Global: thread whose calls are counted; 0 for all.
pub const THREAD: &str = "THREAD";
/// Global: process whose calls are not counted; 0 for none.
pub const EXCLUDED: &str = "EXCLUDED";
/// Global: whether only processes in [`FOLLOWED`] are counted.
pub const FOLLOW: &str = "FOLLOW";
/// Global: where a task's process number is in the kernel's `task_struct`.
pub const TASK_PROCESS: &str = "TASK_PROCESS";
/// Global: name of the threads whose calls are counted, as its two words; both 0 for all.
pub const COMM: &str = "COMM";
/// Global: cgroup whose calls are counted, those below it among them; 0 for all.
pub const CGROUP: &str = "CGROUP";
/// Global: how deep below the root that cgroup is.
pub const CGROUP_LEVEL: &str = "CGROUP_LEVEL";
/// Global: whether only calls that begin on the CPUs in [`CPUS`] are counted.
pub const BY_CPU: &str = "BY_CPU";
/// Global: smallest size that is counted.
pub const SIZE_MIN: &str = "SIZE_MIN";
/// Global: largest size that is counted, inclusive.
pub const SIZE_MAX: &str = "SIZE_MAX";
/// Global: [`size::count`] of the layout.
pub const CLASSES: &str = "CLASSES";
/// Global: nested calls that are timed.
pub const DEPTH: &str = "DEPTH";
/// Global: [`By::code`].
pub const BY: &str = "BY";
/// Global: whether entries alone are counted, and nothing is timed.
pub const COUNT_ONLY: &str = "COUNT_ONLY";
/// Global: duration from which on a call is reported by itself, ns; 0 for never.
pub const SLOW_NS: &str = "SLOW_NS";

/// Words of [`CPUS`].
pub const CPU_WORDS: u32 = 128;

/// By whom calls are told apart.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum By {
    /// Not at all.
    #[default]
    Nobody,
    /// Process.
    Process,
    /// Name of the thread.
    Comm,
    /// cgroup of the unified hierarchy.
    Cgroup,
}

impl By {
    /// As the programs know it.
    #[must_use]
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// The key of [`KEYED`]: a row, and who.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[repr(C)]
pub struct Key {
    /// Row of the target and class.
    pub row: u32,
    /// Always 0: the kernel compares every byte.
    pub zero: u32,
    /// A process, the two words of a name, or a cgroup.
    pub who: [u64; 2],
}

/// A key as the words that user space reads.
pub type KeyWords = [u64; size_of::<Key>() / 8];

impl Key {
    /// The key that the kernel holds as `words`.
    #[must_use]
    pub const fn from_words(words: KeyWords) -> Self {
        let first = words[0].to_ne_bytes();
        Self {
            row: u32::from_ne_bytes([first[0], first[1], first[2], first[3]]),
            zero: 0,
            who: [words[1], words[2]],
        }
    }
}

/// Marks in a place of [`SIZE_ARGUMENTS`] that the argument points to a structure that holds the size; its offset
/// is in the upper half.
pub const SIZE_IN_FIELD: u32 = 1 << 15;

/// Marks a target whose sizes are not told apart in [`SIZE_ARGUMENTS`].
pub const NO_SIZE: u32 = u32::MAX;
/// Entries of [`SYSCALLS`]: numbers of system calls are below it.
pub const SYSCALL_NUMBERS: u32 = 512;
/// Target under which a thread's or a CPU's one open call is kept where the exit does not tell its target.
pub const ANY_TARGET: u32 = u32::MAX;
/// Offset of `function` in a record of `timer:timer_expire_entry`; user space looks whether it is there.
pub const TIMER_FUNCTION_OFFSET: usize = 24;

/// What every name of a program of ours begins with. The kernel keeps 15 characters of a name.
pub const PROGRAM_PREFIX: &str = "hp_";

/// Names of programs.
pub mod program {
    /// uprobe on the begin marker.
    pub const BATCH_BEGIN: &str = "hp_batch_begin";
    /// uprobe on the end marker.
    pub const BATCH_END: &str = "hp_batch_end";
    /// Tracepoint at the entry of a system call whose size is not told apart.
    pub const SYSCALL_ENTER: &str = "hp_sys_enter";
    /// The same, with the size in argument 1.
    pub const SYSCALL_ENTER_SIZE_1: &str = "hp_sys_enter_s1";
    /// The same, with the size in argument 2.
    pub const SYSCALL_ENTER_SIZE_2: &str = "hp_sys_enter_s2";
    /// Tracepoint at the exit of a system call.
    pub const SYSCALL_EXIT: &str = "hp_sys_exit";
    /// Raw tracepoint at the entry of all system calls.
    pub const RAW_ENTER: &str = "hp_raw_enter";
    /// The same, reading the size from the saved registers, which takes a read of kernel memory.
    pub const RAW_ENTER_SIZED: &str = "hp_raw_enter_sz";
    /// Raw tracepoint at the exit of all system calls.
    pub const RAW_EXIT: &str = "hp_raw_exit";
    /// fentry.
    pub const FUNCTION_ENTER: &str = "hp_func_enter";
    /// fexit.
    pub const FUNCTION_EXIT: &str = "hp_func_exit";
    /// Tracepoint where a timer function is about to run.
    pub const TIMER_ENTER: &str = "hp_timer_enter";
    /// Tracepoint where it has run.
    pub const TIMER_EXIT: &str = "hp_timer_exit";
    /// fentry, reading the size from a field of a structure, which takes a read of kernel memory.
    pub const FUNCTION_ENTER_FIELD: &str = "hp_func_enter_f";
    /// kprobe.
    pub const KPROBE_ENTER: &str = "hp_kprobe_enter";
    /// kretprobe.
    pub const KPROBE_RETURN: &str = "hp_kprobe_ret";
    /// uprobe at the entry of a user function, or at the first of two sites.
    pub const UPROBE_ENTER: &str = "hp_uprobe_enter";
    /// uretprobe of a user function.
    pub const UPROBE_RETURN: &str = "hp_uprobe_ret";
    /// uprobe at the second of two sites.
    pub const UPROBE_END: &str = "hp_uprobe_end";
    /// uprobe at a site that stands alone.
    pub const UPROBE_POINT: &str = "hp_uprobe_point";
    /// Raw tracepoint where a task is born.
    pub const FORK: &str = "hp_fork";
    /// kprobe that does nothing: whether one attaches is all that is asked.
    pub const KPROBE_TRIAL: &str = "hp_kprobe_trial";
    /// uprobe on a user function that does nothing.
    pub const USER_ENTER: &str = "hp_user_enter";
    /// uretprobe on a user function that does nothing.
    pub const USER_RETURN: &str = "hp_user_return";
    /// The loop of the `CALL_` programs without a call.
    pub const CALL_FLOOR: &str = "hp_call_floor";
    /// Calls `bpf_get_prandom_u32`.
    pub const CALL_PRANDOM: &str = "hp_call_prandom";
    /// Calls `bpf_ktime_get_ns`.
    pub const CALL_KTIME: &str = "hp_call_ktime";
    /// Calls `bpf_probe_read_user` for 64 bytes.
    pub const CALL_READ_USER_64: &str = "hp_call_ru_64";
    /// Calls `bpf_probe_read_user` for 4096 bytes.
    pub const CALL_READ_USER_4096: &str = "hp_call_ru_4096";
    /// Calls `bpf_probe_read_kernel` for 64 bytes.
    pub const CALL_READ_KERNEL_64: &str = "hp_call_rk_64";
    /// Calls `bpf_probe_read_kernel` for 4096 bytes.
    pub const CALL_READ_KERNEL_4096: &str = "hp_call_rk_4096";
    /// `bpf_fib_lookup` of [`route::DESTINATION`](crate::route::DESTINATION).
    pub const CALL_FIB_LOOKUP: &str = "hp_call_fib";
    /// Says through the object's log what a program sees.
    pub const DIAGNOSE: &str = "hp_diagnose";
}

/// Calls in one run of a `CALL_` program.
pub const CALLS_PER_RUN: u32 = 1000;
/// What a `CALL_` program returns when a call failed, in place of nanoseconds.
pub const CALL_FAILED: u32 = u32::MAX;

/// Where the rows of each target are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Layout {
    /// Number of targets.
    pub targets: u32,
    /// Whether sizes are told apart.
    pub classes: Classes,
}

impl Layout {
    /// Number of rows.
    #[must_use]
    pub const fn rows(self) -> u32 {
        self.targets * size::count(self.classes)
    }

    /// The row of a target and class.
    #[must_use]
    pub const fn row(self, target: u32, class: u32) -> u32 {
        row(target, class, size::count(self.classes))
    }
}

/// The row of a target and class where each target has `classes` of them.
#[inline(always)]
#[must_use]
pub const fn row(target: u32, class: u32, classes: u32) -> u32 {
    target * classes + class
}

/// The key of [`FRAMES`] for a thread and target.
#[inline(always)]
#[must_use]
pub const fn frame_key(tid: u32, target: u32) -> u64 {
    (tid as u64) << 32 | target as u64
}

/// The thread in a key of [`FRAMES`].
#[must_use]
pub const fn frame_thread(key: u64) -> u32 {
    (key >> 32) as u32
}

/// The target in a key of [`FRAMES`].
#[must_use]
pub const fn frame_target(key: u64) -> u32 {
    key as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_dense_and_apart() {
        let layout = Layout { targets: 3, classes: Classes::BySize };
        let mut expected = 0;
        for target in 0..3 {
            for class in 0..size::SIZE_CLASSES {
                assert_eq!(layout.row(target, class), expected);
                expected += 1;
            }
        }
        assert_eq!(layout.rows(), expected);
        assert_eq!(Layout { targets: 3, classes: Classes::One }.rows(), 3);
    }

    #[test]
    fn the_kernel_keeps_every_name_whole() {
        use program::*;
        let names = [
            BATCH_BEGIN,
            BATCH_END,
            SYSCALL_ENTER,
            SYSCALL_ENTER_SIZE_1,
            SYSCALL_ENTER_SIZE_2,
            SYSCALL_EXIT,
            RAW_ENTER,
            RAW_ENTER_SIZED,
            RAW_EXIT,
            FUNCTION_ENTER,
            FUNCTION_EXIT,
            TIMER_ENTER,
            TIMER_EXIT,
            FUNCTION_ENTER_FIELD,
            KPROBE_ENTER,
            KPROBE_RETURN,
            UPROBE_ENTER,
            UPROBE_RETURN,
            UPROBE_END,
            UPROBE_POINT,
            FORK,
            KPROBE_TRIAL,
            USER_ENTER,
            USER_RETURN,
            CALL_FLOOR,
            CALL_PRANDOM,
            CALL_KTIME,
            CALL_READ_USER_64,
            CALL_READ_USER_4096,
            CALL_READ_KERNEL_64,
            CALL_READ_KERNEL_4096,
            CALL_FIB_LOOKUP,
            DIAGNOSE,
        ];
        for name in names {
            assert!(name.len() <= 15 && name.starts_with(PROGRAM_PREFIX), "{name}");
        }
        for name in [
            HISTOGRAMS,
            QUALITY,
            FRAMES,
            SYSCALLS,
            FUNCTIONS,
            SIZE_ARGUMENTS,
            BATCHES,
            OPEN_BATCHES,
            KEYED,
            FOLLOWED,
            CPUS,
            SLOW_CALLS,
        ] {
            assert!(name.len() <= 15, "{name}");
        }
    }
}
