//! The live counterpart of an experiment: a question to the running kernel, put by making the calls ourselves.
//!
//! The first candidate that attaches answers. The same calls are also timed from user space with the probes on
//! and off in turn, so that the row says what the probes add: to the calls traced, and to calls that are not.

use std::fs::File;
use std::hint::black_box;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::Barrier;
use std::time::Instant;

use nix::fcntl::OFlag;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::getppid;
use probe_abi::quality::Quality;

use super::backend::Backend;
use super::calibration;
use super::call::{self, Primitive};
use super::function::{self, Function};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::{RowKey, Session, TargetReading};
use super::syscall::{self, Syscall};
use super::timer;
use crate::experiment::question::{Candidate, Load, Question, Traced};
use crate::host::{Tree, interrupts};
use crate::report::model::LiveRow;
use crate::stats::histogram::Histogram;
use crate::stats::quantile::median;
use crate::sys::affinity;
use crate::sys::arena::{Arena, Pages};
use crate::sys::getrandom::getrandom;
use crate::sys::loopback;

/// How much to measure. Probes are attached anew in each round.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Effort {
    /// Rounds with probes, and as many without.
    pub rounds: u32,
    /// Calls of each task in each round.
    pub calls: u32,
}

impl Effort {
    /// For `--quick`.
    pub const QUICK: Self = Self { rounds: 3, calls: 3_000 };
    /// For a full run.
    pub const FULL: Self = Self { rounds: 9, calls: 10_000 };
}

/// The mechanism that a candidate stands for.
#[must_use]
pub const fn backend(candidate: Candidate) -> Backend {
    match candidate {
        Candidate::Function(_) => Backend::Fentry,
        Candidate::SyscallEvents(_) | Candidate::Timer(_) => Backend::Tracepoint,
        Candidate::RawSyscall(_) => Backend::RawTracepoint,
        Candidate::Called(_) => Backend::Call,
    }
}

fn describe(candidate: Candidate) -> String {
    match candidate {
        Candidate::Function(name) => name.to_owned(),
        Candidate::SyscallEvents(name) | Candidate::RawSyscall(name) => format!("syscall:{name}"),
        Candidate::Timer(name) => format!("timer:{name}"),
        Candidate::Called(name) => format!("call:{name}"),
    }
}

fn attach(candidate: Candidate, scope: &Scope) -> Result<Session, Refusal> {
    let syscall = |name: &str| {
        Syscall::by_name(name).ok_or_else(|| {
            let tried = format!("tracing syscall:{name}");
            Refusal::new(tried, "its number is not known here", Cause::NotBuiltIn)
        })
    };
    match candidate {
        Candidate::Function(name) => function::trace(&[Function::named(name)], scope),
        Candidate::SyscallEvents(name) => syscall::trace_events(&[syscall(name)?], scope),
        Candidate::RawSyscall(name) => syscall::trace_raw(&[syscall(name)?], scope),
        Candidate::Timer(name) => timer::trace(&[Function::named(name)], scope),
        Candidate::Called(name) => Err(unknown_primitive(name, "it is called, not attached to")),
    }
}

fn floor_ns(candidate: Candidate) -> Option<u64> {
    let floor = match candidate {
        Candidate::Function(_) => function::floor(calibration::FLOOR_CALLS),
        // The same mechanism twice: a pair of events, and what is done between them.
        Candidate::SyscallEvents(_) | Candidate::Timer(_) => calibration::event_floor(),
        Candidate::RawSyscall(_) => calibration::raw_floor(),
        // Measured beside each call, and subtracted.
        Candidate::Called(_) => return None,
    };
    floor.ok()?.quantile(0.5)
}

/// Puts the question. A row always comes back; one that nothing could answer has backend `none` and `n` 0, and
/// says why.
#[must_use]
pub fn ask(question: &Question, effort: Effort) -> LiveRow {
    let mut row = empty_row(question);
    let mut reasons = Vec::new();
    for candidate in question.candidates {
        let answer = match *candidate {
            Candidate::Called(name) => fill_called(&mut row, name, effort),
            traced => measure(traced, question, effort).map(|measured| {
                fill(&mut row, question.load, traced, &measured);
                reasons.extend(beside(question.load, &measured));
            }),
        };
        match answer {
            Ok(()) => {
                reasons.insert(0, format!("{} by {}", describe(*candidate), backend(*candidate)));
                row.reason = reasons.join("; ");
                return row;
            }
            Err(refusal) => {
                reasons.push(format!("{} by {}: {refusal}", describe(*candidate), backend(*candidate)))
            }
        }
    }
    reasons.insert(0, "nothing attaches here".to_owned());
    row.reason = reasons.join("; ");
    row
}

