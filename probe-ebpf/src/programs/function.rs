//! One fentry/fexit pair for any number of kernel functions, told apart by their addresses.

use aya_ebpf::{
    EbpfContext as _,
    helpers::generated::{bpf_get_func_arg, bpf_get_func_ip},
    macros::{fentry, fexit, map},
    maps::HashMap,
    programs::{FEntryContext, FExitContext},
};
use probe_abi::{maps, pairing::Frame, quality::Quality};

use super::record;

#[map]
static FUNCTIONS: HashMap<u64, u32> = HashMap::with_max_entries(1, 0);

#[fentry]
fn hp_func_enter(ctx: FEntryContext) -> i32 {
    if let Some((thread, target)) = traced(&ctx) {
        let size = record::size_argument(target).and_then(|index| {
            let mut size = 0;
            // SAFETY: the context is the one the program was given, and the helper checks the index.
            let status = unsafe { bpf_get_func_arg(ctx.as_ptr(), index, &raw mut size) };
            (status == 0).then_some(size)
        });
        let row = record::row(target, size);
        record::enter(maps::frame_key(thread, target), target, row, Frame::enter);
    }
    0
}

#[fexit]
fn hp_func_exit(ctx: FExitContext) -> i32 {
    if let Some((thread, target)) = traced(&ctx) {
        record::exit(maps::frame_key(thread, target), record::target_of, || {
            record::count(target, Quality::Unmatched);
        });
    }
    0
}

#[inline(always)]
fn traced(ctx: &impl aya_ebpf::EbpfContext) -> Option<(u32, u32)> {
    let thread = record::thread()?;
    // SAFETY: the context is the one the program was given.
    let address = unsafe { bpf_get_func_ip(ctx.as_ptr()) };
    Some((thread, target(address)?))
}

/// The target of the function at `address`, if it is traced.
#[inline(always)]
pub(super) fn target(address: u64) -> Option<u32> {
    // SAFETY: entries are written before the programs run and stay.
    unsafe { FUNCTIONS.get(address) }.copied()
}
