//! Unlinked entries that wait to be freed, in the order in which they were unlinked.

use alloc::collections::VecDeque;

use super::chain::Dead;

/// Lists of dead entries, the oldest first.
#[derive(Debug)]
pub(crate) struct Limbo<V> {
    lists: VecDeque<Dead<V>>,
    entries: usize,
}

impl<V> Default for Limbo<V> {
    fn default() -> Self {
        Self { lists: VecDeque::new(), entries: 0 }
    }
}

impl<V> Limbo<V> {
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Adds a list; returns how many entries wait now.
    pub(crate) fn push(&mut self, dead: Dead<V>) -> usize {
        self.entries += dead.len();
        self.lists.push_back(dead);
        self.entries
    }

    /// Takes the oldest list.
    pub(crate) fn pop(&mut self) -> Option<Dead<V>> {
        let dead = self.lists.pop_front()?;
        self.entries -= dead.len();
        Some(dead)
    }

    /// Returns what is left of the oldest list.
    pub(crate) fn put_back(&mut self, dead: Dead<V>) {
        self.entries += dead.len();
        self.lists.push_front(dead);
    }
}
