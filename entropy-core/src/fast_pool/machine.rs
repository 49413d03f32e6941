//! CPUs whose ticks, idleness and hotplug are turned by hand: when each way of handing over gets to mix.

use alloc::{boxed::Box, vec::Vec};

use strum::{Display, EnumString};

use super::{
    handed::{Destination, Handed},
    per_cpu::{CpuFastPool, Inside},
    state::{Arrival, Gate, Interrupt},
};
use crate::siphash::Word;

/// How a fast pool gets to the input pool.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash)]
#[strum(serialize_all = "kebab-case")]
pub enum Way {
    /// Inside the interrupt, if the lock is free (up to Linux 5.17). With real-time kernels that lock sleeps, which an
    /// interrupt must not.
    InInterrupt,
    /// By a worker thread of high priority on the same CPU (Linux 5.18 to 6.0).
    Worker,
    /// On the next tick of the same CPU (merged in Linux 6.1).
    Timer,
    /// The same, by a timer that does not wake an idle CPU: as posted in the mail, and not merged.
    DeferrableTimer,
}

impl Way {
    /// All four, oldest first.
    pub const ALL: [Self; 4] = [Self::InInterrupt, Self::Worker, Self::Timer, Self::DeferrableTimer];

    /// The gate that came with it, at `hz` ticks a second.
    #[must_use]
    pub const fn gate(self, hz: u32) -> Gate {
        match self {
            Self::InInterrupt => Gate::in_interrupt(hz),
            Self::Worker | Self::Timer | Self::DeferrableTimer => Gate::deferred(hz),
        }
    }
}

/// What an interrupt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It was counted.
    Counted,
    /// It was counted; a mix is under way.
    InFlight,
    /// It armed the worker or the timer.
    Armed,
    /// A mix is due, and the worker or timer from an earlier time has not run yet: it was not armed again.
    StillPending,
    /// It mixed by itself.
    Mixed(Handed),
    /// It would have mixed, and the lock was taken.
    Busy,
}

/// The last CPU that is online cannot go offline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastCpu;

/// A machine that does nothing by itself.
#[derive(Debug)]
pub struct Machine<W> {
    way: Way,
    gate: Gate,
    now: W,
    cpus: Box<[Cpu<W>]>,
}

#[derive(Debug)]
struct Cpu<W> {
    pool: CpuFastPool<W>,
    online: bool,
    idle: bool,
    /// The CPU on which the pool's worker or timer is to run.
    pending: Option<usize>,
}

impl<W: Word> Machine<W> {
    /// `cpus` CPUs (at least one), all online and busy, at tick `now`.
    #[must_use]
    pub fn new(cpus: usize, way: Way, gate: Gate, now: W) -> Self {
        let cpu =
            |number| Cpu { pool: CpuFastPool::new(number, now), online: true, idle: false, pending: None };
        Self { way, gate, now, cpus: (0..cpus.max(1)).map(cpu).collect::<Vec<_>>().into() }
    }

    /// The tick.
    #[must_use]
    pub fn now(&self) -> W {
        self.now
    }

    /// The pool of a CPU.
    ///
    /// # Panics
    ///
    /// This and all that takes a CPU: if there is none with this number.
    #[must_use]
    pub fn pool(&self, cpu: usize) -> &CpuFastPool<W> {
        &self.cpus[cpu].pool
    }

    /// An interrupt on `cpu`.
    pub fn interrupt(&mut self, cpu: usize, interrupt: Interrupt<W>, to: &impl Destination) -> Reply {
        let (gate, now) = (self.gate, self.now);
        let here = &mut self.cpus[cpu];
        if self.way == Way::InInterrupt {
            return match here.pool.interrupt_inside(interrupt, gate, now, to) {
                Inside::Counted => Reply::Counted,
                Inside::Busy => Reply::Busy,
                Inside::Mixed(handed) => Reply::Mixed(handed),
            };
        }
        match here.pool.interrupt(interrupt, gate, now) {
            Arrival::Counted => Reply::Counted,
            Arrival::InFlight => Reply::InFlight,
            Arrival::Due if here.pending.is_some() => Reply::StillPending,
            Arrival::Due => {
                here.pending = Some(cpu);
                Reply::Armed
            }
        }
    }

    /// The scheduler lets the workers of `cpu` run; returns what they handed over.
    pub fn run_worker(&mut self, cpu: usize, to: &impl Destination) -> Vec<Handed> {
        if self.way == Way::Worker { self.run_pending(cpu, to) } else { Vec::new() }
    }

    /// Time goes on by one tick; returns what timers handed over.
    ///
    /// The tick of an idle CPU is stopped: it comes only for a timer that may wake it.
    pub fn tick(&mut self, to: &impl Destination) -> Vec<Handed> {
        self.now = self.now.plus(W::truncated(1));
        let ticks = |cpu: &Cpu<W>| match self.way {
            Way::Timer => cpu.online,
            Way::DeferrableTimer => cpu.online && !cpu.idle,
            Way::InInterrupt | Way::Worker => false,
        };
        let ticking: Vec<usize> = (0..self.cpus.len()).filter(|&cpu| ticks(&self.cpus[cpu])).collect();
        ticking.into_iter().flat_map(|cpu| self.run_pending(cpu, to)).collect()
    }

    /// Runs everything that waits for `running_on`, which may include pools of CPUs that have gone.
    fn run_pending(&mut self, running_on: usize, to: &impl Destination) -> Vec<Handed> {
        let now = self.now;
        let waiting = self.cpus.iter_mut().filter(|cpu| cpu.pending == Some(running_on));
        waiting
            .filter_map(|cpu| {
                cpu.pending = None;
                // On the wrong CPU nothing happens.
                cpu.pool.mix(running_on, now, to).ok()
            })
            .collect()
    }

    /// Whether `cpu` has something to do. An idle CPU still takes interrupts.
    pub fn set_idle(&mut self, cpu: usize, idle: bool) {
        self.cpus[cpu].idle = idle;
    }

    /// `cpu` goes away. What waited for it will run elsewhere, as the kernel migrates timers and unbinds workers.
    ///
    /// # Errors
    ///
    /// There is no other.
    pub fn offline(&mut self, cpu: usize) -> Result<(), LastCpu> {
        let elsewhere = self
            .cpus
            .iter()
            .enumerate()
            .position(|(other, state)| other != cpu && state.online)
            .ok_or(LastCpu)?;
        self.cpus[cpu].online = false;
        for waiting in self.cpus.iter_mut().filter(|state| state.pending == Some(cpu)) {
            waiting.pending = Some(elsewhere);
        }
        Ok(())
    }

    /// `cpu` comes back: its count starts from nothing, which frees a mix that is stuck in flight.
    pub fn online(&mut self, cpu: usize) {
        let state = &mut self.cpus[cpu];
        state.online = true;
        state.pool.online();
    }
}
