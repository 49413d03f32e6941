//! A kprobe that does nothing: whether this kernel has kprobes is found by attaching one.

use aya_ebpf::{macros::kprobe, programs::ProbeContext};

#[kprobe]
fn hp_kprobe_trial(_ctx: ProbeContext) -> u32 {
    0
}
