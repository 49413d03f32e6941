//! Filters, pairing and aggregation: what all tracing programs do with an entry and an exit.

use core::arch::asm;

use aya_ebpf::{
    Global,
    helpers::{bpf_get_current_pid_tgid, bpf_get_smp_processor_id, bpf_ktime_get_ns},
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use probe_abi::{
    histogram::{self, BUCKETS, Row},
    maps,
    pairing::{Entry, Exit, Frame},
    quality::{Counts, Quality},
    size,
};

/// Each size is set by the loader.
#[map]
static HISTOGRAMS: PerCpuArray<Row> = PerCpuArray::with_max_entries(1, 0);
#[map]
static QUALITY: PerCpuArray<Counts> = PerCpuArray::with_max_entries(1, 0);
#[map]
static FRAMES: HashMap<u64, Frame> = HashMap::with_max_entries(1, 0);
#[map]
static SIZE_ARGUMENTS: Array<u32> = Array::with_max_entries(1, 0);

#[unsafe(no_mangle)]
static PROCESS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static THREAD: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static CLASSES: Global<u32> = Global::new(1);

/// The current thread, or `None` where it is not one that is counted.
#[inline(always)]
pub(super) fn thread() -> Option<u32> {
    let pid_tgid = bpf_get_current_pid_tgid();
    let (process, thread) = ((pid_tgid >> 32) as u32, pid_tgid as u32);
    let (only_process, only_thread) = (PROCESS.load(), THREAD.load());
    if only_process != 0 && process != only_process || only_thread != 0 && thread != only_thread {
        return None;
    }
    if thread == 0 {
        // Every CPU's idle thread has this number; no real thread has the top bit set.
        // SAFETY: the helper has no preconditions.
        return Some(1 << 31 | unsafe { bpf_get_smp_processor_id() });
    }
    Some(thread)
}

/// Where the size of a call of `target` is, if its sizes are told apart.
#[inline(always)]
pub(super) fn size_argument(target: u32) -> Option<u32> {
    SIZE_ARGUMENTS.get(target).copied().filter(|place| *place != maps::NO_SIZE)
}

/// The row for a call of `target` with `size`.
#[inline(always)]
pub(super) fn row(target: u32, size: Option<u64>) -> u32 {
    let classes = CLASSES.load();
    match size {
        Some(size) if classes > 1 => maps::row(target, size::class(size), classes),
        _ => maps::row(target, 0, classes),
    }
}

/// Counts a call of `target` that could not be timed.
#[inline(always)]
pub(super) fn count(target: u32, quality: Quality) {
    if let Some(counts) = QUALITY.get_ptr_mut(target) {
        // SAFETY: the pointer is to a whole row of this CPU.
        add(unsafe { &raw mut (*counts)[quality.index()] });
    }
}

/// Opens a call. `key` is its frame's; `open` says how a frame takes an entry.
///
/// The slot of a thread is found and written over: inserting and deleting it for each call costs more than all
/// else together.
#[inline(always)]
pub(super) fn enter(key: u64, target: u32, row: u32, open: impl Fn(&mut Frame, u64, u32) -> Entry) {
    let entry = match FRAMES.get_ptr_mut(key) {
        // SAFETY: only the current thread uses its frame, and frames are never removed while programs run.
        Some(frame) => open(unsafe { &mut *frame }, now_ns(), row),
        None => {
            let mut frame = Frame::EMPTY;
            let entry = open(&mut frame, now_ns(), row);
            if FRAMES.insert(key, frame, 0).is_err() {
                count(target, Quality::Full);
                return;
            }
            entry
        }
    };
    match entry {
        Entry::Opened => {}
        Entry::Replaced => count(target, Quality::Replaced),
        Entry::TooDeep => count(target, Quality::TooDeep),
    }
}

/// Closes the newest call of the frame at `key` and adds its duration to its row. `unmatched` is told when
/// there was none.
#[inline(always)]
pub(super) fn exit(key: u64, target_of: impl Fn(u32) -> u32, unmatched: impl Fn()) {
    let now_ns = now_ns();
    let Some(frame) = FRAMES.get_ptr_mut(key) else { return unmatched() };
    // SAFETY: as for `enter`.
    match unsafe { &mut *frame }.exit(now_ns) {
        Exit::Elapsed { elapsed_ns, row } => add_duration(row, elapsed_ns),
        Exit::Unmatched => unmatched(),
        Exit::ClockRegression { row } => count(target_of(row), Quality::ClockRegression),
        // Its entry was counted.
        Exit::TooDeep => {}
    }
}

/// The target that `row` is one of.
#[inline(always)]
pub(super) fn target_of(row: u32) -> u32 {
    // Never 0, but the verifier and the compiler want to see it.
    row / CLASSES.load().max(1)
}

#[inline(always)]
fn now_ns() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_ktime_get_ns() }
}

#[inline(always)]
fn add_duration(row: u32, elapsed_ns: u64) {
    let bucket = opaque(histogram::bucket(elapsed_ns) as u64) as usize;
    // The compiler knows this and would drop it; the verifier does not, and asks for it.
    if bucket < BUCKETS
        && let Some(counts) = HISTOGRAMS.get_ptr_mut(row)
    {
        // SAFETY: the pointer is to a whole row of this CPU, and the bucket is in it.
        add(unsafe { (counts.cast::<u64>()).add(bucket) });
    }
}

/// `value`, of which the compiler no longer knows anything.
#[inline(always)]
pub(super) fn opaque(mut value: u64) -> u64 {
    // SAFETY: moves a register to itself. An empty statement would leave a line of debug information without an
    // instruction, which the kernel refuses.
    unsafe { asm!("{value} = {value}", value = inout(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Adds one. A program can be preempted by another that counts on the same CPU: hence an atomic.
#[inline(always)]
fn add(counter: *mut u64) {
    // SAFETY: callers pass an aligned counter in a map value, which only programs change.
    unsafe {
        asm!("lock *(u64 *)({counter} + 0) += {one}", counter = in(reg) counter, one = in(reg) 1_u64, options(nostack));
    }
}