fn empty_row(question: &Question) -> LiveRow {
    let bytes = question.load.bytes().map(|bytes| bytes as u64);
    LiveRow {
        target: question.target.to_owned(),
        question: question.question.to_owned(),
        backend: Backend::None.name().to_owned(),
        reason: String::new(),
        threads: question.tasks as u32,
        oversubscribed: question.tasks > allowed_cpus().len(),
        size_lo: bytes,
        size_hi: bytes.map(|bytes| bytes + 1),
        calls: None,
        n: 0,
        p50_ns: None,
        p90_ns: None,
        p99_ns: None,
        max_ns: None,
        floor_ns: None,
        added_ns: None,
        bystander_ns: None,
        in_flight: 0,
        unmatched: 0,
        dropped: 0,
        missed: None,
        clock_regressions: 0,
        probe_bound: false,
        buckets: Vec::new(),
    }
}

struct Measured {
    reading: TargetReading,
    missed: Option<u64>,
    calls: u64,
    /// Interrupts of the whole machine while probes were on; none where it does not tell.
    interrupts: Option<u64>,
    added_ns: Option<i64>,
    bystander_ns: Option<i64>,
}

fn measure(candidate: Candidate, question: &Question, effort: Effort) -> Result<Measured, Refusal> {
    let mut total = TargetReading::default();
    let (mut missed, mut calls, mut interrupts) = (Some(0), 0, Some(0));
    let traced = question.load.traced();
    let scope = match traced {
        Traced::OurCalls | Traced::ForOurCalls => Scope::own_process(),
        Traced::Anywhere => Scope::default(),
    };
    // Reading them is itself a call, which would be counted where ours are.
    let interrupts_so_far =
        || if traced == Traced::Anywhere { interrupts::total(&Tree::system()) } else { None };
    let (mut plain, mut probed) = (Times::default(), Times::default());
    // Before any probe is there, since what it takes to prepare may be what is traced.
    let mut prepared = prepare(question)?;
    // Pages, caches and the kernel's own state are warm in both halves.
    run(&mut prepared, effort.calls / 10)?;
    for round in 0..effort.rounds {
        let mut with_probes = |prepared: &mut [Calls], probed: &mut Times| {
            let session = attach(candidate, &scope)?;
            let interrupts_before = interrupts_so_far();
            let turn = run(prepared, effort.calls)?;
            let during = interrupts_so_far()
                .zip(interrupts_before)
                .map(|(after, before)| after.saturating_sub(before));
            interrupts = interrupts.zip(during).map(|(sum, during)| sum + during);
            calls += turn.calls;
            probed.push(&turn);
            let reading = session.read()?.swap_remove(0);
            total.rows.entry(RowKey::default()).or_default().merge(&reading.total());
            for (sum, count) in total.counts.iter_mut().zip(reading.counts) {
                *sum += count;
            }
            total.in_flight += reading.in_flight;
            missed = missed.zip(session.missed()).map(|(sum, missed)| sum + missed);
            Ok::<_, Refusal>(())
        };
        // Each goes first in turn, so that a slow drift of the machine favours neither.
        if round % 2 == 0 {
            plain.push(&run(&mut prepared, effort.calls)?);
            with_probes(&mut prepared, &mut probed)?;
        } else {
            with_probes(&mut prepared, &mut probed)?;
            plain.push(&run(&mut prepared, effort.calls)?);
        }
    }
    Ok(Measured {
        reading: total,
        missed,
        calls,
        interrupts,
        added_ns: difference(&probed.traced_ns, &plain.traced_ns),
        bystander_ns: difference(&probed.bystander_ns, &plain.bystander_ns),
    })
}

fn fill(row: &mut LiveRow, load: Load, candidate: Candidate, measured: &Measured) {
    let histogram = measured.reading.total();
    row.backend = backend(candidate).name().to_owned();
    row.calls = (load.traced() == Traced::OurCalls).then_some(measured.calls);
    row.n = histogram.n();
    row.p50_ns = histogram.quantile(0.5);
    row.p90_ns = histogram.quantile(0.9);
    row.p99_ns = histogram.quantile(0.99);
    row.max_ns = histogram.max();
    row.buckets = histogram.buckets().collect();
    row.floor_ns = floor_ns(candidate);
    row.added_ns = measured.added_ns;
    row.bystander_ns = measured.bystander_ns;
    row.in_flight = measured.reading.in_flight;
    row.unmatched = measured.reading.count(Quality::Unmatched);
    row.dropped = measured.reading.dropped();
    row.missed = measured.missed;
    row.clock_regressions = measured.reading.count(Quality::ClockRegression);
    row.probe_bound = matches!((row.p50_ns, row.floor_ns), (Some(p50), Some(floor)) if p50 < 3 * floor);
}

