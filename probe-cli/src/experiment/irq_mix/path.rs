//! Interrupts one after the other, with the ticks of their CPU between them: the path from a device to the input pool.

use std::sync::{Mutex, PoisonError};

use entropy_core::clock::CycleSource;
use entropy_core::crng::InputPool;
use entropy_core::fast_pool::{FastPool, Gate, Interrupt, MIX_INFLIGHT, Machine, Reply, Way};

use super::stand_in::{StandIn, Tally};
use crate::experiment::cycles::Cycles;
use crate::experiment::{OperationTimes, Workload};
use crate::harness::clock;

/// Ticks of a second, as in most kernels that are sold.
pub(super) const HZ: u32 = 250;

/// Interrupts from one tick to the next: 100 000 a second, as of a network card with a lot to do.
const PER_TICK: u64 = 400;

/// Ticks of a batch: a dozen hand-overs through the larger gate.
const TICKS: u64 = 32;

/// Interrupts of a batch.
pub(super) const EVENTS: u64 = PER_TICK * TICKS;

/// An interrupt of a network card, at this time.
#[inline]
pub(super) fn event(cycles: u64) -> Interrupt<u64> {
    Interrupt { cycles, ip: 0xffff_ffff_8100_0000, irq: 36 }
}

/// The path, and what each interrupt took if that was asked for.
#[derive(Debug)]
pub(super) struct Path {
    stand_in: StandIn,
    times: Option<Mutex<OperationTimes>>,
}

impl Path {
    pub(super) fn new(way: Option<Way>, gate: Gate) -> Self {
        Self { stand_in: StandIn::new(way, gate), times: None }
    }

    /// The same with the clock read before and after each interrupt.
    pub(super) fn timed(way: Option<Way>, gate: Gate) -> Self {
        Self { times: Some(Mutex::default()), ..Self::new(way, gate) }
    }

    /// A batch of `interrupt`s. The ticks count from the same number each time: never a second after the last mix.
    #[inline]
    fn drive(&self, mut interrupt: impl FnMut(&StandIn, u64)) {
        for tick in 1..=TICKS {
            for _ in 0..PER_TICK {
                interrupt(&self.stand_in, tick);
            }
            self.stand_in.tick(tick + 1);
        }
        self.stand_in.settle();
    }
}

impl Workload for Path {
    fn reset(&mut self) {
        self.stand_in.settle_here();
    }

    fn run(&self, _task: usize) -> u64 {
        match &self.times {
            None => self.drive(|stand_in, tick| stand_in.interrupt(event(Cycles.cycles()), tick)),
            Some(times) => {
                let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
                self.drive(|stand_in, tick| {
                    let before = clock::now().ticks;
                    stand_in.interrupt(event(Cycles.cycles()), tick);
                    times.times.record(clock::now().ticks.saturating_sub(before));
                });
                // Of all batches so far.
                times.wakeups = self.stand_in.tally().wakeups;
            }
        }
        EVENTS
    }

    fn operation_times(&self) -> Option<OperationTimes> {
        Some(self.times.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// A clock that every proof reads alike.
fn scripted(reading: u64) -> u64 {
    reading.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// One batch with a scripted clock: the words that the plainest form of the pool has after it, every interrupt handed
/// over once or still counted, and as many mixes as the library's machine makes, which is turned by hand. A worker may
/// be late and then mixes less often.
pub(super) fn prove(way: Option<Way>, gate: Gate) -> Result<Tally, String> {
    let name = super::way_name(way);
    let mut path = Path::new(way, gate);
    path.reset();
    let mut naive = FastPool::mixed_at(0);
    let mut reading = 0;
    path.drive(|stand_in, tick| {
        reading += 1;
        naive.count_in(event(scripted(reading)));
        stand_in.interrupt(event(scripted(reading)), tick);
    });
    if path.stand_in.words() != naive.words() {
        return Err(format!("{name} stirs other words than one interrupt after the other does"));
    }
    let tally = path.stand_in.tally();
    if tally.handed + tally.waiting != EVENTS {
        return Err(format!("{name} hands over {} and keeps {} of {EVENTS}", tally.handed, tally.waiting));
    }
    match way.map(|way| mixes_by_hand(way, gate)) {
        Some(mixes) if way != Some(Way::Worker) && mixes != tally.mixes => {
            Err(format!("{name} mixes {} times and not {mixes}", tally.mixes))
        }
        None if tally.mixes > 0 => Err(format!("{name} hands over")),
        _ => Ok(tally),
    }
}

fn mixes_by_hand(way: Way, gate: Gate) -> u64 {
    let mut machine = Machine::new(1, way, gate, 1);
    let input = Mutex::<InputPool>::default();
    let mut mixes = 0;
    for _ in 0..TICKS {
        for _ in 0..PER_TICK {
            let mixed = matches!(machine.interrupt(0, event(0), &input), Reply::Mixed(_));
            mixes += u64::from(mixed) + machine.run_worker(0, &input).len() as u64;
        }
        mixes += machine.tick(&input).len() as u64;
    }
    mixes
}

/// How often an idle CPU mixes in ten minutes with one interrupt a tick, and how many interrupts wait at the end.
pub(super) fn idle_for_ten_minutes(way: Way) -> (u64, u32) {
    let mut machine = Machine::<u64>::new(1, way, way.gate(HZ), 1);
    machine.set_idle(0, true);
    let input = Mutex::<InputPool>::default();
    let mut mixes = 0;
    for _ in 0..600 * HZ {
        machine.interrupt(0, event(0), &input);
        mixes += machine.tick(&input).len() as u64;
    }
    (mixes, machine.pool(0).state().count() & !MIX_INFLIGHT)
}
