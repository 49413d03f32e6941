//! The traits of `rand_core` for the historic generators, without the one for secrets.

use rand_core::{Infallible, TryRng};

use super::{Lfsr113, Siprand};
use crate::siphash::Word;

impl TryRng for Lfsr113 {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.draw())
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(self.draw()) | u64::from(self.draw()) << 32)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl<W: Word> TryRng for Siprand<W> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.draw())
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(self.draw()) | u64::from(self.draw()) << 32)
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill_bytes(out);
        Ok(())
    }
}
