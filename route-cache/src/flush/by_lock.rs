//! The plans that take each lock once.

use super::{FlushObserver, Run};
use crate::table::Locking;

impl<V, L: Locking, O: FlushObserver> Run<'_, V, L, O> {
    /// From the last lock to the first, freeing before it is released.
    pub(super) fn free_inside(&mut self) {
        for lock in (0..self.table.geometry.locks()).rev() {
            let freed = self.hold(lock, |run, stripe, chains| {
                let before = run.report.entries;
                for place in run.slots(lock) {
                    let chain = run.unlink(stripe, chains, place);
                    run.free_under_lock(chain);
                }
                run.report.entries - before
            });
            self.report.most_freed_under_lock = self.report.most_freed_under_lock.max(freed);
            self.release();
        }
    }

    /// The same walk; chains are joined by the link in their first entries and freed without the lock.
    pub(super) fn link_then_free(&mut self) {
        for lock in (0..self.table.geometry.locks()).rev() {
            self.hold(lock, |run, stripe, chains| {
                for place in run.slots(lock) {
                    let chain = run.unlink(stripe, chains, place);
                    run.list.push(chain);
                }
            });
            self.free_list();
        }
    }

    /// The same, by the marks of occupied buckets: no lock without entries is taken, no empty bucket read.
    pub(super) fn occupied_locks(&mut self) {
        for lock in (0..self.table.geometry.locks()).rev() {
            if self.stripes.get(lock).is_empty() {
                continue;
            }
            let locks = self.table.geometry.locks();
            self.hold(lock, |run, stripe, chains| {
                for index in stripe.occupied() {
                    let chain = run.unlink(stripe, chains, (index, lock + index * locks));
                    run.list.push(chain);
                }
            });
            self.free_list();
        }
    }
}
