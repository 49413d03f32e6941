//! The route that a program looks up and user space has laid.

/// Index of the loopback device of every network namespace.
pub const LOOPBACK: u32 = 1;
/// Where the packet is said to go: an address for benchmarks (RFC 2544), in network order.
pub const DESTINATION: [u8; 4] = [198, 18, 0, 1];
