//! Pairs on the events of single system calls: one pair of programs for all of them.
//!
//! A record of `syscalls:sys_enter_*` holds the number at offset 8 and the arguments from 16 on, eight bytes
//! each. The offset of a size argument is fixed in each program and not read from a map, since the kernel
//! refuses to attach a program to a call with fewer arguments than the program could read.

use core::ffi::c_void;

use aya_ebpf::{
    EbpfContext as _,
    macros::{map, tracepoint},
    maps::Array,
    programs::TracePointContext,
};
use probe_abi::{maps, pairing::Frame, quality::Quality};

use super::{record, whose};

const NUMBER_OFFSET: usize = 8;
const ARGUMENTS_OFFSET: usize = 16;

#[map]
pub(super) static SYSCALLS: Array<u32> = Array::with_max_entries(maps::SYSCALL_NUMBERS, 0);

#[tracepoint]
fn hp_sys_enter(ctx: TracePointContext) -> u32 {
    enter(ctx.as_ptr(), |_| None);
    0
}

#[tracepoint]
fn hp_sys_enter_s1(ctx: TracePointContext) -> u32 {
    enter(ctx.as_ptr(), |record| Some(argument::<1>(record)));
    0
}

#[tracepoint]
fn hp_sys_enter_s2(ctx: TracePointContext) -> u32 {
    enter(ctx.as_ptr(), |record| Some(argument::<2>(record)));
    0
}

#[tracepoint]
fn hp_sys_exit(ctx: TracePointContext) -> u32 {
    if let Some((thread, target)) = traced(ctx.as_ptr()) {
        record::exit(ctx.as_ptr(), maps::frame_key(thread, target), || {
            record::count(target, Quality::Unmatched);
        });
    }
    0
}

#[inline(always)]
fn enter(record: *mut c_void, size: impl Fn(*mut c_void) -> Option<u64>) {
    if let Some((thread, target)) = traced(record) {
        let row = record::row(target, size(record));
        record::enter(maps::frame_key(thread, target), target, row, Frame::enter_alone);
    }
}

#[inline(always)]
fn traced(record: *mut c_void) -> Option<(u32, u32)> {
    // SAFETY: every record of these events has an int here.
    let number = unsafe { record.byte_add(NUMBER_OFFSET).cast::<i32>().read() };
    let target = target(number.cast_unsigned())?;
    Some((whose::thread()?, target))
}

/// The target of the system call `number`, if it is traced.
#[inline(always)]
pub(super) fn target(number: u32) -> Option<u32> {
    SYSCALLS.get(number)?.checked_sub(1)
}

#[inline(always)]
fn argument<const INDEX: usize>(record: *mut c_void) -> u64 {
    // SAFETY: the kernel attaches the program only where the record has this argument.
    unsafe { record.byte_add(ARGUMENTS_OFFSET + 8 * INDEX).cast::<u64>().read() }
}
