//! The plan that exchanges a lock's buckets for empty ones.

use core::mem;

use super::{FlushObserver, Run};
use crate::table::{Chain, Locking};

impl<V, L: Locking, O: FlushObserver> Run<'_, V, L, O> {
    /// One spare set of buckets goes round: emptied outside the lock, it is what the next lock gets.
    pub(super) fn detach(&mut self) {
        let geometry = self.table.geometry;
        self.array = (0..geometry.slots_per_lock()).map(|_| Chain::EMPTY).collect();
        for lock in (0..geometry.locks()).rev() {
            if geometry.slots_of(lock) == 0 {
                continue;
            }
            self.hold(lock, |run, stripe, chains| {
                mem::swap(chains, &mut run.array);
                stripe.mark_all_empty();
            });
            (0..self.array.len()).for_each(|index| self.observer.visited(lock + index * geometry.locks()));
            self.free_array();
        }
    }
}
