//! Filters, pairing and aggregation: what all tracing programs do with an entry and an exit.

use core::{arch::asm, ffi::c_void};

use aya_ebpf::{
    Global,
    helpers::bpf_ktime_get_ns,
    macros::map,
    maps::{Array, HashMap, PerCpuArray},
};
use probe_abi::{
    histogram::{self, BUCKETS, Row},
    maps::{self, Key},
    pairing::{Entry, Exit, Frame, NO_ROW},
    quality::{Counts, Quality},
    size,
};

use super::{slow, whose};

/// Each size is set by the loader.
#[map]
static HISTOGRAMS: PerCpuArray<Row> = PerCpuArray::with_max_entries(1, 0);
#[map]
static QUALITY: PerCpuArray<Counts> = PerCpuArray::with_max_entries(1, 0);
#[map]
static FRAMES: HashMap<u64, Frame> = HashMap::with_max_entries(1, 0);
#[map]
static SIZE_ARGUMENTS: Array<u32> = Array::with_max_entries(1, 0);
#[map]
static KEYED: HashMap<Key, Row> = HashMap::with_max_entries(1, 0);
/// A row of zeroes, to begin others with: it is too long for a stack.
#[map]
static NEW_ROW: Array<Row> = Array::with_max_entries(1, 0);

#[unsafe(no_mangle)]
static CLASSES: Global<u32> = Global::new(1);
#[unsafe(no_mangle)]
static SIZE_MIN: Global<u64> = Global::new(0);
#[unsafe(no_mangle)]
static SIZE_MAX: Global<u64> = Global::new(u64::MAX);
#[unsafe(no_mangle)]
static DEPTH: Global<u64> = Global::new(8);
#[unsafe(no_mangle)]
static BY: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
static COUNT_ONLY: Global<u32> = Global::new(0);

/// Where the size of a call of `target` is, if its sizes are told apart.
#[inline(always)]
pub(super) fn size_argument(target: u32) -> Option<u32> {
    SIZE_ARGUMENTS.get(target).copied().filter(|place| *place != maps::NO_SIZE)
}

/// The row for a call of `target` with `size`; [`NO_ROW`] where its size or this CPU is not asked for. Such a call
/// is paired like any other, so that its exit is known.
#[inline(always)]
pub(super) fn row(target: u32, size: Option<u64>) -> u32 {
    let classes = CLASSES.load();
    let (min, max) = (SIZE_MIN.load(), SIZE_MAX.load());
    let wanted = min == 0 && max == u64::MAX || size.is_some_and(|size| size >= min && size <= max);
    if !wanted || !whose::cpu_is_counted() {
        return NO_ROW;
    }
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
    if COUNT_ONLY.load() != 0 {
        add_duration(row, target, 0);
        return;
    }
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

/// How a frame takes an entry of a function that may be open already.
#[inline(always)]
pub(super) fn nested(frame: &mut Frame, now_ns: u64, row: u32) -> Entry {
    frame.enter_within(DEPTH.load(), now_ns, row)
}

/// Closes the newest call of the frame at `key` and adds its duration to its row. `unmatched` is told when
/// there was none.
#[inline(always)]
pub(super) fn exit(ctx: *mut c_void, key: u64, unmatched: impl Fn()) {
    let now_ns = now_ns();
    let Some(frame) = FRAMES.get_ptr_mut(key) else { return unmatched() };
    // SAFETY: as for `enter`.
    let exit = unsafe { &mut *frame }.exit_within(DEPTH.load(), now_ns);
    ended(ctx, now_ns, exit, unmatched);
}

/// A hit of a point of `target` that has no end of its own.
#[inline(always)]
pub(super) fn hit(ctx: *mut c_void, key: u64, target: u32, row: u32) {
    if COUNT_ONLY.load() != 0 {
        add_duration(row, target, 0);
        return;
    }
    let now_ns = now_ns();
    match FRAMES.get_ptr_mut(key) {
        // SAFETY: as for `enter`. A thread's first hit ends nothing.
        Some(frame) => ended(ctx, now_ns, unsafe { &mut *frame }.hit(now_ns, row), || {}),
        None => {
            let mut frame = Frame::EMPTY;
            frame.enter_alone(now_ns, row);
            if FRAMES.insert(key, frame, 0).is_err() {
                count(target, Quality::Full);
            }
        }
    }
}

#[inline(always)]
fn ended(ctx: *mut c_void, now_ns: u64, exit: Exit, unmatched: impl Fn()) {
    match exit {
        Exit::Elapsed { row: NO_ROW, .. } | Exit::ClockRegression { row: NO_ROW } => {}
        Exit::Elapsed { elapsed_ns, row } => {
            add_duration(row, target_of(row), elapsed_ns);
            if slow::is_slow(elapsed_ns) && !slow::report(ctx, now_ns, elapsed_ns, row) {
                count(target_of(row), Quality::Lost);
            }
        }
        Exit::Unmatched => unmatched(),
        Exit::ClockRegression { row } => count(target_of(row), Quality::ClockRegression),
        // Its entry was counted.
        Exit::TooDeep => {}
    }
}

/// The target that `row` is one of.
#[inline(always)]
fn target_of(row: u32) -> u32 {
    // Never 0, but the verifier and the compiler want to see it.
    row / CLASSES.load().max(1)
}

#[inline(always)]
fn now_ns() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_ktime_get_ns() }
}

#[inline(always)]
fn add_duration(row: u32, target: u32, elapsed_ns: u64) {
    let bucket = opaque(histogram::bucket(elapsed_ns) as u64) as usize;
    let by = BY.load();
    let counts = if by == 0 { HISTOGRAMS.get_ptr_mut(row) } else { keyed(row, target, by) };
    // The compiler knows this and would drop it; the verifier does not, and asks for it.
    if bucket < BUCKETS
        && let Some(counts) = counts
    {
        // SAFETY: the pointer is to a whole row, and the bucket is in it.
        add(unsafe { (counts.cast::<u64>()).add(bucket) });
    }
}

/// The row of whoever is current, made at the first call.
#[inline(always)]
fn keyed(row: u32, target: u32, by: u32) -> Option<*mut Row> {
    if row == NO_ROW {
        return None;
    }
    let key = Key { row, zero: 0, who: whose::who(by) };
    if let Some(counts) = KEYED.get_ptr_mut(key) {
        return Some(counts);
    }
    // Another CPU may have been faster; then its row is found.
    let _ = KEYED.insert(key, NEW_ROW.get(0)?, 1);
    let counts = KEYED.get_ptr_mut(key);
    if counts.is_none() {
        count(target, Quality::Full);
    }
    counts
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
