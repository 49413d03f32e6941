//! Expiry and garbage collection: who leaves when nobody flushes.

use core::fmt;

use super::{Dead, Locking, RouteTable, chain::Body, epoch::Epoch};
use crate::tunables::Tunables;

/// What one collection leaves to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GcState {
    /// The age up to which entries are kept; it shrinks while the table is crowded.
    expire_ms: u64,
    last_ms: Option<u64>,
    /// Last bucket searched by the collector.
    rover: usize,
    /// Size that the collector tries to hold.
    equilibrium: usize,
    /// Last bucket searched by the expiry.
    expiry_rover: usize,
}

impl GcState {
    pub(crate) fn new(tunables: &Tunables) -> Self {
        let expire_ms = tunables.gc_timeout_ms;
        Self { expire_ms, last_ms: None, rover: 0, equilibrium: 0, expiry_rover: 0 }
    }

    /// How many entries to free, or `None` if it is too early for another collection.
    fn goal(&mut self, entries: usize, buckets: usize, now_ms: u64, tunables: &Tunables) -> Option<usize> {
        let early =
            self.last_ms.is_some_and(|last_ms| now_ms.saturating_sub(last_ms) < tunables.gc_min_interval_ms);
        if early && entries < tunables.max_size {
            return None;
        }
        let crowd = tunables.gc_elasticity.saturating_mul(buckets);
        let goal = if entries > crowd {
            // More than `gc_elasticity` entries a bucket on average: free at least half of the surplus.
            let goal = ((entries - crowd) / 2).max(buckets);
            self.equilibrium = entries.saturating_sub(goal);
            goal
        } else {
            self.equilibrium = self.equilibrium.max(tunables.gc_thresh);
            let surplus = entries.saturating_sub(self.equilibrium);
            self.equilibrium += (surplus / 2).min(buckets);
            let goal = entries.saturating_sub(self.equilibrium);
            // A table that shrank by itself is in equilibrium where it is.
            self.equilibrium = self.equilibrium.min(entries);
            goal
        };
        if !early {
            self.last_ms = Some(now_ms);
        }
        Some(goal)
    }

    /// The goal was met: let entries live a little longer, and with room to spare as long as by default.
    fn relax(&mut self, entries: usize, tunables: &Tunables) {
        self.expire_ms += tunables.gc_min_interval_ms;
        if self.expire_ms > tunables.gc_timeout_ms || entries < tunables.gc_thresh {
            self.expire_ms = tunables.gc_timeout_ms;
        }
    }
}

/// The table is at its maximal size and every entry is in use or too young to free.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Overflow;

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("garbage collection could not bring the routing cache below its maximal size")
    }
}

impl core::error::Error for Overflow {}

impl<V, L: Locking> RouteTable<V, L> {
    /// Frees entries that are old for how crowded the table is. Insertions call it; so may anyone.
    ///
    /// # Errors
    ///
    /// [`Overflow`] if the table is still at its maximal size.
    pub fn collect_garbage(&self) -> Result<(), Overflow> {
        let started_ms = self.now_ms();
        // No lock is held while others are taken: a second collector works beside the first, as it did.
        let (mut state, goal) = {
            let mut state = L::lock(&self.gc);
            let goal = state.goal(self.len(), self.geometry.buckets(), started_ms, &self.tunables);
            (*state, goal)
        };
        let Some(mut goal) = goal else { return Ok(()) };
        let result = loop {
            if goal == 0 {
                state.relax(self.len(), &self.tunables);
                break Ok(());
            }
            goal = goal.saturating_sub(self.collect_round(&mut state, goal, started_ms));
            if goal == 0 {
                continue;
            }
            let exhausted = state.expire_ms == 0;
            state.expire_ms /= 2;
            if self.len() < self.tunables.max_size {
                break Ok(());
            }
            if exhausted || self.now_ms() > started_ms {
                break Err(Overflow);
            }
        };
        let mut shared = L::lock(&self.gc);
        (shared.expire_ms, shared.rover) = (state.expire_ms, state.rover);
        result
    }

