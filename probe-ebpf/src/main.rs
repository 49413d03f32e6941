//! The eBPF programs; empty on a host target.
fn main() {}
