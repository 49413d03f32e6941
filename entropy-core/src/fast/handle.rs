//! The generator of a process: seeded by the kernel, and again after a fork, after so many bytes, after so long.

use core::{fmt, time::Duration};

use super::{
    builder::Builder,
    limits::Exposure,
    stock::{STOCK_BYTES, Stock},
};
use crate::{
    chacha::Backend,
    fork::{Protection, WipedPage},
    system::{Error, SystemRng},
    vdso::Errno,
    wipe::wipe,
};

/// Bytes that a long request is filled with before limits are looked at again.
const PIECE_BYTES: usize = 64 * STOCK_BYTES;

/// A handle for fast draws, one for each thread that wants one.
///
/// ```
/// use entropy_core::fast::FastRng;
///
/// let mut rng = FastRng::new()?;
/// let mut bytes = [0; 100];
/// rng.fill(&mut bytes);
/// let die = 1 + rng.next_u32() % 6; // for a fair one see `entropy_core::range`
/// # Ok::<(), entropy_core::fast::NewError>(())
/// ```
///
/// Not for long-lived keys, and not audited: see [the module](super) for what it promises.
pub struct FastRng {
    page: WipedPage<Stock>,
    backend: Backend,
    exposure: Exposure,
    /// Every draw goes to the kernel; nothing is kept.
    strict: bool,
}

/// Why there is no handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewError {
    /// There is no memory to keep the state in.
    Memory(Errno),
    /// There is no seed.
    Seed(Error),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(errno) => write!(f, "no memory could be mapped for the generator's state: {errno}"),
            Self::Seed(error) => write!(f, "the generator could not be seeded: {error}"),
        }
    }
}

impl core::error::Error for NewError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Memory(_) => None,
            Self::Seed(error) => Some(error),
        }
    }
}

impl fmt::Debug for FastRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FastRng")
            .field("backend", &self.backend)
            .field("strict", &self.strict)
            .field("protection", &self.page.protection())
            .finish_non_exhaustive()
    }
}

impl FastRng {
    /// A handle with the usual limits: another seed after 64 KiB and after a minute.
    ///
    /// # Errors
    ///
    /// There is no memory, or the kernel gives no seed.
    pub fn new() -> Result<Self, NewError> {
        Self::builder().build()
    }

    /// A handle of another kind.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(super) fn build(
        backend: Backend,
        bytes: u64,
        time: Duration,
        strict: bool,
    ) -> Result<Self, NewError> {
        let page = WipedPage::new().map_err(NewError::Memory)?;
        // Where a child would find what its parent has, there must be nothing.
        let strict = strict || !page.protection().wiped_on_fork;
        let mut rng = Self { page, backend, exposure: Exposure::new(bytes, time), strict };
        rng.reseed().map_err(NewError::Seed)?;
        Ok(rng)
    }

    /// What the kernel does for the state's memory.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.page.protection()
    }

    /// Whether every draw goes to the kernel: asked for, or because the kernel does not wipe memory on a fork.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Takes another seed from the kernel now. Not needed after a fork: that is noticed.
    ///
    /// # Errors
    ///
    /// The kernel gives none. The next draw tries again if the state has none yet.
    pub fn reseed(&mut self) -> Result<(), Error> {
        let new = !self.page.is_marked();
        if new {
            self.page.lock();
        }
        // Before the seed is asked for: a child that is made from here on finds no mark, and asks for its own.
        self.page.mark();
        if self.strict {
            return Ok(());
        }
        match SystemRng.array() {
            Ok(mut seed) => {
                self.page.get_mut().seed(&seed);
                wipe(&mut seed);
                self.exposure.begin();
                Ok(())
            }
            Err(error) => {
                if new {
                    self.page.unmark();
                }
                Err(error)
            }
        }
    }

    /// Fills `out`.
    ///
    /// # Panics
    ///
    /// If there is no key and the kernel gives no seed for one: in a child of a process that closed its sandbox, or with
    /// a strict handle in such a sandbox.
    #[inline]
    pub fn fill(&mut self, out: &mut [u8]) {
        if let Err(error) = self.try_fill(out) {
            refused(error);
        }
    }

    /// Fills `out`.
    ///
    /// # Errors
    ///
    /// There is no key, and the kernel gives no seed for one: as [`fill`](Self::fill) says. `out` holds nothing that may
    /// be used.
    #[inline]
    pub fn try_fill(&mut self, out: &mut [u8]) -> Result<(), Error> {
        if self.page.get_mut().fill(out) && self.page.is_marked() {
            return Ok(());
        }
        self.fill_slowly(out)
    }

    /// A number of 32 bits.
    ///
    /// # Panics
    ///
    /// As [`fill`](Self::fill).
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// A number of 64 bits.
    ///
    /// # Panics
    ///
    /// As [`fill`](Self::fill).
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    #[inline]
    fn array<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        match self.page.get_mut().take() {
            Some(bytes) if self.page.is_marked() => bytes,
            _ => self.array_slowly(),
        }
    }

    #[cold]
    fn array_slowly<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        if let Err(error) = self.fill_slowly(&mut bytes) {
            refused(error);
        }
        bytes
    }

    /// With a look at everything; until a fork did not come in between.
    #[inline(never)]
    fn fill_slowly(&mut self, out: &mut [u8]) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        loop {
            if !self.page.is_marked() {
                self.reseed()?;
            }
            if self.strict {
                SystemRng.fill(out)?;
            } else {
                self.fill_in_pieces(out);
            }
            if self.page.is_marked() {
                return Ok(());
            }
        }
    }

    fn fill_in_pieces(&mut self, out: &mut [u8]) {
        for piece in out.chunks_mut(PIECE_BYTES) {
            let bytes = piece.len() as u64;
            let mut rest = piece;
            if bytes >= STOCK_BYTES as u64 {
                self.reseed_if_due();
                self.exposure.add(bytes);
                rest = self.page.get_mut().fill_whole(self.backend, rest);
            }
            rest = self.page.get_mut().drain(rest);
            if !rest.is_empty() {
                self.reseed_if_due();
                self.exposure.add(STOCK_BYTES as u64);
                self.page.get_mut().refill(self.backend);
                self.page.get_mut().drain(rest);
            }
        }
    }

    /// A seed that the kernel refuses leaves the key, which is erased all the same with each kilobyte, and is asked for
    /// again with the next one: to end a program for a limit of our own would be no help to it.
    fn reseed_if_due(&mut self) {
        if self.exposure.is_over() {
            let _ = self.reseed();
        }
    }
}

#[cold]
#[inline(never)]
pub(super) fn refused(error: Error) -> ! {
    panic!("a random generator needs another seed and gets none: {error}")
}
