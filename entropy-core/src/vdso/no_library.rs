//! In place of the vDSO where it is not known, or not wanted.

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
}

/// Nobody can have one here.
#[derive(Debug)]
pub enum State {}

impl State {
    /// Never called: there is no function.
    #[must_use]
    pub fn borrow(function: Function) -> Option<Self> {
        match function {}
    }

    /// Never called: there is no function.
    pub(crate) fn borrow_for_this_thread(function: Function) -> Option<Self> {
        match function {}
    }

    /// Never called: there is no state.
    ///
    /// # Errors
    ///
    /// None.
    pub fn fill(&self, _out: &mut [u8], _flags: u32) -> Result<usize, Errno> {
        match *self {}
    }
}
