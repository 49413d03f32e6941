//! LFSR113, "Tausworthe": four shift registers side by side (Linux up to 5.8; `prandom_u32_state` to this day).

use super::fill_bytes;

/// Shifts, mask and rotation of each register.
const REGISTERS: [Register; 4] = [
    Register { left: 6, right: 13, mask: !1, up: 18 },
    Register { left: 2, right: 27, mask: !7, up: 2 },
    Register { left: 13, right: 21, mask: !15, up: 7 },
    Register { left: 3, right: 12, mask: !127, up: 13 },
];

/// The smallest state that each register may start from: below it only bits that are masked off are set.
const MINIMA: [u32; 4] = [2, 8, 16, 128];

/// Draws that are thrown away after seeding.
const WARM_UP: u32 = 10;

/// Multiplier of the congruential generator that spreads a seed over the registers.
const SPREAD: u32 = 69069;

#[derive(Clone, Copy)]
struct Register {
    left: u32,
    right: u32,
    mask: u32,
    up: u32,
}

impl Register {
    #[inline]
    const fn step(self, state: u32) -> u32 {
        ((state & self.mask) << self.up) ^ (((state << self.left) ^ state) >> self.right)
    }
}

/// Four registers of 31, 29, 28 and 25 bits: a period of about 2^113, and every output a linear function of the state.
///
/// ```
/// let mut generator = entropy_core::history::Lfsr113::seeded(1);
/// assert_eq!(generator.draw(), 3_484_351_685);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lfsr113([u32; 4]);

impl Lfsr113 {
    /// As the kernel seeds early and tests itself: spread, then warmed up.
    #[must_use]
    pub fn seeded(seed: u32) -> Self {
        let mut generator = Self::spread(seed);
        generator.warm_up();
        generator
    }

    /// A seed spread over the registers, not warmed up: each word is made from the one before it, as that was stored.
    #[must_use]
    pub fn spread(seed: u32) -> Self {
        let mut word = seed;
        Self(MINIMA.map(|minimum| {
            word = at_least(minimum, word.wrapping_mul(SPREAD));
            word
        }))
    }

    /// `prandom_seed_state`: one folded word in all registers, not warmed up. The first draws from it are poor.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let folded = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        Self(MINIMA.map(|minimum| at_least(minimum, folded)))
    }

    /// `prandom_seed` of the time: adds `entropy` to the first register and warms up.
    pub fn stir(&mut self, entropy: u32) {
        self.0[0] = at_least(MINIMA[0], self.0[0] ^ entropy);
        self.warm_up();
    }

    /// Throws ten draws away.
    pub fn warm_up(&mut self) {
        for _ in 0..WARM_UP {
            self.draw();
        }
    }

    /// The next number.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        let [a, b, c, d] = self.0;
        let [first, second, third, fourth] = REGISTERS;
        self.0 = [first.step(a), second.step(b), third.step(c), fourth.step(d)];
        self.0[0] ^ self.0[1] ^ self.0[2] ^ self.0[3]
    }

    /// Fills `out`: four bytes a draw, little end first, the last draw cut.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        fill_bytes(out, || self.draw());
    }

    /// The registers.
    #[must_use]
    pub fn state(&self) -> [u32; 4] {
        self.0
    }
}

const fn at_least(minimum: u32, word: u32) -> u32 {
    if word < minimum { word.wrapping_add(minimum) } else { word }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A linear map of 32 bits: what it makes of each.
    type Map = [u32; 32];

    fn apply(map: &Map, word: u32) -> u32 {
        (0..32).filter(|bit| word >> bit & 1 == 1).fold(0, |sum, bit| sum ^ map[bit])
    }

    fn compose(outer: &Map, inner: &Map) -> Map {
        inner.map(|image| apply(outer, image))
    }

    fn power(map: &Map, mut exponent: u64) -> Map {
        let mut result: Map = core::array::from_fn(|bit| 1 << bit);
        let mut square = *map;
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = compose(&square, &result);
            }
            square = compose(&square, &square);
            exponent /= 2;
        }
        result
    }

    /// A register of k bits goes through all 2^k - 1 states that are not zero: its map has that order and none that
    /// divides it. (On words, one step more on either side, since the first step drops the masked bits.)
    #[test]
    fn every_register_has_its_full_period() {
        let factors: [(u32, &[u64]); 4] = [
            (31, &[2_147_483_647]),
            (29, &[233, 1103, 2089]),
            (28, &[3, 5, 29, 43, 113, 127]),
            (25, &[31, 601, 1801]),
        ];
        for (register, (bits, primes)) in REGISTERS.into_iter().zip(factors) {
            let period = (1_u64 << bits) - 1;
            // 2^25 - 1 has no square in it, nor have the others: the primes multiply to the period.
            assert_eq!(primes.iter().product::<u64>(), period);
            let map: Map = core::array::from_fn(|bit| register.step(1 << bit));
            assert_eq!(power(&map, period + 1), map);
            for prime in primes {
                assert_ne!(power(&map, period / prime + 1), map, "{bits} bits, {prime}");
            }
        }
        // 2^a - 1 and 2^b - 1 share a factor only where a and b do, and these do not: the periods multiply.
        let product = [31, 29, 28, 25].map(|bits| (1_u128 << bits) - 1).iter().product::<u128>();
        assert_eq!(product.ilog2(), 112);
    }

    /// Why it was replaced: the outputs are linear, so the difference of two generators is a third.
    #[test]
    fn outputs_add_like_states() {
        let (mut one, mut other) = (Lfsr113::seeded(1), Lfsr113::seeded(2));
        let mut sum = Lfsr113(core::array::from_fn(|word| one.0[word] ^ other.0[word]));
        for _ in 0..100 {
            assert_eq!(sum.draw(), one.draw() ^ other.draw());
        }
    }

    #[test]
    fn no_register_starts_with_masked_bits_only() {
        for seed in [0, 1, 7, 15, 127, u64::MAX, 1 << 32, 0x3ff] {
            let seeds = [Lfsr113::from_seed(seed), Lfsr113::spread(seed as u32)];
            assert!(seeds.iter().all(|it| it.0.iter().zip(MINIMA).all(|(word, minimum)| *word >= minimum)));
        }
    }
}
