//! The generator by itself: a seed is handed in, and nobody is asked.

use core::fmt;

use super::stock::{STOCK_BYTES, Stock};
use crate::chacha::{Backend, KEY_BYTES};

/// ChaCha20 with fast key erasure, for who has a seed and no operating system.
///
/// ```
/// use entropy_core::fast::ErasingRng;
///
/// let seed = [7; 32]; // 32 bytes that nobody can guess
/// let mut rng = ErasingRng::new(&seed);
/// let mut bytes = [0; 100];
/// rng.fill(&mut bytes);
/// assert_ne!(bytes, [0; 100]);
/// ```
///
/// What it hands out is erased, and so is each key before the first byte that was made with it is out. It knows nothing of
/// forks, threads and clones: a process that forks needs [`FastRng`](super::FastRng). The same seed and the same requests
/// give the same bytes in this release; another release, or requests that are cut otherwise, may give others.
pub struct ErasingRng {
    stock: Stock,
    backend: Backend,
}

impl fmt::Debug for ErasingRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErasingRng").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Drop for ErasingRng {
    fn drop(&mut self) {
        self.stock.clear();
    }
}

impl ErasingRng {
    /// From a seed that is as good as a key, by the fastest backend here.
    #[must_use]
    pub fn new(seed: &[u8; KEY_BYTES]) -> Self {
        Self::with_backend(Backend::best(), seed)
    }

    /// The same by a backend of one's choice.
    #[must_use]
    pub fn with_backend(backend: Backend, seed: &[u8; KEY_BYTES]) -> Self {
        let mut rng = Self { stock: Stock::EMPTY, backend };
        rng.stock.seed(seed);
        rng
    }

    /// Takes another seed in place of everything.
    pub fn reseed(&mut self, seed: &[u8; KEY_BYTES]) {
        self.stock.seed(seed);
    }

    /// Fills `out`.
    #[inline]
    pub fn fill(&mut self, out: &mut [u8]) {
        if !self.stock.fill(out) {
            self.fill_and_refill(out);
        }
    }

    /// A number of 32 bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// A number of 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    #[inline]
    fn array<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        const { assert!(BYTES <= STOCK_BYTES - KEY_BYTES, "a full stock has to be enough") };
        self.stock.take().unwrap_or_else(|| self.array_of_a_new_stock())
    }

    #[cold]
    fn array_of_a_new_stock<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        self.stock.refill(self.backend);
        self.stock.take().expect("a full stock is enough")
    }

    #[inline(never)]
    fn fill_and_refill(&mut self, out: &mut [u8]) {
        let rest = self.stock.fill_whole(self.backend, out);
        let rest = self.stock.drain(rest);
        if !rest.is_empty() {
            self.stock.refill(self.backend);
            self.stock.drain(rest);
        }
    }
}
