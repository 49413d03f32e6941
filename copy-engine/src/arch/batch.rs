//! Many copies with one fence: a fence costs as much as a small copy, so a batch shares it.
//!
//! Streamed bytes may not be touched before the fence, not even by the thread that wrote them. The session makes that
//! hold in safe code: it keeps every destination borrowed for `'d`, a lifetime that is longer than the closure, and the
//! fence is issued by the function that called the closure. Nobody can forget it, since nobody owns it.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use super::available::assert_same_length;
use crate::engine::Engine;
use crate::policy::NextUse;
use crate::receipt::{Receipt, Tally};

/// An open batch. Made by [`Engine::batch`] alone, and never movable to another thread: a fence orders the stores of the
/// thread that issues it.
///
/// ```compile_fail,E0277
/// copy_engine::Engine::detect().batch(|batch| {
///     std::thread::scope(|scope| { scope.spawn(|| { let _ = &batch; }); });
/// });
/// ```
///
/// A destination stays borrowed until the fence:
///
/// ```compile_fail,E0499
/// # use copy_engine::{Engine, NextUse};
/// let mut out = [0; 8];
/// Engine::detect().batch(|batch| {
///     batch.copy(&mut out, &[1; 8], NextUse::NotRead);
///     out[0] = 2;
/// });
/// ```
///
/// ```compile_fail,E0597
/// # use copy_engine::{Engine, NextUse};
/// Engine::detect().batch(|batch| {
///     let mut out = [0; 8];
///     batch.copy(&mut out, &[1; 8], NextUse::NotRead);
///     out[0]
/// });
/// ```
#[derive(Debug)]
pub struct Batch<'d> {
    engine: Engine,
    tally: Tally,
    /// Invariant in `'d`, so that no batch passes for one whose destinations are borrowed for less; not `Send`, not `Sync`.
    destinations: PhantomData<(*mut &'d mut [u8], *mut ())>,
}

impl<'d> Batch<'d> {
    /// Copies `src` over `dst`, which stays borrowed until the batch has been fenced.
    ///
    /// # Panics
    ///
    /// If the lengths differ; the fence is issued all the same.
    #[inline]
    pub fn copy(&mut self, dst: &'d mut [u8], src: &[u8], next: NextUse) -> Receipt {
        assert_same_length(dst.len(), src.len());
        let routine = self.engine.pick(src.len(), dst.as_ptr().addr(), src.as_ptr().addr(), next);
        // SAFETY: both are slices of the same length, a shared borrow cannot overlap an exclusive one, and `dst` stays
        // borrowed for `'d`, which ends after `Engine::batch` has fenced on this thread.
        let receipt = unsafe { routine.copy_unfenced(dst.as_mut_ptr(), src.as_ptr(), src.len()) };
        self.tally += receipt;
        receipt
    }

    /// Copies `src` into memory that need not be initialised; it has been when the batch ends.
    ///
    /// # Panics
    ///
    /// If the lengths differ; the fence is issued all the same.
    #[inline]
    pub fn copy_uninit(&mut self, dst: &'d mut [MaybeUninit<u8>], src: &[u8], next: NextUse) -> Receipt {
        assert_same_length(dst.len(), src.len());
        let routine = self.engine.pick(src.len(), dst.as_ptr().addr(), src.as_ptr().addr(), next);
        // SAFETY: as in `copy`; the bytes need not be initialised to be written.
        let receipt = unsafe { routine.copy_unfenced(dst.as_mut_ptr().cast(), src.as_ptr(), src.len()) };
        self.tally += receipt;
        receipt
    }

    /// What has been copied so far. The fence is not in it: it has not been issued.
    pub fn tally(&self) -> Tally {
        self.tally
    }
}

/// Fences when it goes, by return or by unwinding.
struct Fence;

impl Drop for Fence {
    fn drop(&mut self) {
        super::fence();
    }
}

impl Engine {
    /// Runs `copies`, then fences once for all of them; returns what the closure returned, and the account.
    ///
    /// ```
    /// use copy_engine::{Engine, NextUse};
    ///
    /// let blocks = vec![[7u8; 4096]; 16];
    /// let mut arena = vec![0; 16 * 4096];
    /// let ((), tally) = Engine::detect().batch(|batch| {
    ///     for (place, block) in arena.chunks_exact_mut(4096).zip(&blocks) {
    ///         let _ = batch.copy(place, block, NextUse::NotRead);
    ///     }
    /// });
    /// assert!(tally.fences <= 1);
    /// assert!(arena.iter().all(|&byte| byte == 7));
    /// ```
    ///
    /// # Panics
    ///
    /// If the closure does; what it copied before has been fenced by then.
    pub fn batch<'d, R>(&self, copies: impl FnOnce(&mut Batch<'d>) -> R) -> (R, Tally) {
        let mut batch = Batch {
            engine: self.with_limits(self.limits().batched()),
            tally: Tally::default(),
            destinations: PhantomData,
        };
        let fence = Fence;
        let result = copies(&mut batch);
        if batch.tally.streamed == 0 {
            // Nothing to order. This cannot be a batch that was swapped for another: two batches of one type share `'d`,
            // and `'d` outlives them both.
            core::mem::forget(fence);
            return (result, batch.tally);
        }
        drop(fence);
        batch.tally.fences += 1;
        (result, batch.tally)
    }
}
