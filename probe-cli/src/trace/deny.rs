//! Kernel functions that must not be probed, whatever the kernel would allow: what the probes themselves run.
//!
//! A probe on the slow path of a spin lock, in programs whose maps take spin locks, has brought machines to a stop; the
//! kernel's own list of what must not be probed does not know what our programs call.

use super::pattern::glob;

/// Patterns and reasons.
const DENIED: &[(&str, &str)] = &[
    ("*queued_spin_lock_slowpath", "the maps of the probe take spin locks"),
    ("_raw_spin_*", "the maps of the probe take spin locks"),
    ("*queued_*_lock_slowpath", "the maps of the probe may wait for locks"),
    ("resilient_*spin_lock*", "the maps of the probe take such locks"),
    ("rqspinlock_*", "the maps of the probe take such locks"),
    ("htab_*", "it is part of the maps of the probe"),
    ("__htab_*", "it is part of the maps of the probe"),
    ("array_map_*", "it is part of the maps of the probe"),
    ("percpu_array_*", "it is part of the maps of the probe"),
    ("bpf_ringbuf_*", "it is part of the maps of the probe"),
    ("__bpf_ringbuf_*", "it is part of the maps of the probe"),
    ("bpf_map_*", "it is part of the maps of the probe"),
    ("pcpu_freelist_*", "it is part of the maps of the probe"),
    ("__pcpu_freelist_*", "it is part of the maps of the probe"),
    ("bpf_get_*", "the probe calls it"),
    ("bpf_ktime_*", "the probe calls it"),
    ("bpf_probe_read*", "the probe calls it"),
    ("__bpf_prog_*", "it is on the way into the probe"),
    ("bpf_trampoline_*", "it is on the way into the probe"),
    ("bpf_prog_*", "it is on the way into the probe"),
    ("trace_call_bpf", "it is on the way into the probe"),
    ("perf_trace_*", "it is on the way into the probe"),
    ("__perf_event_*", "it is on the way into the probe"),
    ("perf_swevent_*", "it is on the way into the probe"),
    ("ktime_get_mono_fast_ns", "the probe reads the time with it"),
    ("migrate_*able", "it is on the way into the probe"),
    ("preempt_count_*", "it is on the way into the probe"),
    ("__rcu_read_*", "it is on the way into the probe"),
    ("rcu_read_*", "it is on the way into the probe"),
    ("ftrace_*", "it is on the way into the probe"),
    ("uprobe_*", "it is on the way into the probe"),
    ("kprobe_*", "it is on the way into the probe"),
    ("arch_*probe*", "it is on the way into the probe"),
    ("exc_int3*", "it is on the way into the probe"),
    ("exc_nmi*", "a probe there may meet itself at any instruction"),
    ("nmi_*", "a probe there may meet itself at any instruction"),
];

/// Why `function` must not be probed, if it must not.
#[must_use]
pub fn reason(function: &str) -> Option<&'static str> {
    let denied = |(pattern, _): &&(&str, &str)| glob(pattern.as_bytes(), function.as_bytes());
    DENIED.iter().find(denied).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::family::{Candidate, Family};

    #[test]
    fn what_programs_run_is_denied() {
        for function in [
            "native_queued_spin_lock_slowpath",
            "queued_read_lock_slowpath",
            "_raw_spin_lock_irqsave",
            "htab_map_update_elem",
            "__htab_map_lookup_elem",
            "bpf_get_current_pid_tgid",
            "__bpf_prog_enter_recur",
            "trace_call_bpf",
            "migrate_disable",
        ] {
            assert!(reason(function).is_some(), "{function}");
        }
    }

    #[test]
    fn what_people_trace_is_not() {
        for function in ["vfs_read", "get_random_bytes_user", "bpf_fentry_test1", "schedule", "tcp_sendmsg"] {
            assert_eq!(reason(function), None, "{function}");
        }
        for question in Family::ALL.iter().flat_map(|family| family.questions()) {
            for candidate in question.candidates {
                if let Candidate::Function(function) = candidate {
                    assert_eq!(reason(&function.name), None, "{}", function.name);
                }
            }
        }
    }
}
