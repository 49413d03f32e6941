//! What came out of a shard under its lock, to be dropped after it.

use alloc::vec::Vec;

/// A few values without an allocation, more with one.
#[derive(Debug)]
pub(super) struct Trash<T> {
    few: [Option<T>; 8],
    len: usize,
    more: Vec<T>,
}

impl<T> Trash<T> {
    pub(super) fn new() -> Self {
        Self { few: [const { None }; 8], len: 0, more: Vec::new() }
    }

    pub(super) fn push(&mut self, value: T) {
        match self.few.get_mut(self.len) {
            Some(place) => *place = Some(value),
            None => self.more.push(value),
        }
        self.len += 1;
    }

    pub(super) fn extend(&mut self, values: impl IntoIterator<Item = T>) {
        values.into_iter().for_each(|value| self.push(value));
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
}
