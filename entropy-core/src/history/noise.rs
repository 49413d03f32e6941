//! What is added to the generator of 2020 between its draws, and when.
//!
//! In the mail's forms noise goes into the last word only. SipHash takes its input into the first one too, after the
//! rounds; of the forms here only [`Upstream`] does.

use super::{
    counter::Counter,
    siprand::{Siprand, advance, output},
};
use crate::{
    clock::CycleSource,
    siphash::{Word, round},
};

/// Draws between two readings of the clock.
const EVERY: u8 = 8;

/// When noise is added, and what.
pub trait NoiseGate<W: Word> {
    /// Before the rounds of a draw.
    fn before(&mut self, words: &mut [W; 4], clock: &mut impl CycleSource);

    /// After the rounds.
    fn after(&mut self, words: &mut [W; 4]) {
        let _ = words;
    }
}

/// The generator with a gate.
///
/// ```
/// use entropy_core::history::{CountUp, Noisy, Siprand};
///
/// let mut readings = 0;
/// let mut clock = || { readings += 1; 1000 * readings };
/// let mut generator = Noisy::new(Siprand::<u64>::reseeded([1, 2], [0; 2]), CountUp::<u64, u64>::default());
/// for _ in 0..24 {
///     generator.draw(&mut clock);
/// }
/// assert_eq!(readings, 3);
/// ```
#[derive(Clone, Debug)]
pub struct Noisy<W, G> {
    words: [W; 4],
    /// The gate.
    pub gate: G,
}

impl<W: Word, G: NoiseGate<W>> Noisy<W, G> {
    /// `generator` as it is, and a gate.
    #[must_use]
    pub fn new(generator: Siprand<W>, gate: G) -> Self {
        Self { words: generator.words, gate }
    }

    /// The next number.
    #[inline]
    pub fn draw(&mut self, clock: &mut impl CycleSource) -> u32 {
        let mut words = self.words;
        self.gate.before(&mut words, clock);
        advance(&mut words);
        self.gate.after(&mut words);
        self.words = words;
        output(&words)
    }

    /// The four words.
    #[must_use]
    pub fn state(&self) -> [W; 4] {
        self.words
    }
}

/// Nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNoise;

impl<W: Word> NoiseGate<W> for NoNoise {
    #[inline]
    fn before(&mut self, _: &mut [W; 4], _: &mut impl CycleSource) {}
}

/// The clock at every draw, used at the next one: the mail's first attempt, which cost 2.5 % of its connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryDraw<W> {
    /// Sum of the readings.
    pub noise: W,
}

impl<W: Word> NoiseGate<W> for EveryDraw<W> {
    #[inline]
    fn before(&mut self, words: &mut [W; 4], clock: &mut impl CycleSource) {
        use_saved(&mut self.noise, words, clock);
    }
}

/// `++count >= 8`: the mail's proposal. Draws 8, 16, 24 and so on; the first of them adds nothing, since nothing has been
/// read yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountUp<W, C> {
    /// Sum of the readings.
    pub noise: W,
    /// Draws since the last reading. `unsigned long` in the mail.
    pub count: C,
}

impl<W: Word, C: Counter> NoiseGate<W> for CountUp<W, C> {
    #[inline]
    fn before(&mut self, words: &mut [W; 4], clock: &mut impl CycleSource) {
        if self.count.increment_reaches(EVERY) {
            use_saved(&mut self.noise, words, clock);
            self.count.set(0);
        }
    }
}

/// `count-- <= 0`, then `count = RELOAD`: the answer to the mail, said to give better code. As suggested `RELOAD` is 8,
/// which fires at draws 1, 10, 19: every *ninth*. With 7 it is every eighth.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountDown<W, C, const RELOAD: u8> {
    /// Sum of the readings.
    pub noise: W,
    /// Draws until the next reading.
    pub count: C,
}

impl<W: Word, C: Counter, const RELOAD: u8> NoiseGate<W> for CountDown<W, C, RELOAD> {
    #[inline]
    fn before(&mut self, words: &mut [W; 4], clock: &mut impl CycleSource) {
        if self.count.decrement_was_spent() {
            use_saved(&mut self.noise, words, clock);
            self.count.set(RELOAD);
        }
    }
}

/// When the low three bits of the last word are zero, as they are at one draw in eight: no counter, and nobody who does
/// not know the state knows when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistical;

impl<W: Word> NoiseGate<W> for Statistical {
    #[inline]
    fn before(&mut self, words: &mut [W; 4], clock: &mut impl CycleSource) {
        if words[3].widened() & 7 == 0 {
            words[3] = words[3] ^ W::truncated(clock.cycles());
        }
    }
}

/// The clock at every draw, and eight readings added at every eighth: each 32 bits, at 32-bit offsets across the state, which
/// has eight such places in a 64-bit kernel and four, used twice, in a 32-bit one.
///
/// The proposal exists in words only. Here a reading is cut to its low 32 bits and added to the word that holds its place,
/// so that a carry from a word's low half goes into its high half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffered {
    readings: [u32; EVERY as usize],
    taken: usize,
}

impl<W: Word> NoiseGate<W> for Buffered {
    #[inline]
    fn before(&mut self, words: &mut [W; 4], clock: &mut impl CycleSource) {
        self.readings[self.taken] = clock.cycles() as u32;
        self.taken = (self.taken + 1) % self.readings.len();
        if self.taken == 0 {
            for (place, reading) in self.readings.into_iter().enumerate() {
                let byte = 4 * place % (4 * W::BYTES);
                let shifted = u64::from(reading) << (8 * (byte % W::BYTES));
                words[byte / W::BYTES] = words[byte / W::BYTES].plus(W::truncated(shifted));
            }
        }
    }
}

/// What Linux 5.10 took: no clock in the draw. Others ([`add`](Self::add)) leave noise beside the state, of which a draw
/// takes the latest, in both words that SipHash uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Upstream<W> {
    /// The noise of this CPU (`net_rand_noise`).
    pub noise: W,
}

impl<W: Word> Upstream<W> {
    /// `PRANDOM_ADD_NOISE`: what a packet that is sent, or a tick of the timer, leaves.
    #[inline]
    pub fn add(&mut self, mut what: [W; 4]) {
        what[0] = what[0] ^ self.noise;
        round(&mut what);
        self.noise = what[3];
    }
}

impl<W: Word> NoiseGate<W> for Upstream<W> {
    #[inline]
    fn before(&mut self, words: &mut [W; 4], _: &mut impl CycleSource) {
        words[3] = words[3] ^ self.noise;
    }

    #[inline]
    fn after(&mut self, words: &mut [W; 4]) {
        words[0] = words[0] ^ self.noise;
    }
}

/// Adds what was read before, then reads: a draw does not depend on the clock at its own moment.
#[inline]
fn use_saved<W: Word>(noise: &mut W, words: &mut [W; 4], clock: &mut impl CycleSource) {
    words[3] = words[3] ^ *noise;
    *noise = noise.plus(W::truncated(clock.cycles()));
}
