//! Every interleaving of interrupts and mixers. Run with `RUSTFLAGS="--cfg loom"` and a target directory of its own.
#![cfg(loom)]

use entropy_core::fast_pool::{
    Arrival, CpuFastPool, Destination, FastPool, Gate, Handed, Inside, Interrupt, MIX_INFLIGHT, WrongCpu,
};
use loom::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

/// Opens at every second interrupt, so that a model of a few interrupts gets to everything.
const GATE: Gate = Gate { events: 2, hz: 1000 };

#[derive(Default)]
struct InputPool {
    handed: Mutex<Vec<Handed>>,
    /// Touched with the lock held, since the checker switches threads at such places only.
    inside: AtomicU32,
}

impl InputPool {
    fn events(&self) -> u32 {
        self.handed.lock().unwrap().iter().map(|handed| handed.count & !MIX_INFLIGHT).sum()
    }
}

impl Destination for InputPool {
    fn hand_over(&self, handed: &Handed) {
        self.handed.lock().unwrap().push(*handed);
    }
    fn try_hand_over(&self, handed: &Handed) -> bool {
        let push = |mut all: MutexGuard<'_, Vec<Handed>>| {
            self.inside.fetch_add(1, Ordering::Relaxed);
            all.push(*handed);
        };
        self.handed.try_lock().map(push).is_ok()
    }
}

fn event(nth: u64) -> Interrupt<u64> {
    Interrupt { cycles: nth, ip: 0, irq: 1 }
}

fn naive(events: u64) -> [u64; 4] {
    let mut pool = FastPool::default();
    (0..events).for_each(|nth| drop(pool.count_in(event(nth))));
    pool.words()
}

fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// A worker or a timer beside the interrupts of its CPU: every arming is answered by one mix, and every interrupt is
/// in one of them or still counted.
#[test]
fn a_deferred_mix_loses_nothing_and_takes_nothing_twice() {
    const EVENTS: u64 = 5;
    check(None, || {
        let (pool, input) = (Arc::new(CpuFastPool::new(0, 0)), Arc::new(InputPool::default()));
        let armed = Arc::new(AtomicBool::new(false));
        let mixer = {
            let (pool, input, armed) = (Arc::clone(&pool), Arc::clone(&input), Arc::clone(&armed));
            thread::spawn(move || {
                let run = |_: &u32| armed.swap(false, Ordering::AcqRel) && pool.mix(0, 1, &*input).is_ok();
                (0..2).filter(run).count()
            })
        };
        let mut armings = 0;
        for nth in 0..EVENTS {
            if pool.interrupt(event(nth), GATE, 0) == Arrival::Due {
                assert!(!armed.swap(true, Ordering::AcqRel), "armed twice");
                armings += 1;
            }
        }
        let mut mixes = mixer.join().unwrap();
        if armed.swap(false, Ordering::AcqRel) {
            pool.mix(0, 2, &*input).unwrap();
            mixes += 1;
        }
        let state = pool.state();
        assert_eq!(mixes, armings);
        assert_eq!(u64::from(input.events() + (state.count() & !MIX_INFLIGHT)), EVENTS);
        assert_eq!(state.count() & MIX_INFLIGHT, 0);
        assert_eq!(state.words(), naive(EVENTS));
    });
}

/// Two CPUs that mix inside their interrupts, and one input pool.
#[test]
fn interrupts_that_find_the_pool_taken_lose_nothing() {
    use std::sync::atomic::{AtomicBool as Plain, Ordering};
    static SEEN_BUSY: Plain = Plain::new(false);
    const EVENTS: u64 = 3;
    check(Some(3), || {
        let input = Arc::new(InputPool::default());
        let cpu = |cpu| {
            let input = Arc::clone(&input);
            move || {
                let pool = CpuFastPool::new(cpu, 0);
                for nth in 0..EVENTS {
                    if pool.interrupt_inside(event(nth), GATE, 0, &*input) == Inside::Busy {
                        SEEN_BUSY.store(true, Ordering::Relaxed);
                    }
                }
                let state = pool.state();
                assert_eq!(state.words(), naive(EVENTS));
                u64::from(state.count())
            }
        };
        let other = thread::spawn(cpu(1));
        let waiting = cpu(0)() + other.join().unwrap();
        assert_eq!(u64::from(input.events()) + waiting, 2 * EVENTS);
    });
    assert!(SEEN_BUSY.load(Ordering::Relaxed), "no interleaving had one CPU find the other mixing");
}

/// A mixer on the wrong CPU, and the CPU's return, beside interrupts: nothing is handed over, and the next interrupts
/// can arm again.
#[test]
fn a_mixer_on_the_wrong_cpu_touches_nothing() {
    check(None, || {
        let (pool, input) = (Arc::new(CpuFastPool::new(0, 0)), Arc::new(InputPool::default()));
        let stray = {
            let (pool, input) = (Arc::clone(&pool), Arc::clone(&input));
            thread::spawn(move || assert_eq!(pool.mix(1, 1, &*input), Err(WrongCpu)))
        };
        let arrivals: Vec<_> = (0..3).map(|nth| pool.interrupt(event(nth), GATE, 0)).collect();
        stray.join().unwrap();
        assert_eq!(arrivals, [Arrival::Counted, Arrival::Due, Arrival::InFlight]);
        assert_eq!((pool.state().count(), input.events()), (MIX_INFLIGHT | 3, 0));
        pool.online();
        assert_eq!(pool.interrupt(event(3), GATE, 0), Arrival::Counted);
        assert_eq!(pool.interrupt(event(4), GATE, 0), Arrival::Due);
        assert_eq!(pool.state().words(), naive(5));
    });
}
