//! A pair on a user function that does nothing: what any tool pays for an entry and a return probe, whatever it
//! does in them.

use aya_ebpf::{
    macros::{uprobe, uretprobe},
    programs::{ProbeContext, RetProbeContext},
};

#[uprobe]
fn hp_user_enter(_ctx: ProbeContext) -> u32 {
    0
}

#[uretprobe]
fn hp_user_return(_ctx: RetProbeContext) -> u32 {
    0
}
