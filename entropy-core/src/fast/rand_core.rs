//! The traits of `rand_core`, the one for secrets included.

use rand_core::{Infallible, SeedableRng, TryCryptoRng, TryRng};

use super::ErasingRng;
use crate::chacha::KEY_BYTES;

/// Draws that cannot fail, or panic.
macro_rules! infallible {
    ($generator:ty) => {
        impl TryRng for $generator {
            type Error = Infallible;

            #[inline]
            fn try_next_u32(&mut self) -> Result<u32, Infallible> {
                Ok(self.next_u32())
            }
            #[inline]
            fn try_next_u64(&mut self) -> Result<u64, Infallible> {
                Ok(self.next_u64())
            }
            #[inline]
            fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
                self.fill(out);
                Ok(())
            }
        }

        impl TryCryptoRng for $generator {}
    };
}

infallible!(ErasingRng);
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
infallible!(super::FastRng);
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
infallible!(super::ThreadRng);

impl SeedableRng for ErasingRng {
    type Seed = [u8; KEY_BYTES];

    fn from_seed(seed: Self::Seed) -> Self {
        Self::new(&seed)
    }
}
