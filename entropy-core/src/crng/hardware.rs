//! The processor's random numbers, not trusted blindly: some have answered all ones, for ever.

use crate::clock::CycleSource;

/// Words for the seed block: the processor's where it gives some, the clock's where it does not.
///
/// Zero, all ones and the same word twice in a row are taken for a source that is stuck. Refusing them costs a good source
/// about one word in 2^62.
#[derive(Debug)]
pub struct Hardware<H, C> {
    instruction: H,
    clock: C,
    last: Option<u64>,
    refused: u64,
}

impl<H: FnMut() -> Option<u64>, C: CycleSource> Hardware<H, C> {
    /// `instruction` as RDSEED is: it may have nothing to give. `clock` always has.
    #[must_use]
    pub fn new(instruction: H, clock: C) -> Self {
        Self { instruction, clock, last: None, refused: 0 }
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        if let Some(word) = (self.instruction)() {
            let stuck = word == 0 || word == u64::MAX || self.last == Some(word);
            self.last = Some(word);
            if !stuck {
                return word;
            }
            self.refused += 1;
        }
        self.clock.cycles()
    }

    /// Words that the processor gave and that were not believed.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stuck_processor_is_not_believed() {
        for stuck in [0, u64::MAX, 42] {
            let mut hardware = Hardware::new(|| Some(stuck), || 7);
            let words = [hardware.word(), hardware.word(), hardware.word()];
            // The first 42 may be chance.
            assert_eq!(words, if stuck == 42 { [42, 7, 7] } else { [7; 3] });
            assert_eq!(hardware.refused(), if stuck == 42 { 2 } else { 3 });
        }
    }

    #[test]
    fn where_the_processor_has_none_the_clock_gives() {
        let mut hardware = Hardware::new(|| None, || 7);
        assert_eq!((hardware.word(), hardware.refused()), (7, 0));
    }
}
