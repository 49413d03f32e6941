//! The engine's one function on raw pointers.

use crate::engine::Engine;
use crate::policy::NextUse;
use crate::receipt::Receipt;

impl Engine {
    /// Copies `len` bytes between ranges that may overlap in any way; fenced when it returns.
    ///
    /// # Panics
    ///
    /// If `len` is more than `isize::MAX`, before anything is touched.
    ///
    /// # Safety
    ///
    /// As [`Available::copy_raw`](crate::Available::copy_raw).
    #[inline]
    pub unsafe fn copy_raw(&self, dst: *mut u8, src: *const u8, len: usize, next: NextUse) -> Receipt {
        // SAFETY: the contract is the same.
        unsafe { self.pick(len, dst.addr(), src.addr(), next).copy_raw(dst, src, len) }
    }
}
