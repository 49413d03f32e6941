//! The plans that unlink into an array: Miller's sketch of May 2007, its index mended.

use alloc::vec::Vec;
use core::mem;

use super::{FlushObserver, Run};
use crate::table::{Chain, Locking};

impl<V, L: Locking, O: FlushObserver> Run<'_, V, L, O> {
    /// With an array of its own: flushes do not wait for each other, and each allocates.
    pub(super) fn array(&mut self) {
        self.array = self.empty_array();
        for lock in (0..self.table.geometry.locks()).rev() {
            let mut array = mem::take(&mut self.array);
            self.unlink_into(lock, &mut array, |index| index);
            self.array = array;
            self.free_array();
        }
    }

    /// With the table's array, under one lock from beginning to end.
    ///
    /// Destructors would run under that lock; so values that have one are dropped after it.
    pub(super) fn shared_array(&mut self) {
        let mut array = L::lock(&self.table.flush_array);
        if array.is_empty() {
            *array = self.empty_array();
        }
        for lock in (0..self.table.geometry.locks()).rev() {
            self.unlink_into(lock, &mut array, |index| index);
            for chain in array.iter_mut() {
                self.free_under_lock(chain.take());
            }
        }
        drop(array);
        self.release();
    }

    fn empty_array(&self) -> Vec<Chain<V>> {
        (0..self.table.geometry.slots_per_lock()).map(|_| Chain::EMPTY).collect()
    }

    /// Unlinks the chains of `lock` to where `place` says; returns those that were in the way.
    fn unlink_into(
        &mut self,
        lock: usize,
        array: &mut [Chain<V>],
        place: impl Fn(usize) -> usize,
    ) -> Vec<Chain<V>> {
        let slots = self.slots(lock);
        self.hold(lock, |run, stripe, chains| {
            let mut lost = Vec::new();
            for (index, slot) in slots {
                let chain = run.unlink(stripe, chains, (index, slot));
                if !chain.is_empty() {
                    let overwritten = mem::replace(&mut array[place(index)], chain);
                    if !overwritten.is_empty() {
                        lost.push(overwritten);
                    }
                }
            }
            lost
        })
    }

    /// The sketch to the letter, to show what its index loses: `slot % slots_per_lock`.
    ///
    /// Returns the entries that its array forgot, which in C nobody would ever have freed.
    #[cfg(test)]
    pub(crate) fn array_as_posted(&mut self) -> usize {
        let mut array = self.empty_array();
        let (locks, length) = (self.table.geometry.locks(), array.len());
        let mut leaked = 0;
        for lock in (0..locks).rev() {
            let lost = self.unlink_into(lock, &mut array, |index| (lock + index * locks) % length);
            leaked += lost.iter().map(|chain| chain.iter().count()).sum::<usize>();
            self.report.entries += lost.iter().map(|chain| chain.iter().count()).sum::<usize>();
            for chain in &mut array {
                let chain = chain.take();
                self.free(chain);
            }
        }
        leaked
    }
}
