//! System calls, by both kinds of tracepoint.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;

use libtest_mimic::Trial;
use nix::unistd::{getppid, gettid};
use probe_abi::quality::Quality;
use probe_abi::size;
use probe_cli::probe::refusal::Refusal;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::session::{RowKey, Session};
use probe_cli::probe::syscall::{self, Syscall};
use probe_cli::sys::getrandom::getrandom;

use crate::outcome::{Outcome, Stop, trial, wait_until};

type Trace = fn(&[Syscall], &Scope) -> Result<Session, Refusal>;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tracepoint_counts_exactly_our_thread", || counts_exactly_our_thread(syscall::trace_events)),
        trial("raw_tracepoint_counts_exactly_our_thread", || counts_exactly_our_thread(syscall::trace_raw)),
        trial("tracepoint_tells_sizes_apart", || tells_sizes_apart(syscall::trace_events)),
        trial("raw_tracepoint_tells_sizes_apart", || tells_sizes_apart(syscall::trace_raw)),
        trial("tracepoint_traces_two_calls_at_once", || two_calls_at_once(syscall::trace_events)),
        trial("raw_tracepoint_traces_two_calls_at_once", || two_calls_at_once(syscall::trace_raw)),
        trial("tracepoint_sees_a_call_under_way", || sees_a_call_under_way(syscall::trace_events)),
        trial("raw_tracepoint_sees_a_call_under_way", || sees_a_call_under_way(syscall::trace_raw)),
        trial("an_exit_without_an_entry_is_unmatched", an_exit_without_an_entry_is_unmatched),
        trial("calls_of_several_threads_are_all_counted", all_are_counted),
    ]
}

fn known(name: &str) -> Syscall {
    Syscall::by_name(name).expect("the table has it")
}

fn draw(bytes: usize) {
    let mut buffer = vec![0; bytes];
    assert_eq!(getrandom(&mut buffer), Ok(bytes));
}

fn counts_exactly_our_thread(trace: Trace) -> Outcome {
    const CALLS: u64 = 1000;
    let session = trace(&[known("getrandom")], &Scope::own_thread())?;
    std::thread::scope(|scope| {
        scope.spawn(|| (0..500).for_each(|_| draw(8)));
        (0..CALLS).for_each(|_| draw(8));
    });
    let reading = session.read()?.swap_remove(0);
    assert_eq!(reading.total().n(), CALLS);
    assert_eq!((reading.in_flight, reading.counts), (0, [0; Quality::COUNT]));
    assert!(reading.total().quantile(0.5) > Some(0));
    Ok(())
}

fn tells_sizes_apart(trace: Trace) -> Outcome {
    let session = trace(&[known("getrandom")], &Scope::own_thread().by_size())?;
    (0..10).for_each(|_| draw(0));
    (0..20).for_each(|_| draw(16));
    (0..30).for_each(|_| draw(1000));
    let reading = session.read()?.swap_remove(0);
    let class = |key: &RowKey| key.class.expect("sizes are told apart");
    let counted: Vec<_> = reading.rows.iter().map(|(key, row)| (size::bounds(class(key)), row.n())).collect();
    assert_eq!(counted, [((0, Some(1)), 10), ((16, Some(32)), 20), ((512, Some(1024)), 30)]);
    Ok(())
}

fn two_calls_at_once(trace: Trace) -> Outcome {
    let session = trace(&[known("getppid"), known("getrandom")], &Scope::own_thread())?;
    for call in 0..300 {
        draw(4);
        if call % 3 == 0 {
            getppid();
        }
    }
    let counted: Vec<_> = session.read()?.iter().map(|reading| reading.total().n()).collect();
    assert_eq!(counted, [100, 300]);
    Ok(())
}

/// A thread that waits in read(2) for a byte, and the pipe to end it.
struct Blocked {
    thread: std::thread::JoinHandle<()>,
    tid: u32,
    start: mpsc::Sender<()>,
    pipe: std::io::PipeWriter,
}

impl Blocked {
    fn new() -> Result<Self, Stop> {
        let (mut reader, pipe) = std::io::pipe()?;
        let (start, started) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(gettid().as_raw().cast_unsigned()).expect("the test waits for it");
            if started.recv().is_err() {
                return;
            }
            reader.read_exact(&mut [0]).expect("the test writes a byte");
        });
        let tid = told.recv().map_err(|error| Stop::Fail(error.to_string()))?;
        Ok(Self { thread, tid, start, pipe })
    }

    fn scope(&self) -> Scope {
        Scope { thread: self.tid, ..Scope::own_process() }
    }

    fn enter(&self) {
        self.start.send(()).expect("the thread waits for it");
    }

    fn leave(mut self) -> Outcome {
        self.pipe.write_all(&[1])?;
        self.thread.join().map_err(|_| Stop::Fail("the reading thread panicked".to_owned()))
    }
}

fn sees_a_call_under_way(trace: Trace) -> Outcome {
    let blocked = Blocked::new()?;
    let session = trace(&[known("read")], &blocked.scope())?;
    blocked.enter();
    wait_until("the read is seen", || session.read().is_ok_and(|readings| readings[0].in_flight == 1))?;
    assert_eq!(session.read()?[0].total().n(), 0);
    blocked.leave()?;
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.in_flight, reading.total().n(), reading.counts), (0, 1, [0; Quality::COUNT]));
    Ok(())
}

fn an_exit_without_an_entry_is_unmatched() -> Outcome {
    let blocked = Blocked::new()?;
    blocked.enter();
    let state = format!("/proc/self/task/{}/syscall", blocked.tid);
    let in_read = format!("{} ", libc::SYS_read);
    if let Err(error) = std::fs::read_to_string(&state) {
        blocked.leave()?;
        return Err(Stop::Skip(format!("this kernel does not tell in which call a thread is: {error}")));
    }
    wait_until("the thread is in read", || {
        std::fs::read_to_string(&state).is_ok_and(|state| state.starts_with(&in_read))
    })?;
    let session = syscall::trace_events(&[known("read")], &blocked.scope());
    blocked.leave()?;
    let reading = session?.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.count(Quality::Unmatched), reading.in_flight), (0, 1, 0));
    Ok(())
}

fn all_are_counted() -> Outcome {
    const CALLS: u64 = 100_000;
    const THREADS: u64 = 2;
    let session = syscall::trace_events(&[known("getppid")], &Scope::own_process())?;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    getppid();
                }
            });
        }
    });
    let reading = session.read()?.swap_remove(0);
    assert_eq!(reading.total().n() + reading.dropped() + session.missed().unwrap_or(0), THREADS * CALLS);
    assert_eq!(reading.total().n(), THREADS * CALLS);
    Ok(())
}