    /// One round through the table, or less if `goal` is met; returns how many entries left.
    fn collect_round(&self, state: &mut GcState, goal: usize, now_ms: u64) -> usize {
        let mut freed = 0;
        for _ in 0..self.geometry.buckets() {
            state.rover = (state.rover + 1) & (self.geometry.buckets() - 1);
            let mut young_ms = state.expire_ms;
            freed += self.unlink_old(state.rover, |body, has_next| {
                let old = body.may_expire(has_next, now_ms, young_ms, state.expire_ms);
                if !old {
                    young_ms /= 2;
                }
                old
            });
            if freed >= goal {
                break;
            }
        }
        freed
    }

    /// One timer tick's share of the table: frees what has expired or was not used for long. Returns how many.
    ///
    /// A void entry leaves even while in use. In each chain the time that entries are kept halves with every
    /// entry that is kept, so that of a long chain only the recently used head remains.
    pub fn expire(&self) -> usize {
        let (buckets, tunables) = (self.geometry.buckets(), &self.tunables);
        let now_ms = self.now_ms();
        let share =
            tunables.gc_interval_ms as u128 * buckets as u128 / u128::from(tunables.gc_timeout_ms.max(1));
        let visits = usize::try_from(share).unwrap_or(usize::MAX).min(buckets);
        let first = {
            let mut state = L::lock(&self.gc);
            let first = state.expiry_rover;
            state.expiry_rover = (first + visits) & (buckets - 1);
            first
        };
        let slots = (1..=visits).map(|step| (first + step) & (buckets - 1));
        slots
            .map(|slot| {
                let mut young_ms = tunables.gc_timeout_ms;
                self.unlink_old(slot, |body, has_next| {
                    let old = match body.traits.expires_ms {
                        Some(expires_ms) => now_ms >= expires_ms,
                        None => body.may_expire(has_next, now_ms, young_ms, tunables.gc_timeout_ms),
                    };
                    if !old {
                        young_ms /= 2;
                    }
                    old
                })
            })
            .sum()
    }

    /// Unlinks and frees the stale entries of a bucket, and those that `old` names.
    fn unlink_old(&self, slot: usize, mut old: impl FnMut(&Body<V>, bool) -> bool) -> usize {
        let epoch: Epoch = self.epoch();
        let (lock, index) = self.geometry.place(slot);
        let stripe = self.stripes(epoch).get(lock);
        let mut dead = Dead::default();
        {
            let mut chains = stripe.lock();
            let chain = &mut chains.chains[index];
            chain.unlink_if(|body, next| body.born != epoch.0 || old(body, next), |entry| dead.push(entry));
            stripe.mark(index, !chain.is_empty());
        }
        let freed = dead.len();
        self.count_unlinked(freed);
        self.free(dead);
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collection_waits_its_interval_unless_the_table_is_full() {
        let tunables = Tunables { gc_thresh: 2, max_size: 100, ..Tunables::for_buckets(4) };
        let mut state = GcState::new(&tunables);
        // Up to 8 * 4 entries: from a threshold of 2, half the surplus (at most 4) is tolerated.
        assert_eq!(state.goal(10, 4, 0, &tunables), Some(4));
        assert_eq!(state.equilibrium, 6);
        assert_eq!(state.goal(10, 4, 499, &tunables), None);
        assert_eq!(state.goal(10, 4, 500, &tunables), Some(2));
        assert_eq!(state.goal(4, 4, 1_000, &tunables), Some(0));
        assert_eq!(state.equilibrium, 4);
        // Above: half of what is above, and no less than the number of buckets.
        assert_eq!(state.goal(33, 4, 2_000, &tunables), Some(4));
        assert_eq!(state.goal(100, 4, 2_001, &tunables), Some(34), "full: the interval does not matter");
    }
}
