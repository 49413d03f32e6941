//! In place of the function where there is none.

use super::Errno;

/// Nobody can have one here.
#[derive(Clone, Copy, Debug)]
pub enum Function {}

impl Function {
    /// Always `None` on this target, or without the feature `vdso`.
    #[must_use]
    pub fn find() -> Option<Self> {
        None
    }

    pub(super) fn stride(self) -> usize {
        match self {}
    }

    pub(super) fn map_page(self) -> Option<core::ptr::NonNull<u8>> {
        match self {}
    }

    pub(super) unsafe fn call(self, _: &mut [u8], _: u32, _: *mut u8) -> Result<usize, Errno> {
        match self {}
    }
}
