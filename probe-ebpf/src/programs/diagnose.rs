//! What a program sees, said through the object's log: the only program that logs, so that no measured path
//! pays for it.

use aya_ebpf::{
    helpers::{bpf_get_current_pid_tgid, bpf_get_smp_processor_id, bpf_ktime_get_ns},
    macros::raw_tracepoint,
    programs::RawTracePointContext,
};
use aya_log_ebpf::info;

#[raw_tracepoint]
fn hp_diagnose(ctx: RawTracePointContext) -> i32 {
    let pid_tgid = bpf_get_current_pid_tgid();
    // SAFETY: the helpers have no preconditions.
    let (cpu, now_ns) = unsafe { (bpf_get_smp_processor_id(), bpf_ktime_get_ns()) };
    info!(&ctx, "process {} thread {} cpu {} clock {} ns", pid_tgid >> 32, pid_tgid as u32, cpu, now_ns);
    0
}
