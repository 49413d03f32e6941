//! Jenkins' hash as the kernel had it until 2.6.36, and the route cache's two uses of it.
//!
//! This is the older of his two 32-bit hashes ("lookup2"). The one in today's kernel and in most crates starts
//! from `0xdeadbeef` and gives other values.

use core::net::Ipv4Addr;

/// The fraction of the golden ratio that every hash starts from.
pub const GOLDEN_RATIO: u32 = 0x9e37_79b9;

/// One reversible mix of three words.
const fn mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    /// `x` minus both others, blurred with the shifted `by`.
    macro_rules! step {
        ($x:ident, $y:ident, $z:ident, $shift:tt $by:literal) => {
            $x = $x.wrapping_sub($y).wrapping_sub($z) ^ ($z $shift $by)
        };
    }
    step!(a, b, c, >> 13);
    step!(b, c, a, << 8);
    step!(c, a, b, >> 13);
    step!(a, b, c, >> 12);
    step!(b, c, a, << 16);
    step!(c, a, b, >> 5);
    step!(a, b, c, >> 3);
    step!(b, c, a, << 10);
    step!(c, a, b, >> 15);
    (a, b, c)
}

/// Hash of three words.
#[must_use]
pub const fn jhash_3words(a: u32, b: u32, c: u32, initval: u32) -> u32 {
    mix(a.wrapping_add(GOLDEN_RATIO), b.wrapping_add(GOLDEN_RATIO), c.wrapping_add(initval)).2
}

/// Hash of two words: the third is zero.
#[must_use]
pub const fn jhash_2words(a: u32, b: u32, initval: u32) -> u32 {
    jhash_3words(a, b, 0, initval)
}

/// Hash of one word: the others are zero.
#[must_use]
pub const fn jhash_1word(a: u32, initval: u32) -> u32 {
    jhash_3words(a, 0, 0, initval)
}

/// An address as the kernel's hash saw it: its bytes in network order, loaded by a little-endian CPU.
#[must_use]
pub const fn address_word(address: Ipv4Addr) -> u32 {
    u32::from_le_bytes(address.octets())
}

/// The route cache's hash at the time of the mails (2.6.24 and before); `rnd` is the table's random value.
#[must_use]
pub const fn rt_hash_2words(daddr: u32, saddr: u32, interface: u32, rnd: u32) -> u32 {
    jhash_2words(daddr, saddr ^ (interface << 5), rnd)
}

/// The route cache's hash from 2.6.25 on, where the generation number took the place of the random value.
#[must_use]
pub const fn rt_hash_3words(daddr: u32, saddr: u32, interface: u32, genid: u32) -> u32 {
    jhash_3words(daddr, saddr, interface, genid)
}
