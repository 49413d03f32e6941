//! What a copy did: which routine ran, and how the bytes met the cache.

use core::ops::AddAssign;

use crate::routine::Routine;

/// The account of one copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Receipt {
    /// The routine that ran, which need not be the one that was asked for.
    pub routine: Routine,
    /// Bytes written around the cache.
    pub streamed: usize,
    /// Bytes written through the cache.
    pub cached: usize,
    /// Store fences issued: 1 or 0 for a single copy, and for each copy of a batch 0.
    pub fences: u32,
}

impl Receipt {
    /// A copy of `len` bytes that went through the cache.
    pub(crate) const fn cached(routine: Routine, len: usize) -> Self {
        Self { routine, streamed: 0, cached: len, fences: 0 }
    }

    /// Bytes copied.
    pub const fn bytes(&self) -> usize {
        self.streamed + self.cached
    }
}

/// The sum of many receipts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Copies.
    pub copies: u64,
    /// Bytes written around the cache.
    pub streamed: u64,
    /// Bytes written through the cache.
    pub cached: u64,
    /// Store fences issued.
    pub fences: u64,
}

impl AddAssign<Receipt> for Tally {
    fn add_assign(&mut self, receipt: Receipt) {
        self.copies += 1;
        self.streamed += receipt.streamed as u64;
        self.cached += receipt.cached as u64;
        self.fences += u64::from(receipt.fences);
    }
}
