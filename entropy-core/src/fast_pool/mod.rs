//! What the kernel does with an interrupt: four words that each of them stirs, and the way from there to the pool.
//!
//! An interrupt handler must be quick, and the input pool is behind a lock. So each CPU stirs four words of its own,
//! and hands some of them over now and then. *How* is the subject of the mail of September 2022: mixed inside the
//! interrupt, left to a worker thread, or left to a timer on the next tick of the same CPU.
//!
//! | file | holds |
//! | --- | --- |
//! | `state` | the words, the count and the gate: one CPU, no sharing |
//! | `handed` | what leaves the fast pool, and the credit for it |
//! | `per_cpu` | the same state under "interrupts off", for an interrupt and a mixer at the same time |
//! | `timer_event` | what keys, mice and disks add to the same words, and what that is worth |
//! | `machine` | CPUs, ticks, idleness and hotplug by hand: when each way gets to mix |
//!
//! Clock, tick and CPU are handed in everywhere: nothing in here knows the time.

mod handed;
mod machine;
mod per_cpu;
mod state;
mod timer_event;

pub use handed::{Destination, Handed, credit_bits};
pub use machine::{LastCpu, Machine, Reply, Way};
pub use per_cpu::{CpuFastPool, Inside, WrongCpu};
pub use state::{Arrival, FastPool, Gate, Interrupt, MIX_INFLIGHT};
pub use timer_event::{TimerEvent, TimerSource};
