//! Two rounds of SipHash for a draw (Linux 5.10 to 5.18).

use alloc::vec::Vec;

use super::fill_bytes;
use crate::siphash::{Word, round};

/// The state of one CPU, without noise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Siprand<W> {
    pub(super) words: [W; 4],
}

impl<W: Word> Siprand<W> {
    /// `prandom_init_early`: the states of `cpus` CPUs from two random words. One state runs through all of them, each
    /// CPU's number stirred in.
    #[must_use]
    pub fn init_early(random: [W; 2], cpus: usize) -> Vec<Self> {
        let mut words = keyed(random);
        (0..cpus as u64)
            .map(|cpu| {
                stir(&mut words, W::truncated(cpu));
                Self { words }
            })
            .collect()
    }

    /// What the timer does every 40 to 80 seconds: all anew. A 32-bit kernel stirs `more` in for a longer key; a 64-bit
    /// one has no use for it. A word that comes out zero is stored as all ones, since a state of zeros stays one.
    #[must_use]
    pub fn reseeded(random: [W; 2], more: [W; 2]) -> Self {
        let mut words = keyed(random);
        if W::BYTES == 4 {
            more.into_iter().for_each(|word| stir(&mut words, word));
        }
        let ones = W::truncated(u64::MAX);
        Self { words: words.map(|word| if word == W::default() { ones } else { word }) }
    }

    /// `prandom_seed`: stirs `entropy` in until no word is zero.
    pub fn stir(&mut self, entropy: W) {
        loop {
            stir(&mut self.words, entropy);
            if !self.words.contains(&W::default()) {
                break;
            }
        }
    }

    /// The next number: the sum of two words *after* the rounds.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        advance(&mut self.words);
        output(&self.words)
    }

    /// Fills `out`: four bytes a draw, little end first, the last draw cut.
    pub fn fill_bytes(&mut self, out: &mut [u8]) {
        fill_bytes(out, || self.draw());
    }

    /// The four words.
    #[must_use]
    pub fn state(&self) -> [W; 4] {
        self.words
    }
}

fn keyed<W: Word>([first, second]: [W; 2]) -> [W; 4] {
    [first, second, first ^ W::KEYS[0], second ^ W::KEYS[1]]
}

/// As SipHash takes a word of input.
fn stir<W: Word>(words: &mut [W; 4], word: W) {
    words[3] = words[3] ^ word;
    advance(words);
    words[0] = words[0] ^ word;
}

#[inline]
pub(super) fn advance<W: Word>(words: &mut [W; 4]) {
    round(words);
    round(words);
}

#[inline]
pub(super) fn output<W: Word>(words: &[W; 4]) -> u32 {
    words[1].plus(words[3]).widened() as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Each step of a round undone, last first.
    fn undo([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
        c = c.rotate_right(32);
        b = (b ^ c).rotate_right(17);
        c = c.wrapping_sub(b);
        d = (d ^ a).rotate_right(21);
        a = a.wrapping_sub(d);
        d = (d ^ c).rotate_right(16);
        c = c.wrapping_sub(d);
        a = a.rotate_right(32);
        b = (b ^ a).rotate_right(13);
        a = a.wrapping_sub(b);
        [a, b, c, d]
    }

    /// Then no two states become one, every state lies on a cycle, and no draw loses any of the seed. How long the
    /// cycles are nobody knows.
    #[test]
    fn draws_lose_no_state() {
        let mut generator = Siprand::reseeded([0x0123_4567_89ab_cdef, 42], [0; 2]);
        for _ in 0..100 {
            let before = generator.state();
            generator.draw();
            assert_eq!(undo(undo(generator.state())), before);
        }
    }

    #[test]
    fn a_state_of_zeros_stays_one_and_no_seeding_leaves_it() {
        let mut zeros = Siprand { words: [0_u64; 4] };
        assert_eq!((zeros.draw(), zeros.state()), (0, [0; 4]));
        zeros.stir(1);
        assert!(!zeros.state().contains(&0));
        let reseeded = Siprand::reseeded([0_u64; 2], [0; 2]);
        assert!(!reseeded.state().contains(&0));
    }

    #[test]
    fn only_the_narrow_generator_takes_the_second_pair() {
        assert_eq!(Siprand::reseeded([1_u64, 2], [3, 4]), Siprand::reseeded([1_u64, 2], [5, 6]));
        assert_ne!(Siprand::reseeded([1_u32, 2], [3, 4]), Siprand::reseeded([1_u32, 2], [5, 6]));
    }
}
