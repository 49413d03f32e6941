//! Kernel primitives timed by calling them: programs that are run by request, each a loop around one helper.
//!
//! They are plain functions in the section of raw tracepoints, since that kind can be run by request with
//! arguments of our choosing, may read memory, and returns its value. A run returns the nanoseconds of
//! `CALLS_PER_RUN` calls. Sources of reads are the first argument: an address of the caller's own memory, or
//! unused.

use core::ffi::c_void;

use aya_ebpf::{
    helpers::generated::{bpf_get_prandom_u32, bpf_ktime_get_ns, bpf_probe_read_kernel, bpf_probe_read_user},
    macros::map,
    maps::PerCpuArray,
    programs::RawTracePointContext,
};
use probe_abi::maps::{CALL_FAILED, CALLS_PER_RUN};

use super::record;

const PAGE: usize = 4096;

/// Where reads go to, and where reads of the kernel come from.
#[map]
static SCRATCH: PerCpuArray<[u8; 2 * PAGE]> = PerCpuArray::with_max_entries(1, 0);

/// Declares a program that times one helper. The body returns whether the call succeeded.
macro_rules! call {
    ($program:ident, $body:expr) => {
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "raw_tp")]
        fn $program(ctx: *mut c_void) -> u32 {
            let source = RawTracePointContext::new(ctx).arg::<u64>(0);
            let Some(scratch) = SCRATCH.get_ptr_mut(0) else { return CALL_FAILED };
            time(|| $body(source as *const c_void, scratch.cast()))
        }
    };
}

call!(hp_call_floor, |_: *const c_void, _: *mut c_void| 0);
call!(hp_call_prandom, |_: *const c_void, _: *mut c_void| {
    // SAFETY: the helper has no preconditions.
    core::hint::black_box(unsafe { bpf_get_prandom_u32() });
    0
});
call!(hp_call_ktime, |_: *const c_void, _: *mut c_void| {
    // SAFETY: the helper has no preconditions.
    core::hint::black_box(unsafe { bpf_ktime_get_ns() });
    0
});
call!(hp_call_ru_64, |source, scratch| {
    // SAFETY: the helper checks the source, and the destination is that long.
    unsafe { bpf_probe_read_user(scratch, 64, source) }
});
call!(hp_call_ru_4096, |source, scratch| {
    // SAFETY: as above.
    unsafe { bpf_probe_read_user(scratch, PAGE as u32, source) }
});
call!(hp_call_rk_64, |_: *const c_void, scratch: *mut c_void| {
    // SAFETY: source and destination are the two halves of one value.
    unsafe { bpf_probe_read_kernel(scratch, 64, scratch.byte_add(PAGE)) }
});
call!(hp_call_rk_4096, |_: *const c_void, scratch: *mut c_void| {
    // SAFETY: as above.
    unsafe { bpf_probe_read_kernel(scratch, PAGE as u32, scratch.byte_add(PAGE)) }
});

#[inline(always)]
pub(super) fn time(call: impl Fn() -> i64) -> u32 {
    // SAFETY: the helper has no preconditions.
    let start_ns = unsafe { bpf_ktime_get_ns() };
    let mut failed = 0_u64;
    for _ in 0..CALLS_PER_RUN {
        // Opaque, so that the floor's loop is not optimised away.
        failed = record::opaque(failed | call().cast_unsigned());
    }
    // SAFETY: the helper has no preconditions.
    let elapsed_ns = unsafe { bpf_ktime_get_ns() } - start_ns;
    if failed != 0 { CALL_FAILED } else { elapsed_ns.min(u64::from(CALL_FAILED - 1)) as u32 }
}
