//! Slots that never move: they live in chunks of a fixed size, so that growing copies nothing.

use alloc::vec::Vec;
use core::mem;

/// Slots in a chunk.
pub(super) const CHUNK: usize = 64;

/// A run of slots; its vector is never grown beyond [`CHUNK`].
pub(super) type Chunk<T> = Vec<Option<T>>;

/// Values by index.
#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Chunk<T>>,
    /// Indices of empty slots below the end.
    free: Vec<u32>,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<T> Slab<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One more than the highest index in use.
    pub(super) fn end(&self) -> u32 {
        match self.chunks.split_last() {
            Some((last, full)) => (full.len() * CHUNK + last.len()) as u32,
            None => 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let slots: usize = self.chunks.iter().map(Vec::capacity).sum();
        slots * size_of::<Option<T>>() + self.free.capacity() * size_of::<u32>()
    }

    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.chunks.get(index as usize / CHUNK)?.get(index as usize % CHUNK)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.chunks.get_mut(index as usize / CHUNK)?.get_mut(index as usize % CHUNK)?.as_mut()
    }

    /// Stores a value, in a chunk from `spare` if a new one is needed.
    pub(super) fn insert(&mut self, value: T, spare: &mut Vec<Chunk<T>>) -> u32 {
        self.len += 1;
        if let Some(index) = self.free.pop() {
            self.chunks[index as usize / CHUNK][index as usize % CHUNK] = Some(value);
            return index;
        }
        let index = self.end();
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        }
        self.chunks.last_mut().expect("there is room in the last chunk").push(Some(value));
        index
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.chunks.get_mut(index as usize / CHUNK)?.get_mut(index as usize % CHUNK)?.take()?;
        self.free.push(index);
        self.len -= 1;
        Some(value)
    }

    /// Takes all chunks; the slab is empty.
    pub(super) fn take(&mut self) -> Vec<Chunk<T>> {
        self.free.clear();
        self.len = 0;
        mem::take(&mut self.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_stable_and_used_again() {
        let mut slab = Slab::default();
        let mut spare = Vec::new();
        let indices: Vec<_> = (0..200).map(|n| slab.insert(n, &mut spare)).collect();
        assert!(indices.iter().enumerate().all(|(n, &index)| slab.get(index) == Some(&n)));
        assert_eq!((slab.remove(77), slab.remove(77), slab.len(), slab.end()), (Some(77), None, 199, 200));
        assert_eq!((slab.insert(500, &mut spare), slab.get(77)), (77, Some(&500)));
        assert_eq!(slab.get(200), None);
        let chunks = slab.take();
        assert_eq!(chunks.iter().flatten().flatten().count(), 200);
        assert_eq!((slab.len(), slab.end(), slab.get(0)), (0, 0, None));
    }
}
