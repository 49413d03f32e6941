//! What the instrument did: to the number it shows, to the calls it timed, and to those it did not.
//!
//! Measured here and now, with the programs that are used, on a call of our own that does next to nothing.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use nix::unistd::{getppid, getuid};

use crate::probe::backend::Backend;
use crate::probe::function::{self, Function};
use crate::probe::kprobe;
use crate::probe::refusal::Refusal;
use crate::probe::scope::Scope;
use crate::probe::session::Session;
use crate::probe::syscall::{self, Syscall};
use crate::probe::user::{self, End, UserTarget};
use crate::probe::user_function::file_offset;
use crate::stats::histogram::Histogram;
use crate::stats::quantile::median;

/// What one mechanism costs, ns; null where it could not be measured.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cost {
    /// What an interval reads when nothing happens in it.
    pub floor_ns: Option<u64>,
    /// The 99th percentile of the same.
    pub floor_p99_ns: Option<u64>,
    /// What a traced call takes longer. Noise may make it negative.
    pub added_ns: Option<i64>,
    /// What a call takes longer that is not traced.
    pub bystander_ns: Option<i64>,
}

/// Times that the probes are attached, and calls each time.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Attachments.
    pub rounds: u32,
    /// Calls with probes in each, and as many without.
    pub calls: u32,
}

impl Effort {
    /// What a session affords: some hundredths of a second.
    pub const BRIEF: Self = Self { rounds: 3, calls: 3_000 };
    /// What `calibrate` affords.
    pub const LONG: Self = Self { rounds: 15, calls: 20_000 };
}

/// What `backend` costs.
///
/// # Errors
///
/// It cannot be attached to the call of our own.
pub fn of(backend: Backend, effort: Effort) -> Result<Cost, Refusal> {
    match backend {
        Backend::Tracepoint => syscall_cost(effort, syscall::trace_events),
        Backend::RawTracepoint => syscall_cost(effort, syscall::trace_raw),
        Backend::Fentry => {
            let call = [Function::named(EMPTIEST_CALL)];
            // Not every kernel describes that function; its own test function is always there.
            let cost = measure(effort, || function::trace(&call, &Scope::own_thread()), traced_syscall);
            let cost = cost.unwrap_or_default();
            let floor = function::floor(effort.calls)?;
            Ok(Cost { floor_ns: floor.quantile(0.5), floor_p99_ns: floor.quantile(0.99), ..cost })
        }
        Backend::Kprobe => {
            let call = [Function::named(EMPTIEST_CALL)];
            let attach = || kprobe::attach(&call, &Scope::own_thread(), &|_, _| true)?.whole();
            measure(effort, attach, traced_syscall)
        }
        Backend::Uprobe => {
            let offset = file_offset(empty_function as extern "C" fn(u64) as usize)?;
            let target = UserTarget {
                binary: Path::new("/proc/self/exe").to_owned(),
                begins: vec![offset],
                end: End::Return,
            };
            let attach =
                || user::attach(std::slice::from_ref(&target), &Scope::own_thread(), &|_, _| true)?.whole();
            measure(effort, attach, || empty_function(black_box(1)))
        }
        // Nothing is attached: the floor is measured beside each call, and subtracted.
        Backend::Call => Ok(Cost { added_ns: Some(0), bystander_ns: Some(0), ..Cost::default() }),
        Backend::None => Ok(Cost::default()),
    }
}

/// The function behind getppid(2), as near to nothing as a function is that user space can call.
const EMPTIEST_CALL: &str =
    if cfg!(target_arch = "aarch64") { "__arm64_sys_getppid" } else { "__x64_sys_getppid" };

#[inline(never)]
extern "C" fn empty_function(argument: u64) {
    black_box(argument);
}

fn traced_syscall() {
    black_box(getppid());
}

fn syscall_cost(
    effort: Effort,
    trace: fn(&[Syscall], &Scope) -> Result<Session, Refusal>,
) -> Result<Cost, Refusal> {
    let call: Vec<_> = Syscall::by_name("getppid").into_iter().collect();
    measure(effort, || trace(&call, &Scope::own_thread()), traced_syscall)
}

/// Times `traced`, and a system call that is not traced, with the probes there and not there in turn.
fn measure(
    effort: Effort,
    attach: impl Fn() -> Result<Session, Refusal>,
    traced: impl Fn(),
) -> Result<Cost, Refusal> {
    let bystander = || {
        black_box(getuid());
    };
    let (mut added, mut others, mut floors) = (Vec::new(), Vec::new(), Histogram::default());
    time(effort.calls, &traced);
    time(effort.calls, bystander);
    for round in 0..effort.rounds {
        let plain = || (time(effort.calls, &traced), time(effort.calls, bystander));
        let before = (round % 2 == 0).then(plain);
        let session = attach()?;
        let probed = (time(effort.calls, &traced), time(effort.calls, bystander));
        let read = session.read()?;
        read.iter().for_each(|reading| floors.merge(&reading.total()));
        drop(session);
        // Each goes first in turn, so that a slow drift of the machine favours neither.
        let unprobed = before.unwrap_or_else(plain);
        added.push(probed.0 - unprobed.0);
        others.push(probed.1 - unprobed.1);
    }
    let whole = |values: &[f64]| median(values).map(|ns| ns.round() as i64);
    Ok(Cost {
        floor_ns: floors.quantile(0.5),
        floor_p99_ns: floors.quantile(0.99),
        added_ns: whole(&added),
        bystander_ns: whole(&others),
    })
}

/// Time of one of `calls` calls, ns.
fn time(calls: u32, call: impl Fn()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_nanos() as f64 / f64::from(calls.max(1))
}

/// Kinds of probe that `calibrate` measures, best first.
pub const KINDS: [Backend; 5] =
    [Backend::Fentry, Backend::Kprobe, Backend::Tracepoint, Backend::RawTracepoint, Backend::Uprobe];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_adds_nothing() {
        let cost = of(Backend::Call, Effort::BRIEF).unwrap();
        assert_eq!((cost.added_ns, cost.bystander_ns), (Some(0), Some(0)));
        assert_eq!(of(Backend::None, Effort::BRIEF).unwrap(), Cost::default());
    }
}