/// What a row says beside its numbers, where what is traced is not the call: its number is the kernel's affair.
fn beside(load: Load, measured: &Measured) -> Option<String> {
    let Measured { calls, interrupts, .. } = measured;
    match load.traced() {
        Traced::OurCalls => None,
        Traced::ForOurCalls => Some(format!("seen during {calls} calls")),
        Traced::Anywhere => Some(match interrupts {
            Some(interrupts) => {
                format!("seen during {calls} calls and {interrupts} device interrupts on all CPUs")
            }
            None => format!("seen during {calls} calls; interrupts are not told here"),
        }),
    }
}

/// Samples of a called primitive in one round of the effort: each is the mean of a whole loop.
const LOOPS_PER_ROUND: u32 = 20;

/// Calls the primitive `name` and fills `row`. `n` counts loops; what the probe adds to anything is 0, since there
/// is none.
fn fill_called(row: &mut LiveRow, name: &'static str, effort: Effort) -> Result<(), Refusal> {
    let primitive = Primitive::by_name(name).ok_or_else(|| unknown_primitive(name, "no such primitive"))?;
    let times = call::measure(primitive, effort.rounds * LOOPS_PER_ROUND)?;
    let mut net = Histogram::default();
    times.net_ns.iter().for_each(|&ns| net.record(ns.round() as u64));
    row.backend = Backend::Call.name().to_owned();
    row.n = net.n();
    row.p50_ns = net.quantile(0.5);
    row.p90_ns = net.quantile(0.9);
    row.p99_ns = net.quantile(0.99);
    row.max_ns = net.max();
    row.buckets = net.buckets().collect();
    row.floor_ns = median(&times.floor_ns).map(|ns| ns.round() as u64);
    (row.added_ns, row.bystander_ns, row.missed) = (Some(0), Some(0), Some(0));
    row.probe_bound = matches!((row.p50_ns, row.floor_ns), (Some(p50), Some(floor)) if p50 < 3 * floor);
    Ok(())
}

fn unknown_primitive(name: &str, why: &str) -> Refusal {
    Refusal::new(format!("timing call:{name}"), why, Cause::NotBuiltIn)
}

/// Times of one call, ns, one entry a round.
#[derive(Default)]
struct Times {
    traced_ns: Vec<f64>,
    bystander_ns: Vec<f64>,
}

impl Times {
    fn push(&mut self, turn: &Turn) {
        self.traced_ns.push(turn.call_ns);
        self.bystander_ns.push(turn.bystander_ns);
    }
}

/// Median of the differences of each round, in whole ns.
fn difference(with: &[f64], without: &[f64]) -> Option<i64> {
    let rounds: Vec<f64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    Some(median(&rounds)?.round() as i64)
}

/// What all tasks did once.
struct Turn {
    calls: u64,
    /// Median over the tasks.
    call_ns: f64,
    bystander_ns: f64,
}

fn refuse(error: std::io::Error) -> Refusal {
    Refusal::from_error("making the calls to trace", &error)
}

/// What each task of the question needs.
fn prepare(question: &Question) -> Result<Vec<Calls>, Refusal> {
    (0..question.tasks).map(|_| Calls::prepare(question.load).map_err(refuse)).collect()
}

