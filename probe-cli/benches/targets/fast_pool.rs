//! What an interrupt costs its CPU: four words stirred and counted, with the clock read and without.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use entropy_core::fast_pool::{Arrival, FastPool, Gate, Interrupt};
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};

use super::target::{Aim, Judge, Part, Sweep};

const NAME: &str = "fast-pool";
const CASE: &str = "interrupt";
const NOTHING: &str = "nothing";
const GIVEN: &str = "clock-given";
const READ: &str = "clock-read";
const CLOCK: &str = "clock-alone";

/// Interrupts of a batch: fewer than the gate lets through, so that none of them has a pool to hand over.
const INTERRUPTS: u64 = 1000;
const GATE: Gate = Gate { events: 1024, hz: 250 };

/// The path of an interrupt, which is the same whatever becomes of the pool afterwards.
#[derive(Debug)]
pub(crate) struct FastPoolPath;

impl Comparison for FastPoolPath {
    fn name(&self) -> &str {
        NAME
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let no_clock = (!cfg!(target_arch = "x86_64")).then(|| "the clock is that of x86-64".to_owned());
        let variant = |name: &str, summary: &str, unavailable| VariantInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            named: true,
            unavailable,
        };
        vec![Case {
            name: CASE.to_owned(),
            title: "an interrupt stirred into the words of its CPU".to_owned(),
            tasks: 1,
            operation: "interrupt",
            variants: vec![
                variant(NOTHING, "a call that does nothing", None),
                variant(GIVEN, "the interrupt, its time handed in", None),
                variant(READ, "the interrupt, the time stamp counter read for it", no_clock.clone()),
                variant(CLOCK, "the time stamp counter, and no interrupt", no_clock),
            ],
        }]
    }

    fn work_check(&self, _case: &Case) -> Result<String, String> {
        let stirred = |interrupt: fn(&mut FastPool<u64>, u64) -> Arrival| {
            let mut pool = FastPool::mixed_at(0);
            let arrived = (0..INTERRUPTS).all(|ip| interrupt(&mut pool, ip) == Arrival::Counted);
            (arrived, pool)
        };
        let ((nothing, untouched), (given, one), (read, other)) =
            (stirred(do_nothing), stirred(clock_given), stirred(clock_read));
        let counted = u64::from(one.count()) == INTERRUPTS && one.count() == other.count();
        if !(nothing && given && read && counted && untouched == FastPool::mixed_at(0)) {
            return Err("not every interrupt was counted, or one had to be handed over".to_owned());
        }
        Ok(format!(
            "{INTERRUPTS} interrupts are counted and none is due; a call that does nothing counts none"
        ))
    }

    fn prepare(&self, _case: &Case, variant: usize, _seed: u64) -> Box<dyn Workload> {
        let interrupt = [do_nothing, clock_given, clock_read, clock_alone][variant];
        Box::new(Path { interrupt, pool: Mutex::default() })
    }
}

struct Path {
    interrupt: fn(&mut FastPool<u64>, u64) -> Arrival,
    pool: Mutex<FastPool<u64>>,
}

impl Workload for Path {
    fn reset(&mut self) {
        self.pool = Mutex::new(FastPool::mixed_at(0));
    }

    fn run(&self, _task: usize) -> u64 {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        for ip in 0..INTERRUPTS {
            black_box((self.interrupt)(&mut pool, black_box(ip)));
        }
        INTERRUPTS
    }
}

#[inline(never)]
fn do_nothing(_pool: &mut FastPool<u64>, _ip: u64) -> Arrival {
    Arrival::Counted
}

#[inline(never)]
fn clock_given(pool: &mut FastPool<u64>, ip: u64) -> Arrival {
    pool.interrupt(Interrupt { cycles: ip ^ 0x5eed, ip, irq: 24 }, GATE, 0)
}

#[inline(never)]
fn clock_read(pool: &mut FastPool<u64>, ip: u64) -> Arrival {
    pool.interrupt(Interrupt { cycles: cycles(), ip, irq: 24 }, GATE, 0)
}

#[inline(never)]
fn clock_alone(_pool: &mut FastPool<u64>, _ip: u64) -> Arrival {
    black_box(cycles());
    Arrival::Counted
}

#[inline]
fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    return entropy_core::clock::CycleSource::cycles(&mut entropy_core::clock::Tsc);
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}

/// The targets of the path.
pub(crate) fn sweeps() -> Vec<Sweep> {
    let sweep = |work, ours, most| Sweep {
        id: "E8",
        work,
        comparison: NAME,
        judged_by: Judge::Worst,
        parts: vec![Part { case: CASE.to_owned(), ours, peer: NOTHING, aim: Aim::NsMore(most) }],
        note: || {
            "state in the cache, the loop and an empty call taken off; an interrupt takes no lock and makes no system \
             call: it is handed all it works on"
                .to_owned()
        },
    };
    vec![
        sweep("fast-pool interrupt path, clock read", READ, 15.0),
        sweep("fast-pool interrupt path, clock not read", GIVEN, 5.0),
        sweep("the clock that the interrupt path reads, by itself", CLOCK, 15.0),
    ]
}
