//! Handles of another kind than the usual.

use core::time::Duration;

use super::handle::{FastRng, NewError};
use crate::chacha::Backend;

/// Bytes after which another seed is due, as in rand's generator of a thread: fewer would show in the time of a draw.
const USUAL_BYTES: u64 = 64 << 10;

/// Time after which another seed is due: the kernel's own generator is reseeded as often.
const USUAL_TIME: Duration = Duration::from_secs(60);

/// What a [`FastRng`] is to be like.
///
/// ```
/// use std::time::Duration;
/// use entropy_core::fast::FastRng;
///
/// let mut rng = FastRng::builder().reseed_after_bytes(4096).reseed_after(Duration::from_secs(1)).build()?;
/// let mut strict = FastRng::builder().strict().build()?;
/// assert_ne!(rng.next_u64(), strict.next_u64());
/// # Ok::<(), entropy_core::fast::NewError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is built before `build`"]
pub struct Builder {
    backend: Option<Backend>,
    bytes: u64,
    time: Duration,
    strict: bool,
}

impl Builder {
    pub(super) const fn new() -> Self {
        Self { backend: None, bytes: USUAL_BYTES, time: USUAL_TIME, strict: false }
    }

    /// Another seed is taken when at least this many bytes came from the last one: at the next kilobyte that is made.
    pub const fn reseed_after_bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Another seed is taken when the last one is so old: at the next kilobyte that is made. What is in stock, at most
    /// 992 bytes, is handed out without a look at the clock.
    pub const fn reseed_after(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Every draw goes to the kernel, and nothing is kept: as good as [`SystemRng`](crate::system::SystemRng), and as
    /// fast.
    pub const fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Another backend than the fastest.
    pub const fn backend(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// The handle, with a seed.
    ///
    /// # Errors
    ///
    /// There is no memory, or the kernel gives no seed.
    pub fn build(self) -> Result<FastRng, NewError> {
        FastRng::build(self.backend.unwrap_or_else(Backend::best), self.bytes, self.time, self.strict)
    }
}
