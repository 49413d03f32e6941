//! How much randomness the time of an event has: three differences, the smallest of them, its logarithm.

/// Where an event came from. Each source has a [`TimerState`] of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// All keyboards.
    Keyboard,
    /// All mice.
    Mouse,
    /// One interrupt line.
    Interrupt(u32),
    /// One disk.
    Disk {
        /// Its major number.
        major: u32,
        /// The minor number of the whole disk.
        minor: u32,
    },
}

/// Something that happened at a time that an attacker does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key went down or up.
    Key {
        /// Its code; a code repeated is a key held, and counts for nothing.
        scancode: u8,
    },
    /// A mouse moved.
    Mouse {
        /// What it reported.
        data: u32,
    },
    /// An interrupt arrived.
    Interrupt {
        /// Its line.
        irq: u32,
    },
    /// A disk finished a request.
    Disk {
        /// Its major number.
        major: u32,
        /// The minor number of the whole disk.
        minor: u32,
    },
}

impl Event {
    /// Whose state estimates it.
    #[must_use]
    pub fn source(self) -> Source {
        match self {
            Self::Key { .. } => Source::Keyboard,
            Self::Mouse { .. } => Source::Mouse,
            Self::Interrupt { irq } => Source::Interrupt(irq),
            Self::Disk { major, minor } => Source::Disk { major, minor },
        }
    }

    /// The number that is mixed in beside the time, so that two sources at one moment differ.
    #[must_use]
    pub fn num(self) -> u32 {
        match self {
            Self::Key { scancode } => u32::from(scancode),
            Self::Mouse { data } => data,
            Self::Interrupt { irq } => irq.wrapping_add(0x100),
            // A device number has 20 bits of minor in 2.6.
            Self::Disk { major, minor } => (major << 20 | minor).wrapping_add(0x100),
        }
    }
}

/// What is queued for an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// What is mixed, in this order.
    pub words: [u32; 2],
    /// What is credited for it, in bits.
    pub credit_bits: u32,
}

impl Sample {
    /// The event's number with the high half of the time folded in, and the low half.
    #[must_use]
    pub fn new(num: u32, time: u64, credit_bits: u32) -> Self {
        Self { words: [num ^ (time >> 32) as u32, time as u32], credit_bits }
    }
}

/// What the time of an event was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// First, second and third difference, in units of the clock.
    pub differences: [i64; 3],
    /// The smallest of their absolute values.
    pub min: u64,
    /// Credit in bits: 0 to 11; none as long as one of the differences comes from a clock that went back.
    pub credit_bits: u32,
}

/// What one source remembers of its last event. All zero at first, so a first event is worth its whole time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerState {
    last_time: u64,
    last_difference: i64,
    last_second: i64,
}

impl TimerState {
    /// Estimates an event at `time`. A clock that stands still, or ticks evenly, earns nothing.
    ///
    /// The mask is a trap: half the smallest difference is cut to its low twelve bits *before* the logarithm, so 4096
    /// is worth nothing and not twelve bits.
    ///
    /// A clock that went back earns nothing either, until the three differences have forgotten it. The original took
    /// absolute values, and would have paid for each step of a clock that somebody sets back and forth.
    pub fn estimate(&mut self, time: u64) -> Estimate {
        let first = time.wrapping_sub(self.last_time).cast_signed();
        let second = first.wrapping_sub(self.last_difference);
        let third = second.wrapping_sub(self.last_second);
        let before_last = self.last_difference.wrapping_sub(self.last_second);
        let went_back = [first, self.last_difference, before_last].iter().any(|step| step.is_negative());
        *self = Self { last_time: time, last_difference: first, last_second: second };

        let min = first.unsigned_abs().min(second.unsigned_abs()).min(third.unsigned_abs());
        let credit_bits = if went_back { 0 } else { int_ln_12bits((min >> 1) as u32 & 0xfff) };
        Estimate { differences: [first, second, third], min, credit_bits }
    }
}

/// The binary logarithm of a number of twelve bits, rounded down; of nothing, nothing.
#[must_use]
pub fn int_ln_12bits(word: u32) -> u32 {
    word.checked_ilog2().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_makes_4096_worth_nothing() {
        let credit = |first: u64| TimerState::default().estimate(first).credit_bits;
        assert_eq!(credit(2 * 4095), 11);
        assert_eq!(credit(2 * 4096), 0);
        assert_eq!(credit(2 * 4097), 0);
        assert_eq!(credit(2 * 4098), 1);
    }

    #[test]
    fn clocks_that_stand_still_or_tick_evenly_earn_nothing() {
        for step in [0, 100, 1 << 20] {
            let mut state = TimerState::default();
            let earned = (0..20).map(|tick| state.estimate(12345 + tick * step).credit_bits);
            // The first two events still see the start from zero.
            assert_eq!(earned.skip(3).sum::<u32>(), 0, "step {step}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_earns_nothing_until_it_is_forgotten() {
        let mut state = TimerState::default();
        // By no even steps, so that each would be worth something.
        let mut credit = |time| state.estimate(time).credit_bits;
        assert!(credit(10_000) > 0 && credit(10_700) > 0 && credit(13_000) > 0);
        assert_eq!(
            [credit(12_000), credit(12_345), credit(14_000)],
            [0; 3],
            "back by 1000, and two events on"
        );
        assert!(credit(14_900) > 0);
        // Back and forth for ever.
        let mut earned = (0..100).map(|at| credit(20_000 + at % 2 * (at * 37 % 101)));
        assert_eq!(earned.by_ref().skip(3).sum::<u32>(), 0);
        for time in [u64::MAX, 0, 1 << 63, 5, u64::MAX / 2] {
            assert!(TimerState::default().estimate(time).credit_bits <= 11);
        }
    }

    #[test]
    fn numbers_tell_the_sources_apart() {
        assert_eq!(Event::Key { scancode: 30 }.num(), 30);
        assert_eq!(Event::Interrupt { irq: 14 }.num(), 0x10e);
        assert_eq!(Event::Disk { major: 3, minor: 64 }.num(), 0x100 + (3 << 20) + 64);
    }
}
