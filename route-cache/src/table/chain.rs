//! Entries, and the chains that own them.
//!
//! A chain owns its first entry and each entry the next, so that unlinking is moving a box. Dropping is a loop:
//! chains may be as long as the table is large.

use alloc::{boxed::Box, sync::Arc};
use core::mem;

use super::route::{RouteKey, Traits, score};

/// One cached route.
#[derive(Debug)]
pub(crate) struct Entry<V> {
    next: Chain<V>,
    /// Only the first entry of an unlinked chain uses it: the chain unlinked before.
    link: ChainList<V>,
    pub(crate) body: Body<V>,
}

/// All of an entry but its two pointers.
#[derive(Debug)]
pub(crate) struct Body<V> {
    pub(crate) key: RouteKey,
    pub(crate) traits: Traits,
    pub(crate) value: Arc<V>,
    /// The table's epoch at its insertion; in any other epoch it is stale.
    pub(crate) born: u64,
    pub(crate) last_use_ms: u64,
    pub(crate) uses: u64,
}

/// Bytes of an entry with and without Xu's link.
pub(crate) const fn entry_bytes<V>() -> (usize, usize) {
    (size_of::<Entry<V>>(), size_of::<Entry<V>>() - size_of::<ChainList<V>>())
}

impl<V> Entry<V> {
    pub(crate) fn new(body: Body<V>) -> Box<Self> {
        Box::new(Self { next: Chain::EMPTY, link: ChainList::EMPTY, body })
    }
}

impl<V> Body<V> {
    /// Somebody outside the table holds the value.
    pub(crate) fn is_referenced(&self) -> bool {
        Arc::strong_count(&self.value) > 1
    }

    pub(crate) fn score(&self, now_ms: u64) -> u32 {
        score(&self.key, &self.traits, now_ms.wrapping_sub(self.last_use_ms))
    }

    /// Whether it may go: nobody holds it, and it is void, or older than `young_ms` (than `valuable_ms` too if
    /// it cost something). A broadcast or multicast route that crowds others out is never young.
    pub(crate) fn may_expire(&self, has_next: bool, now_ms: u64, young_ms: u64, valuable_ms: u64) -> bool {
        if self.is_referenced() {
            return false;
        }
        if self.traits.is_past(now_ms) {
            return true;
        }
        let age_ms = now_ms.saturating_sub(self.last_use_ms);
        let crowds = (self.traits.broadcast || self.traits.multicast) && self.key.iif != 0 && has_next;
        let young = age_ms <= young_ms && !crowds;
        let precious = age_ms <= valuable_ms && self.traits.is_valuable();
        !(young || precious)
    }
}

/// The entries of a bucket, the most recently inserted or used one first.
#[derive(Debug)]
pub(crate) struct Chain<V>(Option<Box<Entry<V>>>);

impl<V> Default for Chain<V> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<V> Chain<V> {
    pub(crate) const EMPTY: Self = Self(None);

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn take(&mut self) -> Self {
        mem::take(self)
    }

    pub(crate) fn push_front(&mut self, mut entry: Box<Entry<V>>) {
        entry.next = self.take();
        self.0 = Some(entry);
    }

    pub(crate) fn pop_front(&mut self) -> Option<Box<Entry<V>>> {
        let mut entry = self.0.take()?;
        self.0 = entry.next.0.take();
        Some(entry)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Body<V>> {
        let mut rest = self;
        core::iter::from_fn(move || {
            let entry = rest.0.as_deref()?;
            rest = &entry.next;
            Some(&entry.body)
        })
    }

    pub(crate) fn find_mut(&mut self, wanted: impl Fn(&Body<V>) -> bool) -> Option<&mut Body<V>> {
        let mut rest = self;
        while let Some(entry) = rest.0.as_deref_mut() {
            if wanted(&entry.body) {
                return Some(&mut entry.body);
            }
            rest = &mut entry.next;
        }
        None
    }

    /// Unlinks the entries that `unwanted` names, in order; it is also told whether another follows.
    pub(crate) fn unlink_if(
        &mut self,
        mut unwanted: impl FnMut(&Body<V>, bool) -> bool,
        mut unlinked: impl FnMut(Box<Entry<V>>),
    ) {
        let mut cursor = self;
        while let Some(entry) = cursor.0.as_deref() {
            if unwanted(&entry.body, !entry.next.is_empty()) {
                unlinked(cursor.pop_front().expect("the cursor is at an entry"));
            } else {
                cursor = &mut cursor.0.as_deref_mut().expect("the cursor is at an entry").next;
            }
        }
    }

    /// Unlinks the `index`-th entry.
    pub(crate) fn unlink_at(&mut self, index: usize) -> Option<Box<Entry<V>>> {
        let mut cursor = self;
        for _ in 0..index {
            cursor = &mut cursor.0.as_deref_mut()?.next;
        }
        cursor.pop_front()
    }
}

impl<V> Drop for Chain<V> {
    fn drop(&mut self) {
        while self.pop_front().is_some() {}
    }
}

/// Chains waiting to be freed, each linked to the next through its first entry: Xu's plan.
#[derive(Debug)]
pub(crate) struct ChainList<V>(Option<Box<Entry<V>>>);

impl<V> ChainList<V> {
    pub(crate) const EMPTY: Self = Self(None);

