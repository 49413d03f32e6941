//! A kprobe/kretprobe pair for any number of kernel functions, told apart by their addresses, and a kprobe that does
//! nothing: whether this kernel has kprobes is found by attaching one.

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::bpf_get_func_ip,
    macros::{kprobe, kretprobe},
    programs::{ProbeContext, RetProbeContext},
};
use probe_abi::{maps, quality::Quality};

use super::{function, record, whose};

#[kprobe]
fn hp_kprobe_trial(_ctx: ProbeContext) -> u32 {
    0
}

#[kprobe]
fn hp_kprobe_enter(ctx: ProbeContext) -> u32 {
    if let Some((thread, target)) = traced(&ctx) {
        let size = record::size_argument(target).and_then(|place| argument(&ctx, place & 0xff));
        let row = record::row(target, size);
        record::enter(maps::frame_key(thread, target), target, row, record::nested);
    }
    0
}

#[kretprobe]
fn hp_kprobe_ret(ctx: RetProbeContext) -> u32 {
    if let Some((thread, target)) = traced(&ctx) {
        record::exit(ctx.as_ptr(), maps::frame_key(thread, target), || {
            record::count(target, Quality::Unmatched);
        });
    }
    0
}

/// All are read, and then one is chosen: the verifier takes no place in the registers that is computed.
#[inline(always)]
fn argument(ctx: &ProbeContext, index: u32) -> Option<u64> {
    let read = |argument| record::opaque(ctx.arg(argument).unwrap_or(0));
    let arguments = (read(0), read(1), read(2), read(3));
    match index {
        0 => Some(arguments.0),
        1 => Some(arguments.1),
        2 => Some(arguments.2),
        3 => Some(arguments.3),
        _ => None,
    }
}

#[inline(always)]
fn traced(ctx: &impl aya_ebpf::EbpfContext) -> Option<(u32, u32)> {
    let thread = whose::thread()?;
    // SAFETY: the context is the one the program was given.
    let address = unsafe { bpf_get_func_ip(ctx.as_ptr()) };
    Some((thread, function::target(address)?))
}
