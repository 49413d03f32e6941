//! The table's epoch: everything that a flush changes, in one word.

/// Random value, active half and number of flushes.
///
/// A thread that worked something out under one epoch compares before it relies on it. The count is there for
/// the thread that slept through two flushes which happened to draw the same random value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Epoch(pub(crate) u64);

impl Epoch {
    const HALF: u64 = 1 << 32;
    const FLUSH: u64 = 1 << 33;

    pub(crate) fn first(rnd: u32) -> Self {
        Self(u64::from(rnd))
    }

    /// The hash's initial value.
    pub(crate) fn rnd(self) -> u32 {
        self.0 as u32
    }

    /// Which of the two sets of buckets is in use.
    pub(crate) fn half(self) -> usize {
        usize::from(self.0 & Self::HALF != 0)
    }

    /// The epoch after this one; the count wraps after 2^31 flushes.
    pub(crate) fn next(self, rnd: u32, switch_half: bool) -> Self {
        let counted = (self.0 >> 32 << 32).wrapping_add(Self::FLUSH);
        let half = if switch_half { Self::HALF } else { 0 };
        Self((counted ^ half) | u64::from(rnd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_do_not_disturb_each_other() {
        let mut epoch = Epoch::first(u32::MAX);
        for (rnd, switch, half) in [(0, false, 0), (u32::MAX, true, 1), (7, false, 1), (7, true, 0)] {
            let next = epoch.next(rnd, switch);
            assert_eq!((next.rnd(), next.half()), (rnd, half));
            assert_eq!(next.0 >> 33, (epoch.0 >> 33) + 1);
            epoch = next;
        }
        let last = Epoch(u64::MAX).next(3, false);
        assert_eq!((last.rnd(), last.half(), last.0 >> 33), (3, 1, 0), "the count wraps into itself");
    }
}
