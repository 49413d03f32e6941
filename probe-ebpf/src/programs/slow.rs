//! Single slow calls: the only events that calls ever become, and only those that took long.

use core::ffi::c_void;

use aya_ebpf::{
    Global,
    helpers::{bpf_get_current_comm, bpf_get_current_pid_tgid, generated::bpf_get_stack},
    macros::map,
    maps::RingBuf,
};
use probe_abi::slow::{FRAMES, SlowCall};

use super::whose;

/// Its size is set by the loader.
#[map]
static SLOW_CALLS: RingBuf = RingBuf::with_byte_size(4096, 0);

#[unsafe(no_mangle)]
static SLOW_NS: Global<u64> = Global::new(0);

/// Of the helper: walk the stack of the program instead of the kernel's.
const USER_STACK: u64 = 1 << 8;

/// Whether a call that took so long is to be reported.
#[inline(always)]
pub(super) fn is_slow(elapsed_ns: u64) -> bool {
    let limit = SLOW_NS.load();
    limit != 0 && elapsed_ns >= limit
}

/// Reports a call; `false` where there was no room.
#[inline(always)]
pub(super) fn report(ctx: *mut c_void, end_ns: u64, elapsed_ns: u64, row: u32) -> bool {
    let Some(mut record) = SLOW_CALLS.reserve::<SlowCall>(0) else { return false };
    let call = record.as_mut_ptr();
    let pid_tgid = bpf_get_current_pid_tgid();
    // SAFETY: the record is one whole call, and every field is written before it is submitted.
    unsafe {
        (*call).end_ns = end_ns;
        (*call).elapsed_ns = elapsed_ns;
        (*call).comm = bpf_get_current_comm().unwrap_or_default();
        (*call).process = (pid_tgid >> 32) as u32;
        (*call).thread = pid_tgid as u32;
        (*call).cpu = whose::cpu();
        (*call).row = row;
        // Behind the last address the helper clears what is left.
        let bytes = (8 * FRAMES) as u32;
        if bpf_get_stack(ctx, (&raw mut (*call).kernel_stack).cast(), bytes, 0) < 0 {
            (*call).kernel_stack = [0; FRAMES];
        }
        if bpf_get_stack(ctx, (&raw mut (*call).user_stack).cast(), bytes, USER_STACK) < 0 {
            (*call).user_stack = [0; FRAMES];
        }
    }
    record.submit(0);
    true
}
