//! Keys, mice and disks in the driver of today: `add_timer_randomness`, which shares the fast pool with interrupts.

use super::state::FastPool;
use crate::siphash::Word;

/// What one source of events remembers of the ticks of its last ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerSource<W> {
    last: W,
    last_first: i64,
    last_second: i64,
}

/// An event outside a hard interrupt: it goes to the input pool at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerEvent<W> {
    /// The cycle counter, mixed in first, in the machine's order of bytes.
    pub cycles: W,
    /// The event's own number, mixed in next.
    pub number: u32,
    /// What it is worth, in bits.
    pub credit_bits: u32,
}

impl<W: Word> TimerSource<W> {
    /// What an event at tick `now` is worth: at most 11 bits, by the smallest of the differences of its tick and the last
    /// ones, up to the third order. One bit more than in 2004 for the same difference, and no mask.
    ///
    /// A tick that stands still is worth nothing. One that goes back is worth nothing here, where the kernel takes its
    /// absolute value: the ticks of a kernel never do.
    pub fn worth(&mut self, now: W) -> u32 {
        let first = difference(now, self.last);
        let second = first.wrapping_sub(self.last_first);
        let third = second.wrapping_sub(self.last_second);
        *self = Self { last: now, last_first: first, last_second: second };
        if first < 0 {
            return 0;
        }
        let least = first.unsigned_abs().min(second.unsigned_abs()).min(third.unsigned_abs());
        // `fls`: the number of the highest bit that is set, counted from 1.
        (u64::BITS - (least >> 1).leading_zeros()).min(11)
    }

    /// An event outside a hard interrupt, with the cycle counter and the tick of its moment. Once the generator is `ready`
    /// nobody counts bits any more, and ticks are not looked at.
    pub fn event(&mut self, cycles: W, number: u32, now: W, ready: bool) -> TimerEvent<W> {
        let credit_bits = if ready { 0 } else { self.worth(now) };
        TimerEvent { cycles, number, credit_bits }
    }
}

impl<W: Word> FastPool<W> {
    /// An event of `source` inside a hard interrupt: stirred in like an interrupt. The interrupt itself will be counted, so
    /// the event counts for what it is worth less one; 64 in the count are one bit of credit.
    pub fn timer_event(&mut self, source: &mut TimerSource<W>, cycles: W, number: u32, now: W, ready: bool) {
        self.stir(cycles, W::truncated(number.into()));
        if !ready {
            self.count = self.count.wrapping_add((source.worth(now) * 64).max(1) - 1);
        }
    }
}

/// `now - last` of ticks that wrap, as a signed word of the machine.
fn difference<W: Word>(now: W, last: W) -> i64 {
    let above = u64::BITS - 8 * W::BYTES as u32;
    (now.widened().wrapping_sub(last.widened()) << above).cast_signed() >> above
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn worths(ticks: &[u32]) -> [alloc::vec::Vec<u32>; 2] {
        let (mut wide, mut narrow) = (TimerSource::<u64>::default(), TimerSource::<u32>::default());
        [
            ticks.iter().map(|&tick| wide.worth(tick.into())).collect(),
            ticks.iter().map(|&tick| narrow.worth(tick)).collect(),
        ]
    }

    #[test]
    fn the_smallest_difference_counts_and_its_lowest_bit_does_not() {
        // First differences 100, 300, 900; second 100, 200, 600; third 100, 100, 400. Half of 100 is 50, of six bits;
        // half of 400 is 200, of eight.
        for found in worths(&[100, 400, 1300]) {
            assert_eq!(found, [6, 6, 8]);
        }
        // The first event ever is worth its whole tick, up to 11 bits: 4096 too, which the mask of 2004 made nothing of.
        for (tick, worth) in [(1, 0), (2, 1), (8192, 11), (1 << 30, 11)] {
            assert_eq!(worths(&[tick]), [[worth], [worth]], "{tick}");
        }
    }

    #[test]
    fn a_clock_that_stands_still_ticks_evenly_or_goes_back_earns_nothing() {
        for ticks in [[5000; 4], [5000, 6000, 7000, 8000]] {
            for found in worths(&ticks) {
                assert_eq!(found[2..], [0, 0], "{ticks:?}");
            }
        }
        for found in worths(&[9000, 100]) {
            assert_eq!(found[1], 0);
        }
    }

    #[test]
    fn ticks_of_a_narrow_machine_wrap() {
        let mut source = TimerSource::<u32>::default();
        source.worth(u32::MAX - 99);
        // 200 ticks later; the differences of higher order are as large as the first tick was.
        assert_eq!(source.worth(100), 7);
    }

    #[test]
    fn inside_an_interrupt_64_counts_are_a_bit() {
        let (mut pool, mut source) = (FastPool::<u64>::default(), TimerSource::default());
        let mut naive = pool.clone();
        pool.timer_event(&mut source, 77, 5, 100, false);
        naive.stir(77, 5);
        assert_eq!((pool.words(), pool.count()), (naive.words(), 6 * 64 - 1));
        // Worth nothing: the interrupt that it came in is counted by itself.
        pool.timer_event(&mut source, 78, 5, 100, false);
        assert_eq!(pool.count(), 6 * 64 - 1);
        // Ready: stirred only, and the ticks are not remembered.
        let before = source.clone();
        pool.timer_event(&mut source, 79, 5, 999, true);
        assert_eq!((pool.count(), source), (6 * 64 - 1, before));
    }

    #[test]
    fn outside_an_interrupt_cycles_and_number_go_to_the_pool() {
        let mut source = TimerSource::<u64>::default();
        let first = source.event(77, 5, 100, false);
        assert_eq!(first, TimerEvent { cycles: 77, number: 5, credit_bits: 6 });
        assert_eq!(source.event(78, 6, 5000, true).credit_bits, 0);
    }
}