    /// Adds a chain; the cost is the same however long it is.
    pub(crate) fn push(&mut self, mut chain: Chain<V>) {
        if let Some(mut head) = chain.0.take() {
            head.link = Self(self.0.take());
            self.0 = Some(head);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Chain<V>> {
        let mut head = self.0.take()?;
        self.0 = head.link.0.take();
        Some(Chain(Some(head)))
    }
}

impl<V> Drop for ChainList<V> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// Entries that are unlinked and not yet freed.
#[derive(Debug)]
pub(crate) struct Dead<V> {
    entries: Chain<V>,
    len: usize,
}

impl<V> Default for Dead<V> {
    fn default() -> Self {
        Self { entries: Chain::EMPTY, len: 0 }
    }
}

impl<V> Dead<V> {
    pub(crate) fn push(&mut self, entry: Box<Entry<V>>) {
        self.entries.push_front(entry);
        self.len += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Box<Entry<V>>> {
        let entry = self.entries.pop_front()?;
        self.len -= 1;
        Some(entry)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn entry(mark: u32) -> Box<Entry<u32>> {
        let key = RouteKey { mark, ..RouteKey::default() };
        let traits = Traits::default();
        Entry::new(Body { key, traits, value: Arc::new(mark), born: 0, last_use_ms: 0, uses: 0 })
    }

    fn chain(marks: impl DoubleEndedIterator<Item = u32>) -> Chain<u32> {
        let mut chain = Chain::EMPTY;
        marks.rev().for_each(|mark| chain.push_front(entry(mark)));
        chain
    }

    fn marks(chain: &Chain<u32>) -> Vec<u32> {
        chain.iter().map(|body| body.key.mark).collect()
    }

    #[test]
    fn unlinking_keeps_the_order_of_the_rest_and_tells_who_is_last() {
        let mut odd = chain(0..7);
        let mut gone = Vec::new();
        let mut last = Vec::new();
        odd.unlink_if(
            |body, has_next| {
                last.push(!has_next);
                body.key.mark % 2 == 0
            },
            |entry| gone.push(entry.body.key.mark),
        );
        assert_eq!((marks(&odd), gone), (alloc::vec![1, 3, 5], alloc::vec![0, 2, 4, 6]));
        assert_eq!(last, [false, false, false, false, false, false, true]);
        assert_eq!(odd.unlink_at(1).unwrap().body.key.mark, 3);
        assert!(odd.unlink_at(2).is_none());
    }

    #[test]
    fn linked_chains_come_back_whole() {
        let mut list = ChainList::EMPTY;
        list.push(chain(0..3));
        list.push(Chain::EMPTY);
        list.push(chain(3..4));
        assert_eq!(marks(&list.pop().unwrap()), [3]);
        assert_eq!(marks(&list.pop().unwrap()), [0, 1, 2]);
        assert!(list.pop().is_none());
    }

    #[test]
    fn a_million_entries_are_dropped_without_a_million_frames() {
        drop(chain(0..1_000_000));
        let mut list = ChainList::EMPTY;
        (0..1_000_000).for_each(|mark| list.push(chain(mark..mark + 1)));
    }

    #[test]
    fn the_link_is_one_pointer() {
        let (with, without) = entry_bytes::<[u8; 200]>();
        assert_eq!(with - without, size_of::<usize>());
    }
}
