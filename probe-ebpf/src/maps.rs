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

/// Global: process whose calls are counted; 0 for all.
pub const PROCESS: &str = "PROCESS";
/// Global: thread whose calls are counted; 0 for all.
pub const THREAD: &str = "THREAD";
/// Global: [`size::count`] of the layout.
pub const CLASSES: &str = "CLASSES";

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
            DIAGNOSE,
        ];
        for name in names {
            assert!(name.len() <= 15 && name.starts_with(PROGRAM_PREFIX), "{name}");
        }
        for name in [HISTOGRAMS, QUALITY, FRAMES, SYSCALLS, FUNCTIONS, SIZE_ARGUMENTS, BATCHES, OPEN_BATCHES]
        {
            assert!(name.len() <= 15, "{name}");
        }
    }
}
