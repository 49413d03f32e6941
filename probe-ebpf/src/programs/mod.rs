//! The programs, one file a mechanism, and the maps they share.

#![allow(unsafe_code, reason = "helpers of the kernel and values in its maps are behind raw pointers")]

mod call;
mod diagnose;
mod fib;
mod function;
mod kprobe;
mod markers;
mod raw_syscall;
mod record;
mod slow;
mod syscall;
mod timer;
mod user;
mod whose;

/// Helpers that trace are for programs whose licence is compatible with the kernel's.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
