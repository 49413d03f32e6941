//! The fast pool of one CPU: four words, a count with a bit in it, and the gate that says when it is time.

use super::handed::{Handed, credit_bits};
use crate::siphash::{Word, round};

/// Set in the count from the moment a mix is scheduled until it has been done.
pub const MIX_INFLIGHT: u32 = 1 << 31;

/// What an interrupt tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt<W> {
    /// `random_get_entropy()`: the cycle counter.
    pub cycles: W,
    /// The instruction that was interrupted; where that is not known, the address that the handler returns to.
    pub ip: W,
    /// Its number.
    pub irq: i32,
}

/// When a fast pool is handed over: after so many interrupts, or at the first one more than a second after the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Interrupts.
    pub events: u32,
    /// Ticks of a second, `HZ`.
    pub hz: u32,
}

impl Gate {
    /// The gate of worker and timer (Linux 5.18 and later).
    #[must_use]
    pub const fn deferred(hz: u32) -> Self {
        Self { events: 1024, hz }
    }

    /// The gate of mixing inside the interrupt (up to Linux 5.17).
    #[must_use]
    pub const fn in_interrupt(hz: u32) -> Self {
        Self { events: 64, hz }
    }

    /// A second has passed only when *more* than `hz` ticks have.
    fn opens<W: Word>(self, count: u32, last: W, now: W) -> bool {
        count >= self.events || now.is_after(last.plus(W::truncated(self.hz.into())))
    }
}

/// What an interrupt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Counted.
    Counted,
    /// Counted, and a mix is under way already.
    InFlight,
    /// Counted, and a mix is to be scheduled; [`MIX_INFLIGHT`] is set from here.
    Due,
}

/// The state of one CPU (`irq_randomness`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastPool<W> {
    pub(super) words: [W; 4],
    pub(super) last: W,
    pub(super) count: u32,
}

impl<W: Word> Default for FastPool<W> {
    fn default() -> Self {
        Self { words: W::START, last: W::default(), count: 0 }
    }
}

impl<W: Word> FastPool<W> {
    /// A pool that was mixed at tick `last` the last time. A kernel starts with 0.
    #[must_use]
    pub fn mixed_at(last: W) -> Self {
        Self { last, ..Self::default() }
    }

    /// The four words.
    #[must_use]
    pub fn words(&self) -> [W; 4] {
        self.words
    }

    /// Interrupts since the last mix, with [`MIX_INFLIGHT`].
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Stirs two words in, one round each, as SipHash takes its input.
    #[inline]
    pub fn stir(&mut self, first: W, second: W) {
        for word in [first, second] {
            self.words[3] = self.words[3] ^ word;
            round(&mut self.words);
            self.words[0] = self.words[0] ^ word;
        }
    }

    /// Stirs an interrupt in and counts it.
    #[inline]
    pub fn count_in(&mut self, interrupt: Interrupt<W>) -> u32 {
        self.stir(interrupt.cycles, interrupt.ip ^ W::swapped_irq(interrupt.irq));
        self.count = self.count.wrapping_add(1);
        self.count
    }

    /// What `add_interrupt_randomness` does at tick `now`, where a mix is scheduled and not done at once.
    #[inline]
    pub fn interrupt(&mut self, interrupt: Interrupt<W>, gate: Gate, now: W) -> Arrival {
        let count = self.count_in(interrupt);
        if count & MIX_INFLIGHT != 0 {
            return Arrival::InFlight;
        }
        if !gate.opens(count, self.last, now) {
            return Arrival::Counted;
        }
        self.count |= MIX_INFLIGHT;
        Arrival::Due
    }

    /// Whether a mix inside the interrupt is due at tick `now`. Nothing is marked: it is done at once or not at all.
    #[inline]
    pub(super) fn due_inside(&self, gate: Gate, now: W) -> bool {
        gate.opens(self.count, self.last, now)
    }

    /// Takes what a mixer hands over at tick `now`: half of the words, which stay as they are, and the count, which
    /// starts again from nothing.
    pub fn take(&mut self, now: W) -> Handed {
        let handed = self.peek(credit_bits::<W>(self.count));
        (self.count, self.last) = (0, now);
        handed
    }

    pub(super) fn peek(&self, credit_bits: u32) -> Handed {
        Handed::new([self.words[0], self.words[1]], self.count, credit_bits)
    }

    /// The CPU has come online: what was counted is forgotten, and with it a mix that will never come.
    pub fn online(&mut self) {
        self.count = 0;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const QUIET: Interrupt<u32> = Interrupt { cycles: 0, ip: 0, irq: 0 };

    #[test]
    fn the_number_of_an_interrupt_fills_the_word_from_the_top() {
        assert_eq!(u64::swapped_irq(24), 0x1800_0000_0000_0000);
        assert_eq!(u64::swapped_irq(-2), 0xfeff_ffff_ffff_ffff);
        assert_eq!(u32::swapped_irq(24), 0x1800_0000);
    }

    #[test]
    fn the_second_passes_across_a_wrap_of_the_ticks() {
        let mut pool = FastPool::mixed_at(u32::MAX - 10);
        let gate = Gate::deferred(100);
        // 100 ticks later, and one more.
        assert_eq!(pool.interrupt(QUIET, gate, 89), Arrival::Counted);
        assert_eq!(pool.interrupt(QUIET, gate, 90), Arrival::Due);
    }

    #[test]
    fn a_tick_counter_that_goes_back_opens_nothing() {
        let mut pool = FastPool::mixed_at(1000);
        assert_eq!(pool.interrupt(QUIET, Gate::deferred(100), 900), Arrival::Counted);
    }
}
