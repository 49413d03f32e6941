//! A routine together with the proof that this processor can run it, and the safe ways to run it.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem::MaybeUninit;
use core::ops::Range;

use super::Move;
use crate::features::Features;
use crate::receipt::Receipt;
use crate::routine::Routine;

/// A routine that this processor can run: the value is the proof, and only [`Routine::on_this_cpu`] makes one.
///
/// It holds the addresses of the code, so that to copy is one indirect call, as to the platform's `memcpy`.
#[derive(Clone, Copy)]
pub struct Available {
    routine: Routine,
    /// Fences where it streams.
    fenced: Move,
    /// Leaves the fence to the caller.
    unfenced: Move,
}

impl Routine {
    /// The routine as something that can be run, or `None` where this processor or build lacks what it needs.
    pub fn on_this_cpu(self) -> Option<Available> {
        Features::native().contains(self.needs()).then(|| Available::trusted(self))
    }
}

impl Available {
    /// The one that needs nothing.
    pub const PORTABLE: Self = Self::trusted(Routine::Portable);
    /// The platform's, which needs nothing either.
    pub const MEMCPY: Self = Self::trusted(Routine::Memcpy);

    /// For those who have asked the processor.
    const fn trusted(routine: Routine) -> Self {
        let [fenced, unfenced] = super::moves(routine);
        Self { routine, fenced, unfenced }
    }

    /// Which routine it is.
    pub const fn routine(self) -> Routine {
        self.routine
    }

    /// Copies `src` over `dst`, fenced when it returns.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline(always)]
    pub fn copy(&self, dst: &mut [u8], src: &[u8]) -> Receipt {
        // SAFETY: initialised bytes are written over initialised bytes, so the slice stays what it promises.
        let dst = unsafe { &mut *(core::ptr::from_mut(dst) as *mut [MaybeUninit<u8>]) };
        self.copy_uninit(dst, src).1
    }

    /// Copies `src` into memory that need not be initialised, and hands it back initialised.
    ///
    /// # Panics
    ///
    /// If the lengths differ.
    #[inline]
    pub fn copy_uninit<'d>(&self, dst: &'d mut [MaybeUninit<u8>], src: &[u8]) -> (&'d mut [u8], Receipt) {
        assert_same_length(dst.len(), src.len());
        // SAFETY: both are slices of the same length, and a shared borrow cannot overlap an exclusive one.
        let receipt = unsafe { self.copy_apart(dst.as_mut_ptr().cast(), src.as_ptr(), src.len()) };
        // SAFETY: every byte has just been written, and fenced.
        (unsafe { &mut *(core::ptr::from_mut(dst) as *mut [u8]) }, receipt)
    }

    /// Copies `len` bytes between ranges that may overlap in any way; fenced when it returns.
    ///
    /// Ranges that share a byte are moved as `memmove` would, through the cache, whatever the routine. Zero bytes touch
    /// nothing: both pointers may then be null or dangling.
    ///
    /// # Panics
    ///
    /// If `len` is more than `isize::MAX`, before anything is touched.
    ///
    /// # Safety
    ///
    /// - `src` is valid for reads and `dst` for writes of `len` bytes; no alignment is asked.
    /// - Nothing else writes to either range, or reads from `dst`, until the call returns.
    #[inline]
    pub unsafe fn copy_raw(&self, dst: *mut u8, src: *const u8, len: usize) -> Receipt {
        assert!(len <= isize::MAX as usize, "a copy of {len} bytes: no object is longer than isize::MAX");
        if len == 0 {
            return Receipt::cached(self.routine, 0);
        }
        if dst.addr().abs_diff(src.addr()) < len {
            // SAFETY: both ranges are valid by the contract, and `copy` allows them to overlap.
            unsafe { core::ptr::copy(src, dst, len) };
            return Receipt::cached(Routine::Memcpy, len);
        }
        // SAFETY: valid by the contract; apart, since the distance is at least the length.
        unsafe { self.copy_apart(dst, src, len) }
    }

    /// Copies `from` to the place that starts at `to` in the same slice; the two may overlap in any way.
    ///
    /// # Panics
    ///
    /// If either range leaves the slice.
    pub fn copy_within(&self, bytes: &mut [u8], from: Range<usize>, to: usize) -> Receipt {
        let len = bytes[from.clone()].len();
        assert_same_length(bytes[to..][..len].len(), len);
        let base = bytes.as_mut_ptr();
        let (to, from) = (base.wrapping_add(to), base.wrapping_add(from.start));
        // SAFETY: both ranges were just sliced out of `bytes`, which is borrowed exclusively; overlap is allowed.
        unsafe { self.copy_raw(to, from, len) }
    }

    /// Copies between ranges that are known to be apart; fenced when it returns.
    ///
    /// # Safety
    ///
    /// As [`Self::copy_raw`], the ranges do not overlap, and `len` is the length of an object.
    #[inline(always)]
    unsafe fn copy_apart(&self, dst: *mut u8, src: *const u8, len: usize) -> Receipt {
        // SAFETY: the ranges by the contract; the features because this value exists.
        let streamed = unsafe { (self.fenced)(dst, src, len) };
        let fenced = streamed > 0 || self.routine.always_fences();
        Receipt { fences: u32::from(fenced), ..self.receipt(len, streamed) }
    }

    /// Copies between ranges that are apart, and leaves the fence to the caller.
    ///
    /// # Safety
    ///
    /// As [`Self::copy_apart`]; and where the receipt says that bytes were streamed, nothing touches the destination
    /// before this thread has called `fence`.
    #[inline(always)]
    pub(super) unsafe fn copy_unfenced(&self, dst: *mut u8, src: *const u8, len: usize) -> Receipt {
        // SAFETY: as above, and the fence is the caller's.
        let streamed = unsafe { (self.unfenced)(dst, src, len) };
        self.receipt(len, streamed)
    }

    /// The account without fences. Made from what the caller has at hand, so that one nobody looks at costs nothing.
    #[inline(always)]
    const fn receipt(&self, len: usize, streamed: usize) -> Receipt {
        Receipt { routine: self.routine.that_ran(len), streamed, cached: len - streamed, fences: 0 }
    }
}

// By the routine: the addresses follow from it.

impl PartialEq for Available {
    fn eq(&self, other: &Self) -> bool {
        self.routine == other.routine
    }
}

impl Eq for Available {}

impl Hash for Available {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.routine.hash(state);
    }
}

impl fmt::Debug for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Available").field(&self.routine).finish()
    }
}

/// The one precondition of every copy between slices.
#[inline(always)]
#[track_caller]
pub(crate) fn assert_same_length(dst: usize, src: usize) {
    assert!(dst == src, "copy of {src} bytes into a destination of {dst}: the lengths must be equal");
}
