//! What kernel and user space agree on.
#![no_std]

pub mod batch;
#[cfg(not(target_arch = "bpf"))]
pub mod site;
