//! The eBPF object: loading, attaching, reading.
