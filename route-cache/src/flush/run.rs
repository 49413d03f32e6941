//! One flush under way: what it has unlinked, and what it did so far.

use alloc::vec::Vec;
use core::mem;

use super::{FlushObserver, FlushReport};
use crate::{
    table::{Chain, ChainList, Dead, Locking, RouteTable, Stripe, Stripes},
    tunables::Freeing,
};

/// The plans are its methods, each in the file of its kind.
pub(crate) struct Run<'a, V, L: Locking, O: FlushObserver> {
    pub(super) table: &'a RouteTable<V, L>,
    pub(super) stripes: &'a Stripes<V, L>,
    pub(super) observer: &'a mut O,
    pub(super) report: FlushReport,
    /// Unlinked and counted: entries whose turn is later, or whose destructor must wait for an unlock.
    dead: Dead<V>,
    // Unlinked, not yet counted. They are fields so that the count is right even if a destructor panics.
    pub(super) list: ChainList<V>,
    pub(super) array: Vec<Chain<V>>,
    current: Chain<V>,
}

impl<'a, V, L: Locking, O: FlushObserver> Run<'a, V, L, O> {
    pub(crate) fn new(table: &'a RouteTable<V, L>, stripes: &'a Stripes<V, L>, observer: &'a mut O) -> Self {
        Self {
            table,
            stripes,
            observer,
            report: FlushReport::default(),
            dead: Dead::default(),
            list: ChainList::EMPTY,
            array: Vec::new(),
            current: Chain::EMPTY,
        }
    }

    /// Does `work` on the buckets of `lock` while holding it.
    pub(super) fn hold<R>(
        &mut self,
        lock: usize,
        work: impl FnOnce(&mut Self, &'a Stripe<V, L>, &mut Vec<Chain<V>>) -> R,
    ) -> R {
        let stripe = self.stripes.get(lock);
        self.observer.asking(lock);
        let mut chains = stripe.lock();
        self.report.locks += L::LOCKS;
        self.observer.locked(lock);
        let result = work(self, stripe, &mut chains.chains);
        self.observer.unlocking(lock);
        result
    }

    /// The buckets of a lock in the order of the patch: ascending, and on a single processor descending.
    pub(super) fn slots(&self, lock: usize) -> impl Iterator<Item = (usize, usize)> + use<V, L, O> {
        let geometry = self.table.geometry;
        let last = geometry.slots_of(lock).saturating_sub(1);
        (0..geometry.slots_of(lock)).map(move |step| {
            let index = if L::LOCKS == 0 { last - step } else { step };
            (index, lock + index * geometry.locks())
        })
    }

    /// Unlinks the chain of a bucket; the caller holds its lock. An empty bucket is not written to.
    pub(super) fn unlink(
        &mut self,
        stripe: &Stripe<V, L>,
        chains: &mut [Chain<V>],
        (index, slot): (usize, usize),
    ) -> Chain<V> {
        self.observer.visited(slot);
        if chains[index].is_empty() {
            return Chain::EMPTY;
        }
        stripe.mark(index, false);
        chains[index].take()
    }

    /// Frees a chain, or queues it if that is how the table frees; the caller holds no lock.
    pub(super) fn free(&mut self, chain: Chain<V>) {
        self.current = chain;
        while let Some(entry) = self.current.pop_front() {
            self.report.entries += 1;
            match self.table.tunables.freeing {
                Freeing::Immediate => drop(entry),
                Freeing::Deferred { .. } => self.dead.push(entry),
            }
        }
    }

    /// Frees the chains of the list.
    pub(super) fn free_list(&mut self) {
        while let Some(chain) = self.list.pop() {
            self.free(chain);
        }
    }

    /// Frees the chains of the array, which is left empty and as long.
    pub(super) fn free_array(&mut self) {
        for index in 0..self.array.len() {
            let chain = self.array[index].take();
            self.free(chain);
        }
    }

    /// Frees a chain under a lock if its values have no destructor, else queues it for [`release`](Self::release).
    pub(super) fn free_under_lock(&mut self, mut chain: Chain<V>) {
        let harmless = !mem::needs_drop::<V>() && self.table.tunables.freeing == Freeing::Immediate;
        while let Some(entry) = chain.pop_front() {
            self.report.entries += 1;
            if harmless {
                drop(entry);
            } else {
                self.dead.push(entry);
            }
        }
    }

    /// Frees what was queued under a lock, now that none is held.
    pub(super) fn release(&mut self) {
        if self.table.tunables.freeing == Freeing::Immediate {
            drop(mem::take(&mut self.dead));
        }
    }

    pub(super) fn finish(self) -> FlushReport {
        self.report
    }
}

impl<V, L: Locking, O: FlushObserver> Drop for Run<'_, V, L, O> {
    fn drop(&mut self) {
        let array = self.array.iter().map(|chain| chain.iter().count()).sum::<usize>();
        let mut uncounted = array + self.current.iter().count();
        while let Some(chain) = self.list.pop() {
            uncounted += chain.iter().count();
            self.array.push(chain);
        }
        self.table.count_unlinked(self.report.entries + uncounted);
        self.table.free(mem::take(&mut self.dead));
    }
}
