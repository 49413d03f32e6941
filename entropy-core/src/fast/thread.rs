//! A handle for each thread, made when it is first wanted.

use core::{
    cell::RefCell,
    sync::atomic::{Ordering, compiler_fence},
};

use super::handle::{FastRng, NewError, refused};
use crate::system::SystemRng;

std::thread_local! {
    static HANDLE: RefCell<Option<FastRng>> = const { RefCell::new(None) };
}

/// This thread's [`FastRng`]. It holds nothing: make one where it is needed.
///
/// ```
/// use entropy_core::fast::ThreadRng;
///
/// let ticket = ThreadRng.next_u64();
/// assert_ne!(ticket, ThreadRng.next_u64()); // chance once in 2^64
/// ```
///
/// The handle is made at the first draw, which allocates and maps memory; [`prepare`](Self::prepare) does that
/// beforehand. Where there is no handle the draw goes to the kernel: in a signal handler that interrupts a draw of the
/// same thread, in a destructor after the thread has given its handle back, and where there is no memory for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadRng;

impl ThreadRng {
    /// Makes this thread's handle now, if it has none.
    ///
    /// # Errors
    ///
    /// As [`FastRng::new`]: then draws of this thread go to the kernel, and try again to make a handle.
    pub fn prepare(self) -> Result<(), NewError> {
        HANDLE
            .try_with(|handle| match handle.try_borrow_mut() {
                Ok(mut handle) if handle.is_none() => FastRng::new().map(|rng| *handle = Some(rng)),
                _ => Ok(()),
            })
            .unwrap_or(Ok(()))
    }

    /// Fills `out`.
    ///
    /// # Panics
    ///
    /// If the kernel gives no random numbers when they are needed.
    #[inline]
    pub fn fill(self, out: &mut [u8]) {
        if with_handle(|rng| rng.fill(out)).is_none() {
            SystemRng.fill(out).unwrap_or_else(|error| refused(error));
        }
    }

    /// A number of 32 bits.
    ///
    /// # Panics
    ///
    /// As [`fill`](Self::fill).
    #[inline]
    pub fn next_u32(self) -> u32 {
        with_handle(FastRng::next_u32).unwrap_or_else(|| u32::from_le_bytes(of_the_kernel()))
    }

    /// A number of 64 bits.
    ///
    /// # Panics
    ///
    /// As [`fill`](Self::fill).
    #[inline]
    pub fn next_u64(self) -> u64 {
        with_handle(FastRng::next_u64).unwrap_or_else(|| u64::from_le_bytes(of_the_kernel()))
    }
}

#[cold]
fn of_the_kernel<const BYTES: usize>() -> [u8; BYTES] {
    SystemRng.array().unwrap_or_else(|error| refused(error))
}

/// Draws by this thread's handle; `None` if it is in use further up the stack, gone, or cannot be made.
#[inline]
fn with_handle<R>(draw: impl FnOnce(&mut FastRng) -> R) -> Option<R> {
    HANDLE
        .try_with(|handle| {
            let mut handle = handle.try_borrow_mut().ok()?;
            // A signal handler has to find the handle taken for as long as we use it: the compiler may not move that.
            compiler_fence(Ordering::SeqCst);
            let rng = match &mut *handle {
                Some(rng) => rng,
                none => none.insert(FastRng::new().ok()?),
            };
            let drawn = draw(rng);
            compiler_fence(Ordering::SeqCst);
            Some(drawn)
        })
        .ok()?
}
