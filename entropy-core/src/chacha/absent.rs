//! In place of a kernel that this target does not have.

use super::BLOCK_BYTES;

/// Nobody can have one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lanes {}

impl Lanes {
    pub(super) fn detect() -> Option<Self> {
        None
    }

    pub(super) fn blocks(self, _words: &[u32; 16], _out: &mut [[u8; BLOCK_BYTES]; 1]) {
        match self {}
    }
}
