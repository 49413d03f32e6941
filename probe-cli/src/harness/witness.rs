//! The frequency witness: a chain of multiplications, each waiting for the one before.
//!
//! There is no cycle counter in most guests, but the latency of a multiplication in cycles is fixed for a CPU.
//! What the chain takes in ns therefore follows the frequency, and touches no memory.

use std::hint::black_box;

use super::clock;

/// Multiplications in a chain.
pub(super) const STEPS: u32 = 512;

/// Ticks that the chain takes now. The best of three, so that one interrupt does not look like a slow CPU.
pub(super) fn read() -> u64 {
    (0..3)
        .map(|_| {
            let begin = clock::now().ticks;
            black_box(chain(black_box(3)));
            clock::now().ticks.saturating_sub(begin)
        })
        .min()
        .unwrap_or(0)
}

/// Squares again and again: no shorter form exists that a compiler could put in its place.
#[inline(never)]
fn chain(mut x: u64) -> u64 {
    for _ in 0..STEPS {
        x = x.wrapping_mul(x);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_walked_to_its_end() {
        // Odd numbers modulo 2^64 have an order that divides 2^62, so 512 squarings end at 1; zero stays zero.
        assert_eq!((chain(3), chain(u64::MAX), chain(0)), (1, 1, 0));
        assert!(read() > 0);
    }
}
