//! A page that is known to be aligned, for the door that asks nothing else.

use crate::policy::PAGE;

/// 4096 bytes at an address that is a multiple of 4096.
#[derive(Clone, Debug, Eq, PartialEq)]
#[repr(C, align(4096))]
pub struct Page([u8; PAGE]);

impl Page {
    /// A page of zeros.
    pub const ZERO: Self = Self([0; PAGE]);
}

impl Default for Page {
    fn default() -> Self {
        Self::ZERO
    }
}

impl AsRef<[u8; PAGE]> for Page {
    fn as_ref(&self) -> &[u8; PAGE] {
        &self.0
    }
}

impl AsMut<[u8; PAGE]> for Page {
    fn as_mut(&mut self) -> &mut [u8; PAGE] {
        &mut self.0
    }
}

impl From<[u8; PAGE]> for Page {
    fn from(bytes: [u8; PAGE]) -> Self {
        Self(bytes)
    }
}