/// Lets every task make `calls` calls of its load, and as many of a call that nobody traces.
fn run(prepared: &mut [Calls], calls: u32) -> Result<Turn, Refusal> {
    let cpus = allowed_cpus();
    let tasks = prepared.len();
    let barrier = Barrier::new(tasks);
    let results: Vec<std::io::Result<(f64, f64)>> = std::thread::scope(|scope| {
        let tasks: Vec<_> = prepared
            .iter_mut()
            .enumerate()
            .map(|(task, prepared)| {
                let (barrier, cpu) = (&barrier, cpus.get(task % cpus.len().max(1)).copied());
                scope.spawn(move || {
                    // Where that is refused the thread runs where it may, which costs precision only.
                    let _ = cpu.map(affinity::pin);
                    barrier.wait();
                    let call_ns = time(calls, || prepared.make())?;
                    let bystander_ns = time(calls, || {
                        black_box(getppid());
                        Ok(())
                    })?;
                    Ok((call_ns, bystander_ns))
                })
            })
            .collect();
        tasks
            .into_iter()
            .map(|task| task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut call_ns = Vec::new();
    let mut bystander_ns = Vec::new();
    for result in results {
        let (call, bystander) = result.map_err(refuse)?;
        call_ns.push(call);
        bystander_ns.push(bystander);
    }
    Ok(Turn {
        calls: u64::from(calls) * tasks as u64,
        call_ns: median(&call_ns).unwrap_or(0.0),
        bystander_ns: median(&bystander_ns).unwrap_or(0.0),
    })
}

/// Where the kernel does not tell, nothing is pinned.
fn allowed_cpus() -> Vec<usize> {
    affinity::allowed().unwrap_or_default()
}

/// Time of one of `calls` calls, ns.
fn time(calls: u32, mut call: impl FnMut() -> std::io::Result<()>) -> std::io::Result<f64> {
    let start = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(calls.max(1)))
}

/// A load with what it needs.
enum Calls {
    Read { file: File, buffer: Vec<u8> },
    Getrandom { buffer: Vec<u8> },
    Pwrite { file: File, buffer: Vec<u8>, block: u64 },
    Accept { listener: TcpListener },
    DirectRead { file: File, buffer: Arena, blocks: u64, block: u64 },
}

/// Blocks from one direct read to the next; a prime, so that all of them have their turn.
const STRIDE: u64 = 7919;

/// Blocks of a file before its writer begins anew, as in the benchmark of the mail about copying.
const BLOCKS: u64 = 2000;

impl Calls {
    fn prepare(load: Load) -> std::io::Result<Self> {
        // Not zeroes from the allocator, whose pages would be faulted in by the first call.
        let buffer = vec![1; load.bytes().unwrap_or(0)];
        Ok(match load {
            Load::ReadUrandom { .. } => Self::Read { file: File::open("/dev/urandom")?, buffer },
            Load::Getrandom { .. } => Self::Getrandom { buffer },
            Load::PwriteTmpfs { bytes } => {
                // A file of the kernel's own tmpfs, without a name: nothing is left behind.
                let file = File::from(memfd_create(c"blocks", MFdFlags::MFD_CLOEXEC)?);
                for block in 0..BLOCKS {
                    file.write_all_at(&buffer, block * bytes as u64)?;
                }
                Self::Pwrite { file, buffer, block: 0 }
            }
            Load::Accept | Load::Connect => {
                Self::Accept { listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))? }
            }
            Load::DirectRead { bytes } => {
                let flags = OFlag::O_DIRECT.bits();
                let file = File::options().read(true).custom_flags(flags).open("/proc/self/exe")?;
                let blocks = (file.metadata()?.len() / bytes as u64).max(1);
                Self::DirectRead { file, buffer: Arena::new(bytes, Pages::Base)?, blocks, block: 0 }
            }
            Load::InKernel { .. } => {
                return Err(std::io::Error::other(
                    "calls inside the kernel are made by the program that times them",
                ));
            }
        })
    }

    #[inline]
    fn make(&mut self) -> std::io::Result<()> {
        match self {
            Self::Read { file, buffer } => file.read(buffer).map(|_| ()),
            Self::Getrandom { buffer } => getrandom(buffer).map(|_| ()).map_err(std::io::Error::from),
            Self::Pwrite { file, buffer, block } => {
                file.write_at(buffer, *block * buffer.len() as u64)?;
                *block = (*block + 1) % BLOCKS;
                Ok(())
            }
            Self::Accept { listener } => {
                let client = loopback::connect(listener.local_addr()?)?;
                listener.accept()?;
                drop(client);
                Ok(())
            }
            Self::DirectRead { file, buffer, blocks, block } => {
                let offset = *block * buffer.len() as u64;
                file.read_exact_at(buffer, offset)?;
                // Far apart: neighbours would be read ahead or together.
                *block = (*block + STRIDE) % *blocks;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: Question = Question {
        target: "random:getrandom",
        question: "",
        load: Load::Getrandom { bytes: 64 },
        tasks: 1,
        candidates: &[],
    };

    #[test]
    fn what_is_added_is_told_by_each_round_and_not_by_drift() {
        // The machine slows down by 100 a round; the probes add 7.
        assert_eq!(difference(&[7.0, 107.0, 207.0], &[0.0, 100.0, 200.0]), Some(7));
        assert_eq!(difference(&[], &[]), None);
    }

    #[test]
    fn a_question_that_nothing_answers_still_has_its_row() {
        let question = QUESTION;
        let row = ask(&question, Effort { rounds: 1, calls: 1 });
        assert_eq!((&*row.backend, row.n, row.p50_ns), ("none", 0, None));
        assert!(!row.reason.is_empty());
        assert_eq!((row.size_lo, row.size_hi), (Some(64), Some(65)));
    }

    #[test]
    fn every_task_makes_its_calls() {
        for load in [QUESTION.load, Load::PwriteTmpfs { bytes: 256 }, Load::Accept] {
            let question = Question { tasks: 3, load, ..QUESTION };
            let mut prepared = prepare(&question).unwrap();
            assert_eq!(run(&mut prepared, 5).unwrap().calls, 15);
        }
    }
}
