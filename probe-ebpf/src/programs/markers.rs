//! The pair on the two markers of our own code: each batch becomes an event.

use aya_ebpf::{
    helpers::{bpf_get_current_pid_tgid, bpf_get_smp_processor_id, bpf_ktime_get_ns},
    macros::{map, uprobe},
    maps::{HashMap, RingBuf},
    programs::ProbeContext,
};
use probe_abi::{batch::BatchEvent, quality::Quality};

use super::record;

/// The markers' row of quality counters: they are alone in their object.
const TARGET: u32 = 0;

/// The open batch of a thread. `start_ns` is 0 when none is.
#[derive(Clone, Copy)]
#[repr(C)]
struct OpenBatch {
    key: u64,
    start_ns: u64,
}

#[map]
static OPEN_BATCHES: HashMap<u32, OpenBatch> = HashMap::with_max_entries(1, 0);
#[map]
static BATCHES: RingBuf = RingBuf::with_byte_size(4096, 0);

#[uprobe]
fn hp_batch_begin(ctx: ProbeContext) -> u32 {
    let Some(key) = ctx.arg::<u64>(0) else { return 0 };
    let thread = bpf_get_current_pid_tgid() as u32;
    match OPEN_BATCHES.get_ptr_mut(thread) {
        Some(open) => {
            // SAFETY: only the current thread uses its slot, and slots are never removed.
            let open = unsafe { &mut *open };
            if open.start_ns != 0 {
                record::count(TARGET, Quality::Replaced);
            }
            open.key = key;
            open.start_ns = now_ns();
        }
        None => {
            if OPEN_BATCHES.insert(thread, OpenBatch { key, start_ns: now_ns() }, 0).is_err() {
                record::count(TARGET, Quality::Full);
            }
        }
    }
    0
}

#[uprobe]
fn hp_batch_end(ctx: ProbeContext) -> u32 {
    let end_ns = now_ns();
    let Some(key) = ctx.arg::<u64>(0) else { return 0 };
    let thread = bpf_get_current_pid_tgid() as u32;
    let Some(open) = OPEN_BATCHES.get_ptr_mut(thread) else {
        record::count(TARGET, Quality::Unmatched);
        return 0;
    };
    // SAFETY: as in `hp_batch_begin`.
    let open = unsafe { &mut *open };
    let start_ns = open.start_ns;
    open.start_ns = 0;
    if start_ns == 0 || open.key != key {
        record::count(TARGET, Quality::Unmatched);
        return 0;
    }
    let Some(elapsed_ns) = end_ns.checked_sub(start_ns) else {
        record::count(TARGET, Quality::ClockRegression);
        return 0;
    };
    match BATCHES.reserve::<BatchEvent>(0) {
        Some(mut record) => {
            // SAFETY: the helper has no preconditions.
            let cpu = unsafe { bpf_get_smp_processor_id() };
            record.write(BatchEvent { key, start_ns, elapsed_ns, cpu, tid: thread });
            record.submit(0);
        }
        None => record::count(TARGET, Quality::Lost),
    }
    0
}

#[inline(always)]
fn now_ns() -> u64 {
    // SAFETY: the helper has no preconditions.
    unsafe { bpf_ktime_get_ns() }
}
