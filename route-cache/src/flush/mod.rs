//! Ways to empty the table.
//!
//! All begin alike: a new random value and a new epoch, in one store. From that instant no lookup finds an older
//! entry; what follows only unlinks and frees. They differ in how often a lock is taken, what is done under it,
//! and how long memory stays in use.
//!
//! | plan | locks taken | under a lock | after it |
//! | --- | --- | --- | --- |
//! | [`PerBucket`](FlushPlan::PerBucket) | one a bucket | unlink one chain | free it |
//! | [`PerLock`](FlushPlan::PerLock) | one a lock | unlink and free all its chains | |
//! | [`Linked`](FlushPlan::Linked) | one a lock | unlink, join by a link in the entry | free |
//! | [`Array`](FlushPlan::Array) | one a lock | unlink into an array | free |
//! | [`SharedArray`](FlushPlan::SharedArray) | one a lock, one around all | unlink into the table's array | free |
//! | [`SkipEmpty`](FlushPlan::SkipEmpty) | one an occupied bucket | unlink one chain | free it |
//! | [`SkipEmptyPerLock`](FlushPlan::SkipEmptyPerLock) | one a lock with entries | unlink occupied chains, join | free |
//! | [`Seqlock`](FlushPlan::Seqlock) | one a lock with entries, of buckets nobody uses any more | unlink, join | free |
//! | [`Detached`](FlushPlan::Detached) | one a lock | exchange its buckets for empty ones | free |
//! | [`Generation`](FlushPlan::Generation) | none | | entries go as insertions come by |
//!
//! # What a reader and an inserter may rely on, with every plan
//!
//! * A lookup that begins after the flush returned (or after anything the flush's thread did since) does not
//!   find an entry from before it. One that overlaps the flush finds either what was there before or nothing, and
//!   having found nothing does not find the old entry later.
//! * An insertion that overlaps the flush counts as before it or after it. If before, its entry goes with the
//!   rest. If after, it may stay, or may be taken along by the walk: this is a cache. It never ends up where
//!   lookups cannot find it, as could happen in 2007.
//! * A value somebody holds stays valid; it is dropped when the last holder lets go.
//! * No destructor runs under a lock. Freeing under the lock, as the patch did, is done for values that have
//!   none; for others [`PerLock`](FlushPlan::PerLock) queues under the lock and frees after it, which is also what
//!   the kernel's `rt_free` came to. A destructor may therefore use the table.
//!
//! Readers wait, if at all, for one lock at a time: for one chain's unlinking with the plans by bucket, for one
//! lock's buckets with the plans by lock, for an exchange of two pointers with [`Detached`](FlushPlan::Detached).
//! With [`Seqlock`](FlushPlan::Seqlock) only those wait that began before the switch, and with
//! [`Generation`](FlushPlan::Generation) nobody.

mod array;
mod by_bucket;
mod by_lock;
mod detached;
mod run;

use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

pub(crate) use self::run::Run;
use crate::table::{Locking, RouteTable};

/// A way to empty the table; the first is the baseline. The [module](self) compares them.
#[derive(
    Clone, Copy, Debug, Display, EnumMessage, EnumString, Eq, Hash, IntoStaticStr, PartialEq, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FlushPlan {
    /// Lock every bucket, unlink its chain, unlock, free: as it was until 2.6.24.
    PerBucket,
    /// Take each lock once and free under it: the patch of May 2007.
    PerLock,
    /// Take each lock once, free after it; a link in each entry joins the chains: Xu's answer.
    Linked,
    /// Take each lock once, free after it; an array of the flush's own holds the chains.
    Array,
    /// The same with one array for all flushes, and a lock around the whole: Miller's sketch, its index mended.
    SharedArray,
    /// Lock only buckets that have entries: what 2.6.25 did.
    SkipEmpty,
    /// Take each lock once, and only if it has entries; visit only buckets that have some; free after it.
    SkipEmptyPerLock,
    /// Switch everybody to a second set of buckets by a sequence number, then empty the first: Miller's idea.
    Seqlock,
    /// Exchange each lock's buckets for empty ones.
    Detached,
    /// Change a number and let the entries die lazily: 2.6.25's generation id, with a bound on what lingers.
    Generation,
}

impl FlushPlan {
    /// Every plan, the baseline first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As typed on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// One line about it.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.get_documentation().expect("every plan has a doc comment")
    }
}

/// What a flush did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FlushReport {
    /// Entries unlinked.
    pub entries: usize,
    /// Bucket locks taken; none on a single processor.
    pub locks: usize,
    /// Most entries freed, or queued to be freed, during one hold of a lock.
    pub most_freed_under_lock: usize,
    /// Entries left in memory, not to be found any more: only by [`FlushPlan::Generation`].
    pub stale: usize,
}

/// Watches a flush, to time its locks or to check its order. It runs under the lock: be brief.
///
/// The lock around [`FlushPlan::SharedArray`] as a whole is not one of those it is told of.
pub trait FlushObserver {
    /// `lock` is about to be asked for.
    fn asking(&mut self, lock: usize) {
        let _ = lock;
    }

    /// `lock` has just been taken.
    fn locked(&mut self, lock: usize) {
        let _ = lock;
    }

    /// `slot` is looked at.
    fn visited(&mut self, slot: usize) {
        let _ = slot;
    }

    /// `lock` is about to be released.
    fn unlocking(&mut self, lock: usize) {
        let _ = lock;
    }
}

impl FlushObserver for () {}

impl<V, L: Locking> RouteTable<V, L> {
    /// Empties the table by `plan`.
    pub fn flush(&self, plan: FlushPlan) -> FlushReport {
        self.flush_observed(plan, &mut ())
    }

    /// The same under observation.
    pub fn flush_observed(&self, plan: FlushPlan, observer: &mut impl FlushObserver) -> FlushReport {
        let last = self.advance(plan == FlushPlan::Seqlock);
        let mut run = Run::new(self, self.stripes(last), observer);
        match plan {
            FlushPlan::PerBucket => run.every_bucket(),
            FlushPlan::PerLock => run.free_inside(),
            FlushPlan::Linked => run.link_then_free(),
            FlushPlan::Array => run.array(),
            FlushPlan::SharedArray => run.shared_array(),
            FlushPlan::SkipEmpty => run.occupied_buckets(),
            // Nobody looks at the half that was switched off, and it is emptied like any other.
            FlushPlan::SkipEmptyPerLock | FlushPlan::Seqlock => run.occupied_locks(),
            FlushPlan::Detached => run.detach(),
            FlushPlan::Generation if self.len() > self.tunables.max_stale => run.occupied_locks(),
            FlushPlan::Generation => run.report.stale = self.len(),
        }
        run.finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
