//! Pairs on the raw tracepoints that every system call passes: for kernels without an event a call, or without
//! tracefs.
//!
//! The exit does not tell which call it ends without a read of kernel memory, so a thread's one open call has
//! its frame under a target of its own, and exits of calls that are not traced find it empty. An exit whose
//! entry was before the attach can therefore not be told from one that is not traced, and is not counted.

use aya_ebpf::{
    EbpfContext as _, helpers::bpf_probe_read_kernel, macros::raw_tracepoint, programs::RawTracePointContext,
};
use probe_abi::{maps, pairing::Frame};

use super::{record, syscall, whose};

#[raw_tracepoint]
fn hp_raw_enter(ctx: RawTracePointContext) -> i32 {
    enter(&ctx, |_, _| None);
    0
}

#[raw_tracepoint]
fn hp_raw_enter_sz(ctx: RawTracePointContext) -> i32 {
    enter(&ctx, |registers, target| {
        let offset = record::size_argument(target)?;
        // SAFETY: the helper checks the address.
        unsafe { bpf_probe_read_kernel(registers.byte_add(offset as usize).cast::<u64>()) }.ok()
    });
    0
}

#[raw_tracepoint]
fn hp_raw_exit(ctx: RawTracePointContext) -> i32 {
    if let Some(thread) = whose::thread() {
        record::exit(ctx.as_ptr(), maps::frame_key(thread, maps::ANY_TARGET), || {});
    }
    0
}

#[inline(always)]
fn enter(ctx: &RawTracePointContext, size: impl Fn(*const u8, u32) -> Option<u64>) {
    let Some(target) = syscall::target(ctx.arg(1)) else { return };
    let Some(thread) = whose::thread() else { return };
    let row = record::row(target, size(ctx.arg(0), target));
    record::enter(maps::frame_key(thread, maps::ANY_TARGET), target, row, Frame::enter_alone);
}
