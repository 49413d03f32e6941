//! The eBPF programs; empty on a host target.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]
// For an atomic addition, which core does not offer on this target, and an opaque statement.
#![cfg_attr(target_arch = "bpf", feature(asm_experimental_arch))]

#[cfg(target_arch = "bpf")]
mod programs;

#[cfg(not(target_arch = "bpf"))]
fn main() {}

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // Unreachable in a program that the verifier takes.
    loop {}
}
