//! Whose calls are counted: every filter by thread, each gone from the program where it is not set.
//!
//! The globals are read-only when a program is loaded, so the verifier knows their values and removes what they
//! switch off: a filter that nobody asked for costs nothing.

use aya_ebpf::{
    Global,
    helpers::{
        bpf_get_current_comm, bpf_get_current_pid_tgid, bpf_get_smp_processor_id, bpf_probe_read_kernel,
        generated::{bpf_get_current_ancestor_cgroup_id, bpf_get_current_cgroup_id},
    },
    macros::{map, raw_tracepoint},
    maps::{Array, HashMap},
    programs::RawTracePointContext,
};
use probe_abi::maps::{self, By};

#[unsafe(no_mangle)]
static PROCESS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static THREAD: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static EXCLUDED: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static FOLLOW: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static TASK_PROCESS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static COMM: Global<[u64; 2]> = Global::new([0; 2]);
#[unsafe(no_mangle)]
static CGROUP: Global<u64> = Global::new(0);
#[unsafe(no_mangle)]
static CGROUP_LEVEL: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static BY_CPU: Global<u32> = Global::new(0);

/// Their numbers are set by the loader.
#[map]
static FOLLOWED: HashMap<u32, u32> = HashMap::with_max_entries(1, 0);
#[map]
static CPUS: Array<u64> = Array::with_max_entries(maps::CPU_WORDS, 0);

/// The current thread, or `None` where it is not one that is counted.
#[inline(always)]
pub(super) fn thread() -> Option<u32> {
    let pid_tgid = bpf_get_current_pid_tgid();
    let (process, thread) = ((pid_tgid >> 32) as u32, pid_tgid as u32);
    let (only_process, only_thread) = (PROCESS.load(), THREAD.load());
    if only_process != 0 && process != only_process || only_thread != 0 && thread != only_thread {
        return None;
    }
    let excluded = EXCLUDED.load();
    if excluded != 0 && process == excluded || FOLLOW.load() != 0 && FOLLOWED.get_ptr(process).is_none() {
        return None;
    }
    let comm = COMM.load();
    if (comm[0] != 0 || comm[1] != 0) && self::comm() != comm {
        return None;
    }
    let cgroup = CGROUP.load();
    if cgroup != 0 {
        // SAFETY: the helper takes any level.
        let ancestor = unsafe { bpf_get_current_ancestor_cgroup_id(CGROUP_LEVEL.load() as i32) };
        if ancestor != cgroup {
            return None;
        }
    }
    if thread == 0 {
        // Every CPU's idle thread has this number; no real thread has the top bit set.
        return Some(1 << 31 | cpu());
    }
    Some(thread)
}

/// Whether calls that begin on this CPU are counted.
#[inline(always)]
pub(super) fn cpu_is_counted() -> bool {
    if BY_CPU.load() == 0 {
        return true;
    }
    let cpu = cpu();
    CPUS.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
}

#[inline(always)]
pub(super) fn cpu() -> u32 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_get_smp_processor_id() }
}

/// The words of a key that say who the current thread is.
#[inline(always)]
pub(super) fn who(by: u32) -> [u64; 2] {
    if by == By::Process.code() {
        [bpf_get_current_pid_tgid() >> 32, 0]
    } else if by == By::Comm.code() {
        comm()
    } else {
        // SAFETY: the helper has no preconditions.
        [unsafe { bpf_get_current_cgroup_id() }, 0]
    }
}

/// The thread's name as its two words. The kernel keeps what is behind the end of a name clear.
#[inline(always)]
fn comm() -> [u64; 2] {
    let name = bpf_get_current_comm().unwrap_or_default();
    let (first, second) = name.split_at(8);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    [word(first), word(second)]
}

/// Follows the children of processes that are followed. A process that has ended stays in the map: its number comes
/// again only after all others have been given.
#[raw_tracepoint]
fn hp_fork(ctx: RawTracePointContext) -> i32 {
    let process = (bpf_get_current_pid_tgid() >> 32) as u32;
    if FOLLOWED.get_ptr(process).is_some() {
        let child: *const u8 = ctx.arg(1);
        // SAFETY: the helper checks the address.
        let number =
            unsafe { bpf_probe_read_kernel(child.byte_add(TASK_PROCESS.load() as usize).cast::<u32>()) };
        if let Ok(number) = number {
            let _ = FOLLOWED.insert(number, 1, 0);
        }
    }
    0
}
