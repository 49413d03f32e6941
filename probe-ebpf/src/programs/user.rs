//! Functions and sites of programs. Each attachment carries its target as its cookie.
//!
//! The pair that does nothing is what any tool pays for an entry and a return probe, whatever it does in them.

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::bpf_get_attach_cookie,
    macros::{uprobe, uretprobe},
    programs::{ProbeContext, RetProbeContext},
};
use probe_abi::{maps, quality::Quality};

use super::{record, whose};

#[uprobe]
fn hp_user_enter(_ctx: ProbeContext) -> u32 {
    0
}

#[uretprobe]
fn hp_user_return(_ctx: RetProbeContext) -> u32 {
    0
}

#[uprobe]
fn hp_uprobe_enter(ctx: ProbeContext) -> u32 {
    if let Some((thread, target)) = traced(&ctx) {
        let row = record::row(target, None);
        record::enter(maps::frame_key(thread, target), target, row, record::nested);
    }
    0
}

#[uretprobe]
fn hp_uprobe_ret(ctx: RetProbeContext) -> u32 {
    exit(&ctx);
    0
}

#[uprobe]
fn hp_uprobe_end(ctx: ProbeContext) -> u32 {
    exit(&ctx);
    0
}

#[uprobe]
fn hp_uprobe_point(ctx: ProbeContext) -> u32 {
    if let Some((thread, target)) = traced(&ctx) {
        let row = record::row(target, None);
        record::hit(ctx.as_ptr(), maps::frame_key(thread, target), target, row);
    }
    0
}

#[inline(always)]
fn exit(ctx: &impl aya_ebpf::EbpfContext) {
    if let Some((thread, target)) = traced(ctx) {
        record::exit(ctx.as_ptr(), maps::frame_key(thread, target), || {
            record::count(target, Quality::Unmatched);
        });
    }
}

#[inline(always)]
fn traced(ctx: &impl aya_ebpf::EbpfContext) -> Option<(u32, u32)> {
    let thread = whose::thread()?;
    // SAFETY: the context is the one the program was given.
    Some((thread, unsafe { bpf_get_attach_cookie(ctx.as_ptr()) } as u32))
}
