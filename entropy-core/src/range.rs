//! Numbers below a bound, each with the same chance.
//!
//! A remainder favours the small numbers, since 2^64 is hardly ever a multiple of the bound. Here a draw is multiplied by
//! the bound, and the high half is the number (Lemire, "Fast random integer generation in an interval", 2019); the few
//! draws too many are drawn again: one in two at the very worst, none that anybody would notice below 2^32.

/// A number below `ceiling` from draws of 32 bits, as the kernel's `get_random_u32_below` makes it; 0 if there is none or
/// only one, without a draw.
///
/// ```
/// use entropy_core::range::below_u32;
///
/// let mut draws = [0x8000_0001].into_iter();
/// assert_eq!(below_u32(6, || draws.next().unwrap()), 3);
/// ```
pub fn below_u32(ceiling: u32, mut draw: impl FnMut() -> u32) -> u32 {
    if ceiling <= 1 {
        return 0;
    }
    let mut product = u64::from(ceiling) * u64::from(draw());
    if (product as u32) < ceiling {
        let unfair = ceiling.wrapping_neg() % ceiling;
        while (product as u32) < unfair {
            product = u64::from(ceiling) * u64::from(draw());
        }
    }
    (product >> 32) as u32
}

/// The same from draws of 64 bits.
///
/// ```
/// use entropy_core::{fast::ErasingRng, range::below_u64};
///
/// let mut rng = ErasingRng::new(&[7; 32]);
/// let die = 1 + below_u64(6, || rng.next_u64());
/// assert!((1..=6).contains(&die));
/// ```
pub fn below_u64(ceiling: u64, mut draw: impl FnMut() -> u64) -> u64 {
    if ceiling <= 1 {
        return 0;
    }
    let mut product = u128::from(ceiling) * u128::from(draw());
    if (product as u64) < ceiling {
        let unfair = ceiling.wrapping_neg() % ceiling;
        while (product as u64) < unfair {
            product = u128::from(ceiling) * u128::from(draw());
        }
    }
    (product >> 64) as u64
}

/// Fair numbers of a range, by every generator.
///
/// ```
/// use entropy_core::{fast::ErasingRng, range::Ranges as _};
///
/// let mut rng = ErasingRng::new(&[7; 32]);
/// assert!((1..=6).contains(&rng.within(1..=6)));
/// assert!(rng.below(52) < 52);
/// ```
#[cfg(feature = "rand_core")]
pub trait Ranges: rand_core::Rng {
    /// A number below `ceiling`; 0 if there is none or only one.
    fn below(&mut self, ceiling: u64) -> u64 {
        below_u64(ceiling, || self.next_u64())
    }

    /// A number from `range`, both ends included.
    ///
    /// # Panics
    ///
    /// If there is none.
    fn within(&mut self, range: core::ops::RangeInclusive<u64>) -> u64 {
        let (first, last) = range.into_inner();
        assert!(first <= last, "a range from {first} to {last} is empty");
        match (last - first).checked_add(1) {
            Some(numbers) => first + self.below(numbers),
            // Every number there is.
            None => self.next_u64(),
        }
    }
}

#[cfg(feature = "rand_core")]
impl<R: rand_core::Rng + ?Sized> Ranges for R {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_32_bits_are_fair() {
        for ceiling in [2, 3, 5, 6, 7, 1000, 1 << 31, (1 << 31) + 1, u32::MAX] {
            // 2^32 mod ceiling draws have to go: counted over the low halves of a product, which are all below that.
            let unfair = ((1_u64 << 32) % u64::from(ceiling)) as u32;
            let mut draws = [0, u32::MAX].into_iter();
            let number = below_u32(ceiling, || draws.next().unwrap());
            // Draw 0 has a low half of 0: it goes unless nothing has to.
            assert_eq!(number, if unfair == 0 { 0 } else { ceiling - 1 });
        }
        assert_eq!([below_u32(0, || panic!("no draw")), below_u32(1, || panic!("no draw"))], [0, 0]);
    }

    #[test]
    fn ranges_of_64_bits_are_fair() {
        for ceiling in [2, 3, 5, 6, 7, 1000, 1 << 32, 1 << 63, (1 << 63) + 1, u64::MAX] {
            let unfair = ((1_u128 << 64) % u128::from(ceiling)) as u64;
            let mut draws = [0, u64::MAX].into_iter();
            let number = below_u64(ceiling, || draws.next().unwrap());
            assert_eq!(number, if unfair == 0 { 0 } else { ceiling - 1 });
        }
        assert_eq!([below_u64(0, || panic!("no draw")), below_u64(1, || panic!("no draw"))], [0, 0]);
    }

    /// Sixteen bits would show it at once; of 32 each number's share of all draws is counted exactly, by its edges.
    #[test]
    fn each_number_has_as_many_draws_as_any_other() {
        for ceiling in [3_u32, 6, 1000, 65_537] {
            let kept = |draw: u64| (u64::from(ceiling) * draw) as u32 >= ceiling.wrapping_neg() % ceiling;
            // The draws of a number follow each other: from the first product past `number << 32` on.
            for number in [0, 1, ceiling / 2, ceiling - 1] {
                let first = (u64::from(number) << 32).div_ceil(u64::from(ceiling));
                let end = (u64::from(number + 1) << 32).div_ceil(u64::from(ceiling));
                // Those that go are at the beginning.
                let gone = (first..end).take_while(|&draw| !kept(draw)).count() as u64;
                assert_eq!(end - first - gone, (1 << 32) / u64::from(ceiling), "{ceiling} {number}");
            }
        }
    }

    #[cfg(feature = "rand_core")]
    #[test]
    fn both_ends_of_a_range_are_in_it() {
        let mut rng = crate::fast::ErasingRng::new(&[1; 32]);
        let mut seen = [false; 4];
        (0..200).for_each(|_| seen[rng.within(7..=10) as usize - 7] = true);
        assert_eq!(seen, [true; 4]);
        assert_eq!((rng.within(5..=5), rng.below(1), rng.below(0)), (5, 0, 0));
        assert_ne!(rng.within(0..=u64::MAX), rng.within(0..=u64::MAX));
    }

    #[cfg(feature = "rand_core")]
    #[test]
    #[should_panic(expected = "a range from 6 to 5 is empty")]
    fn an_empty_range_has_no_number() {
        #[expect(clippy::reversed_empty_ranges, reason = "that is the point")]
        crate::fast::ErasingRng::new(&[1; 32]).within(6..=5);
    }
}
