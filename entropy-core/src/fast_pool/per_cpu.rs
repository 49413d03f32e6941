//! The fast pool of one CPU where an interrupt and a mixer are at work at the same time.
//!
//! In the kernel both run on one CPU, and the mixer turns interrupts off while it takes its copy. Here they may be two
//! threads; a lock stands for "interrupts off", and a thread that stands for the interrupts waits for it as an interrupt
//! would. The fields are atomics and the lock orders them, so there is nothing unsafe and nothing that a model checker
//! could not see.

use core::marker::PhantomData;

use super::{
    handed::{Destination, Handed},
    state::{Arrival, FastPool, Gate, Interrupt},
};
use crate::{
    pool::SpinLock,
    siphash::Word,
    sync::{AtomicU32, AtomicU64, Ordering},
};

/// A fast pool that belongs to one CPU and is shared by reference.
#[derive(Debug)]
pub struct CpuFastPool<W> {
    cpu: usize,
    interrupts_off: SpinLock,
    words: [AtomicU64; 4],
    last: AtomicU64,
    count: AtomicU32,
    word: PhantomData<W>,
}

/// A mixer ran on a CPU that the pool does not belong to: it has done nothing, and the mix stays in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongCpu;

/// What an interrupt that mixes by itself came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Counted; the gate is shut.
    Counted,
    /// The gate is open and the input pool's lock was taken: the interrupt is counted, and the next one tries again.
    Busy,
    /// Handed over.
    Mixed(Handed),
}

impl<W: Word> CpuFastPool<W> {
    /// The pool of `cpu`, last mixed at tick `last`.
    #[must_use]
    pub fn new(cpu: usize, last: W) -> Self {
        let FastPool { words, last, count } = FastPool::mixed_at(last);
        Self {
            cpu,
            interrupts_off: SpinLock::new(),
            words: words.map(|word| AtomicU64::new(word.widened())),
            last: AtomicU64::new(last.widened()),
            count: AtomicU32::new(count),
            word: PhantomData,
        }
    }

    /// The state at one moment.
    #[must_use]
    pub fn state(&self) -> FastPool<W> {
        self.with(|pool| pool.clone())
    }

    /// An interrupt, where mixing is left to somebody else.
    pub fn interrupt(&self, interrupt: Interrupt<W>, gate: Gate, now: W) -> Arrival {
        self.with(|pool| pool.interrupt(interrupt, gate, now))
    }

    /// An interrupt that mixes by itself. It never waits for the input pool: what it cannot hand over stays counted.
    pub fn interrupt_inside(
        &self,
        interrupt: Interrupt<W>,
        gate: Gate,
        now: W,
        to: &impl Destination,
    ) -> Inside {
        self.with(|pool| {
            pool.count_in(interrupt);
            if !pool.due_inside(gate, now) {
                return Inside::Counted;
            }
            // One bit, however many interrupts there were.
            let handed = pool.peek(1);
            if !to.try_hand_over(&handed) {
                return Inside::Busy;
            }
            (pool.count, pool.last) = (0, now);
            Inside::Mixed(handed)
        })
    }

    /// What a worker or a timer does on CPU `running_on` at tick `now`: takes its copy with interrupts off, and hands it
    /// over with interrupts on.
    ///
    /// # Errors
    ///
    /// The pool is of another CPU, which went away between arming and firing. Nothing is cleared.
    pub fn mix(&self, running_on: usize, now: W, to: &impl Destination) -> Result<Handed, WrongCpu> {
        if running_on != self.cpu {
            return Err(WrongCpu);
        }
        let handed = self.with(|pool| pool.take(now));
        to.hand_over(&handed);
        Ok(handed)
    }

    /// `random_online_cpu`: the CPU has come online.
    pub fn online(&self) {
        self.with(FastPool::online);
    }

    /// Runs `work` with interrupts off.
    fn with<R>(&self, work: impl FnOnce(&mut FastPool<W>) -> R) -> R {
        self.interrupts_off.with(&mut (), || {
            let mut pool = FastPool {
                words: self.words.each_ref().map(|word| W::truncated(word.load(Ordering::Relaxed))),
                last: W::truncated(self.last.load(Ordering::Relaxed)),
                count: self.count.load(Ordering::Relaxed),
            };
            let result = work(&mut pool);
            for (place, word) in self.words.iter().zip(pool.words) {
                place.store(word.widened(), Ordering::Relaxed);
            }
            self.last.store(pool.last.widened(), Ordering::Relaxed);
            self.count.store(pool.count, Ordering::Relaxed);
            result
        })
    }
}
