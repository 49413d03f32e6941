//! The entropy pool of 2004, whole: [`Pool`] is its mixing and extraction, [`Driver`] the rules around it.
//!
//! | file | holds |
//! | --- | --- |
//! | `taps` | the seven sizes and their polynomials |
//! | `layout` | which fields share a cache line |
//! | `plan` | the mail's changes, and their combinations |
//! | `lock` | the spin lock, and how to watch it |
//! | `mix` | the mixing step |
//! | `extract` | SHA-1 extraction, in two forms |
//! | `credit` | what a pool is believed to hold |
//! | `per_cpu` | one pool for each CPU |
//! | `timer` | how much randomness an event's time has |
//! | `batch` | the queue between interrupts and pools |
//! | `driver` | primary, secondary and urandom pools together |

mod batch;
mod credit;
mod driver;
mod extract;
mod layout;
mod lock;
mod mix;
mod per_cpu;
mod plan;
mod taps;
mod timer;

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, slice::from_ref};

pub use batch::{BATCH_ENTRIES, BatchQueue, Stored, feed};
pub use credit::{Account, credited};
pub use driver::{
    Driver, EventOutcome, Processed, Read, Release, TRICKLE_ABOVE_BITS, ThresholdOutOfRange, Woken,
};
pub use extract::{ExtractForm, ROUND_BYTES, Round};
pub use layout::Layout;
pub use lock::LockWatch;
pub(crate) use lock::SpinLock;
pub use per_cpu::PerCpuPools;
pub use plan::{Extent, MixPlan, Place, Prefetch, UnknownPlan};
pub use taps::{NotAPoolSize, PoolSize};
pub use timer::{Estimate, Event, Sample, Source, TimerState, int_ln_12bits};

use self::{
    layout::{LockAlone, Packed, Split, Store},
    mix::HANDED_OUT_WORDS,
};
use crate::sync::Ordering;

/// A pool, shared by reference between as many threads as like to.
#[derive(Debug)]
pub struct Pool {
    size: PoolSize,
    plan: MixPlan,
    store: AnyStore,
}

/// A store is a separate allocation: what is written in it must not share a line with what is read in [`Pool`].
#[derive(Debug)]
enum AnyStore {
    Packed(Box<Packed>),
    Split(Box<Split>),
    LockAlone(Box<LockAlone>),
}

/// Somebody to whom memory is shown piece by piece, without a word on what it holds.
pub trait MemoryVisitor {
    /// The next piece.
    fn visit<T>(&mut self, memory: &[T]);
}

/// All that a pool knows, at one moment.
#[derive(Clone, PartialEq, Eq)]
pub struct PoolState {
    /// The words.
    pub words: Vec<u32>,
    /// Index of the word that was written last.
    pub add_ptr: u32,
    /// By how much the next word is rotated, in bits.
    pub input_rotate: u32,
    /// What the pool is believed to hold, in bits.
    pub entropy_bits: i32,
}

impl fmt::Debug for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} rotate {} credit {}:", self.add_ptr, self.input_rotate, self.entropy_bits)?;
        self.words.iter().try_for_each(|word| write!(f, " {word:08x}"))
    }
}

impl Pool {
    /// An empty pool: all words zero, nothing credited.
    #[must_use]
    pub fn new(size: PoolSize, plan: MixPlan) -> Self {
        let store = match plan.layout {
            Layout::Packed => AnyStore::Packed(Box::new(Packed::new(size))),
            Layout::Split => AnyStore::Split(Box::new(Split::new(size))),
            Layout::LockAlone => AnyStore::LockAlone(Box::new(LockAlone::new(size))),
        };
        Self { size, plan, store }
    }

    /// The pool's size.
    #[must_use]
    pub fn size(&self) -> PoolSize {
        self.size
    }

    /// How the pool mixes.
    #[must_use]
    pub fn plan(&self) -> MixPlan {
        self.plan
    }

    /// Mixes `words` in, one after the other, under the lock. No words touch nothing, not even the lock.
    pub fn mix(&self, words: &[u32]) {
        self.mix_watched(words, &mut ());
    }

    /// As [`mix`](Self::mix), telling `watch` about the lock.
    pub fn mix_watched(&self, words: &[u32], watch: &mut impl LockWatch) {
        self.mix_into_store(words, None, watch);
    }

    fn mix_into_store(
        &self,
        words: &[u32],
        handed_out: Option<&mut [u32; HANDED_OUT_WORDS]>,
        watch: &mut impl LockWatch,
    ) {
        match &self.store {
            AnyStore::Packed(store) => mix::mix(&**store, self.plan, words, handed_out, watch),
            AnyStore::Split(store) => mix::mix(&**store, self.plan, words, handed_out, watch),
            AnyStore::LockAlone(store) => mix::mix(&**store, self.plan, words, handed_out, watch),
        }
    }

    /// The pool as it is, taken under the lock.
    #[must_use]
    pub fn state(&self) -> PoolState {
        self.with_store(|store| {
            store.lock().with(&mut (), || {
                let counters = store.counters();
                PoolState {
                    words: store.words().iter().map(|word| word.load(Ordering::Relaxed)).collect(),
                    add_ptr: counters.add_ptr.load(Ordering::Relaxed),
                    input_rotate: counters.input_rotate.load(Ordering::Relaxed),
                    entropy_bits: counters.entropy_count.load(Ordering::Relaxed),
                }
            })
        })
    }

    /// Shows `visitor` all memory that mixing may touch: the words, then the structure. For a benchmark that wants
    /// it in a certain state of the cache, and has no business with what is in it.
    pub fn visit_memory(&self, visitor: &mut impl MemoryVisitor) {
        self.with_store(|store| visitor.visit(store.words()));
        match &self.store {
            AnyStore::Packed(store) => visitor.visit(from_ref(&**store)),
            AnyStore::Split(store) => visitor.visit(from_ref(&**store)),
            AnyStore::LockAlone(store) => visitor.visit(from_ref(&**store)),
        }
    }

    /// Dirties every line that a mixing CPU dirties, and changes nothing: called on another CPU, it leaves the pool
    /// as contention would. That is all words, the lock and what it guards; the line that a split layout keeps for
    /// what is only read stays clean, as it would in life.
    pub fn touch_for_write(&self) {
        self.with_store(|store| store.dirty());
    }

    /// For what is not measured by layout: one piece of code for all three.
    fn with_store<R>(&self, work: impl FnOnce(&dyn Store) -> R) -> R {
        match &self.store {
            AnyStore::Packed(store) => work(&**store),
            AnyStore::Split(store) => work(&**store),
            AnyStore::LockAlone(store) => work(&**store),
        }
    }
}
