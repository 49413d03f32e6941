//! The plans that take a lock for each bucket.

use super::{FlushObserver, Run};
use crate::table::Locking;

impl<V, L: Locking, O: FlushObserver> Run<'_, V, L, O> {
    /// From the last bucket to the first, empty or not.
    pub(super) fn every_bucket(&mut self) {
        for slot in (0..self.table.geometry.buckets()).rev() {
            self.bucket(slot);
        }
    }

    /// The same order, passing by what is empty without a lock.
    ///
    /// That a bucket filled meanwhile is not missed is the work of two fences, see `RouteTable::advance`.
    pub(super) fn occupied_buckets(&mut self) {
        for slot in (0..self.table.geometry.buckets()).rev() {
            let (lock, index) = self.table.geometry.place(slot);
            if self.stripes.get(lock).is_occupied(index) {
                self.bucket(slot);
            }
        }
    }

    fn bucket(&mut self, slot: usize) {
        let (lock, index) = self.table.geometry.place(slot);
        let chain = self.hold(lock, |run, stripe, chains| run.unlink(stripe, chains, (index, slot)));
        self.free(chain);
    }
}
