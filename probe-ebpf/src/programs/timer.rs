//! Timer functions, by the events around every one that runs: one pair of programs for any number of them.
//!
//! Timers run in the softirq of a CPU, one after the other and each to its end, in whatever thread happens to be
//! current. So the CPU has the frame and no filter by thread applies. The exit does not tell the function, but it
//! is that of the CPU's one open timer; exits of timers that are not traced find none.

use aya_ebpf::{EbpfContext as _, macros::tracepoint, programs::TracePointContext};
use probe_abi::{maps, pairing::Frame};

use super::{function, record, whose};

#[tracepoint]
fn hp_timer_enter(ctx: TracePointContext) -> u32 {
    // SAFETY: user space attaches the program only where the record has the function here. The offset is fixed,
    // since the verifier takes no other.
    let address = unsafe { ctx.as_ptr().byte_add(maps::TIMER_FUNCTION_OFFSET).cast::<u64>().read() };
    if let Some(target) = function::target(address) {
        record::enter(key(), target, record::row(target, None), Frame::enter_alone);
    }
    0
}

#[tracepoint]
fn hp_timer_exit(ctx: TracePointContext) -> u32 {
    record::exit(ctx.as_ptr(), key(), || {});
    0
}

#[inline(always)]
fn key() -> u64 {
    maps::frame_key(whose::cpu(), maps::ANY_TARGET)
}
