//! A stand-in for the interrupts of one CPU: the thread that they hit calls the handler's work itself.
//!
//! Nothing is interrupted, since no device here interrupts when it is told to. What an interrupt does for the random
//! driver is all there, on the CPU and in the thread that it would have hit: the stirring, the gate, and the handing
//! over by a lock that is tried, a thread of high priority that is woken, or a tick that comes anyway.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle, Thread};

use entropy_core::crng::InputPool;
use entropy_core::fast_pool::{Arrival, CpuFastPool, Gate, Handed, Inside, Interrupt, MIX_INFLIGHT, Way};

use crate::sys::realtime;

/// The CPU that everything here belongs to. A number of its own: the model has no other.
const CPU: usize = 0;

/// Interrupts of one CPU, and what becomes of them.
#[derive(Debug)]
pub(super) struct StandIn {
    way: Option<Way>,
    gate: Gate,
    line: Arc<Line>,
    /// The timer is armed.
    timer: AtomicBool,
    worker: Option<Worker>,
}

/// The fast pool of the CPU, where it hands over to, and what was handed over.
#[derive(Debug)]
struct Line {
    pool: CpuFastPool<u64>,
    input: Mutex<InputPool>,
    mixes: AtomicU64,
    events: AtomicU64,
}

/// What was handed over so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Mixes.
    pub(super) mixes: u64,
    /// Interrupts in them.
    pub(super) handed: u64,
    /// Interrupts that are counted and not in any.
    pub(super) waiting: u64,
    /// Threads that were woken.
    pub(super) wakeups: u64,
}

impl StandIn {
    /// Interrupts that are handed over by `way` once `gate` opens; by none, they are stirred and counted only.
    pub(super) fn new(way: Option<Way>, gate: Gate) -> Self {
        let line = Arc::new(Line {
            pool: CpuFastPool::new(CPU, 0),
            input: Mutex::default(),
            mixes: AtomicU64::new(0),
            events: AtomicU64::new(0),
        });
        Self { way, gate, line, timer: AtomicBool::new(false), worker: None }
    }

    /// Makes ready for interrupts of the thread that calls this, on the CPU that it is pinned to: a worker inherits that.
    pub(super) fn settle_here(&mut self) {
        if self.way == Some(Way::Worker) && self.worker.is_none() {
            self.worker = Some(Worker::start(Arc::clone(&self.line)));
        }
        self.settle();
    }

    /// An interrupt at tick `now`.
    #[inline]
    pub(super) fn interrupt(&self, interrupt: Interrupt<u64>, now: u64) {
        let Some(way) = self.way else {
            // The gate never opens.
            let shut = Gate { events: u32::MAX, ..self.gate };
            self.line.pool.interrupt(interrupt, shut, 0);
            return;
        };
        if way == Way::InInterrupt {
            let inside = self.line.pool.interrupt_inside(interrupt, self.gate, now, &self.line.input);
            if let Inside::Mixed(handed) = inside {
                self.line.count(&handed);
            }
            return;
        }
        if self.line.pool.interrupt(interrupt, self.gate, now) == Arrival::Due {
            match &self.worker {
                Some(worker) => worker.wake(now),
                // A worker that was never started leaves what is due in flight, as a CPU that went away does.
                None if way == Way::Worker => {}
                None => self.timer.store(true, Ordering::Relaxed),
            }
        }
    }

    /// The tick `now` of the CPU: an armed timer runs.
    #[inline]
    pub(super) fn tick(&self, now: u64) {
        if self.timer.load(Ordering::Relaxed) {
            self.timer.store(false, Ordering::Relaxed);
            self.line.mix(now);
        }
    }

    /// Waits until the worker has done what it was woken for. One that goes before us has long been there.
    #[inline]
    pub(super) fn settle(&self) {
        while self.worker.as_ref().is_some_and(Worker::is_at_work) {
            thread::yield_now();
        }
    }

    /// Reads what was handed over.
    pub(super) fn tally(&self) -> Tally {
        Tally {
            mixes: self.line.mixes.load(Ordering::Relaxed),
            handed: self.line.events.load(Ordering::Relaxed),
            waiting: u64::from(self.line.pool.state().count() & !MIX_INFLIGHT),
            wakeups: self.worker.as_ref().map_or(0, |worker| worker.wakeups.load(Ordering::Relaxed)),
        }
    }

    /// The four words.
    pub(super) fn words(&self) -> [u64; 4] {
        self.line.pool.state().words()
    }

    /// Why a worker here does not go before ordinary threads, if it does not.
    pub(super) fn worker_refused() -> Option<String> {
        thread::spawn(realtime::put_first).join().ok()?.err().map(|errno| errno.desc().to_owned())
    }
}

impl Line {
    fn mix(&self, now: u64) {
        if let Ok(handed) = self.pool.mix(CPU, now, &self.input) {
            self.count(&handed);
        }
    }

    fn count(&self, handed: &Handed) {
        self.mixes.fetch_add(1, Ordering::Relaxed);
        self.events.fetch_add(u64::from(handed.count & !MIX_INFLIGHT), Ordering::Relaxed);
    }
}

/// A thread that sleeps until it is woken to mix: the kernel's worker of high priority.
#[derive(Debug)]
struct Worker {
    orders: Arc<Orders>,
    wakeups: AtomicU64,
    thread: Thread,
    handle: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Orders {
    /// A mix is due, and nobody has begun it.
    due: AtomicBool,
    /// The tick of the interrupt that asked for it.
    now: AtomicU64,
    /// Mixes that were done.
    done: AtomicU64,
    stop: AtomicBool,
}

impl Worker {
    fn start(line: Arc<Line>) -> Self {
        let orders = Arc::new(Orders::default());
        let (tell, ready) = mpsc::channel();
        let handle = thread::spawn({
            let orders = Arc::clone(&orders);
            move || {
                // Where that is refused it is an ordinary thread, and the report says so.
                let _ = realtime::put_first();
                drop(tell);
                orders.work(&line);
            }
        });
        // Only a worker that is awake where it is woken never meets a pool that its own CPU has half stirred: it would
        // wait for a thread that it keeps from running.
        let _: Result<(), _> = ready.recv();
        let thread = handle.thread().clone();
        Self { orders, wakeups: AtomicU64::new(0), thread, handle: Some(handle) }
    }

    fn wake(&self, now: u64) {
        self.orders.now.store(now, Ordering::Relaxed);
        self.orders.due.store(true, Ordering::Release);
        self.wakeups.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }

    /// Every wake-up is answered by one mix: until then the pool asks for no other.
    fn is_at_work(&self) -> bool {
        self.orders.done.load(Ordering::Acquire) != self.wakeups.load(Ordering::Relaxed)
    }
}

impl Orders {
    fn work(&self, line: &Line) {
        while !self.stop.load(Ordering::Acquire) {
            // Cleared first: from within the mix on, the next may be asked for.
            if self.due.swap(false, Ordering::AcqRel) {
                line.mix(self.now.load(Ordering::Relaxed));
                self.done.fetch_add(1, Ordering::Release);
            } else {
                thread::park();
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders.stop.store(true, Ordering::Release);
        self.thread.unpark();
        if let Some(handle) = self.handle.take() {
            // A panic of the worker has been printed; there is nothing to add.
            let _ = handle.join();
        }
    }
}
