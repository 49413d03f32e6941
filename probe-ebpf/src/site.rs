//! The two marker functions around a batch.

use core::hint::black_box;

use crate::batch::BatchKey;

/// Marks the beginning of a batch.
pub fn begin(key: BatchKey) {
    black_box(key.to_raw());
}

/// Marks the end of a batch.
pub fn end(key: BatchKey) {
    black_box(key.to_raw());
}
