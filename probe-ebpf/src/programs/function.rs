//! One fentry/fexit pair for any number of kernel functions, told apart by their addresses.

use aya_ebpf::{
    EbpfContext as _,
    helpers::{
        bpf_probe_read_kernel,
        generated::{bpf_get_func_arg, bpf_get_func_ip},
    },
    macros::{fentry, fexit, map},
    maps::HashMap,
    programs::{FEntryContext, FExitContext},
};
use probe_abi::{maps, quality::Quality};

use super::{record, whose};

#[map]
static FUNCTIONS: HashMap<u64, u32> = HashMap::with_max_entries(1, 0);

#[fentry]
fn hp_func_enter(ctx: FEntryContext) -> i32 {
    enter(&ctx, |_, argument| Some(argument));
    0
}

#[fentry]
fn hp_func_enter_f(ctx: FEntryContext) -> i32 {
    enter(&ctx, field);
    0
}

#[inline(always)]
fn enter(ctx: &FEntryContext, size_of: impl Fn(u32, u64) -> Option<u64>) {
    let Some((thread, target)) = traced(ctx) else { return };
    let size = record::size_argument(target).and_then(|place| {
        let mut argument = 0;
        // SAFETY: the context is the one the program was given, and the helper checks the index.
        let status = unsafe { bpf_get_func_arg(ctx.as_ptr(), place & 0xff, &raw mut argument) };
        if status == 0 { size_of(place, argument) } else { None }
    });
    let row = record::row(target, size);
    record::enter(maps::frame_key(thread, target), target, row, record::nested);
}

/// The size in a field of the structure that `argument` points to, or `argument` itself where `place` says so.
#[inline(always)]
pub(super) fn field(place: u32, argument: u64) -> Option<u64> {
    if place & maps::SIZE_IN_FIELD == 0 {
        return Some(argument);
    }
    let address = argument.wrapping_add(u64::from(place >> 16)) as *const u64;
    // SAFETY: the helper checks the address.
    unsafe { bpf_probe_read_kernel(address) }.ok()
}

#[fexit]
fn hp_func_exit(ctx: FExitContext) -> i32 {
    if let Some((thread, target)) = traced(&ctx) {
        record::exit(ctx.as_ptr(), maps::frame_key(thread, target), || {
            record::count(target, Quality::Unmatched);
        });
    }
    0
}

#[inline(always)]
fn traced(ctx: &impl aya_ebpf::EbpfContext) -> Option<(u32, u32)> {
    let thread = whose::thread()?;
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
