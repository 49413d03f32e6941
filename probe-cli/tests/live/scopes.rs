//! Filters and splits, applied by the kernel.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::{Pid, getppid};
use probe_abi::maps::By;
use probe_abi::quality::Quality;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::session::{RowKey, Session, Who};
use probe_cli::probe::syscall::{self, Syscall};
use probe_cli::sys::affinity;
use probe_cli::sys::getrandom::getrandom;

use crate::outcome::{Outcome, Stop, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_name_filter_counts_threads_of_that_name", names),
        trial("a_cpu_filter_counts_calls_that_begin_there", cpus),
        trial("a_size_filter_counts_calls_of_that_size", sizes),
        trial("callers_are_told_apart", callers),
        trial("cpus_are_told_apart", per_cpu),
        trial("an_excluded_process_is_not_counted", excluded),
        trial("children_are_followed", children),
        trial("counting_alone_counts_every_entry", counting),
        trial("frames_of_ended_threads_make_room", ended_threads),
    ]
}

fn call(name: &str) -> Syscall {
    Syscall::by_name(name).expect("the table has it")
}

fn trace(name: &str, scope: &Scope) -> Result<Session, Stop> {
    Ok(syscall::trace_events(&[call(name)], scope)?)
}

fn make(calls: u32) {
    for _ in 0..calls {
        getppid();
    }
}

/// Makes `calls` calls in a thread of that name.
fn in_thread(name: &str, calls: u32) {
    let work = move || make(calls);
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .expect("threads start")
        .join()
        .expect("it ends");
}

fn names() -> Outcome {
    let scope = Scope { comm: Some("wanted-thread".to_owned()), ..Scope::own_process() };
    let session = trace("getppid", &scope)?;
    in_thread("wanted-thread", 30);
    in_thread("wanted-threads", 7);
    in_thread("other", 7);
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.counts), (30, [0; Quality::COUNT]));
    Ok(())
}

fn cpus() -> Outcome {
    let allowed = affinity::allowed()?;
    let [first, second, ..] = allowed[..] else {
        return Err(Stop::Skip("it takes two CPUs to tell one from the other".to_owned()));
    };
    let scope = Scope { cpus: Some(vec![second as u32]), ..Scope::own_process() };
    let session = trace("getppid", &scope)?;
    let on = |cpu: usize, calls: u32| {
        std::thread::scope(|threads| {
            threads.spawn(move || {
                let mut set = CpuSet::new();
                set.set(cpu).expect("a CPU that there is");
                sched_setaffinity(Pid::from_raw(0), &set).expect("a CPU that is allowed");
                make(calls);
            });
        });
    };
    on(first, 11);
    on(second, 23);
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.counts, reading.in_flight), (23, [0; Quality::COUNT], 0));
    Ok(())
}

fn sizes() -> Outcome {
    let scope = Scope { sizes: Some((17, 64)), ..Scope::own_thread() };
    let session = trace("getrandom", &scope)?;
    for bytes in [0, 16, 17, 64, 65, 1000] {
        assert_eq!(getrandom(&mut vec![0; bytes]), Ok(bytes));
    }
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.counts, reading.in_flight), (2, [0; Quality::COUNT], 0));
    Ok(())
}

fn callers() -> Outcome {
    let session = trace("getppid", &Scope { by: By::Comm, ..Scope::own_process() })?;
    in_thread("one", 5);
    in_thread("two", 9);
    let reading = session.read()?.swap_remove(0);
    let count = |name: &[u8]| {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name);
        let key = RowKey { who: Some(Who::Comm(comm)), ..RowKey::default() };
        reading.rows.get(&key).map(|row| row.n())
    };
    assert_eq!((count(b"one"), count(b"two"), reading.total().n()), (Some(5), Some(9), 14));

    let session = trace("getppid", &Scope { by: By::Process, ..Scope::own_process() })?;
    in_thread("any", 4);
    let key = RowKey { who: Some(Who::Process(std::process::id())), ..RowKey::default() };
    let rows: Vec<_> = session.read()?[0].rows.iter().map(|(key, row)| (*key, row.n())).collect();
    assert_eq!(rows, [(key, 4)]);
    Ok(())
}

fn per_cpu() -> Outcome {
    let session = trace("getppid", &Scope { per_cpu: true, ..Scope::own_process() })?;
    let mut expected = BTreeMap::new();
    for (turn, cpu) in affinity::allowed()?.into_iter().take(2).enumerate() {
        let calls = 10 + turn as u32;
        std::thread::scope(|threads| {
            threads.spawn(|| {
                affinity::pin(cpu).expect("a CPU that is allowed");
                make(calls);
            });
        });
        expected.insert(Some(cpu as u32), u64::from(calls));
    }
    let found: BTreeMap<_, _> = session.read()?[0].rows.iter().map(|(key, row)| (key.cpu, row.n())).collect();
    assert_eq!(found, expected);
    Ok(())
}

fn excluded() -> Outcome {
    let scope = Scope { excluded: std::process::id(), ..Scope::own_process() };
    let session = trace("getppid", &scope)?;
    in_thread("any", 10);
    assert_eq!(session.read()?[0].total().n(), 0);
    Ok(())
}

/// First argument of a process that makes calls, and has a child that makes some.
pub(crate) const CALLS: &str = "--calls";

pub(crate) fn calls(arguments: &[String]) -> std::process::ExitCode {
    let mut numbers = arguments.iter().filter_map(|number| number.parse::<u32>().ok());
    let mut line = String::new();
    // Held until the parent has attached.
    if arguments.len() > 1 {
        let _ = std::io::stdin().read_line(&mut line);
    }
    make(numbers.next().unwrap_or(0));
    if let Some(own) = numbers.next().and_then(|calls| Some((calls, std::env::current_exe().ok()?))) {
        let (calls, own) = own;
        let child = Command::new(own).args([CALLS, &calls.to_string()]).stdin(Stdio::null()).status();
        return if child.is_ok_and(|status| status.success()) {
            std::process::ExitCode::SUCCESS
        } else {
            std::process::ExitCode::FAILURE
        };
    }
    std::process::ExitCode::SUCCESS
}

fn children() -> Outcome {
    let mut child =
        Command::new(std::env::current_exe()?).args([CALLS, "20", "300"]).stdin(Stdio::piped()).spawn()?;
    let scope = Scope { followed: vec![child.id()], ..Scope::default() };
    let session = trace("getppid", &scope);
    drop(child.stdin.take());
    let ended = child.wait()?;
    in_thread("stranger", 50);
    let reading = session?.read()?.swap_remove(0);
    assert!(ended.success());
    assert_eq!((reading.total().n(), reading.counts), (320, [0; Quality::COUNT]));
    Ok(())
}

fn counting() -> Outcome {
    let scope = Scope { count_only: true, ..Scope::own_thread() };
    for trace in [syscall::trace_events, syscall::trace_raw] {
        let session = trace(&[call("getppid")], &scope)?;
        make(500);
        let reading = session.read()?.swap_remove(0);
        assert_eq!((reading.total().n(), reading.in_flight, reading.counts), (500, 0, [0; Quality::COUNT]));
    }
    Ok(())
}

/// One process has room for 4096 frames; more threads than that come and go.
fn ended_threads() -> Outcome {
    const THREADS: u32 = 5000;
    let session = trace("getppid", &Scope::own_process())?;
    for thread in 0..THREADS {
        in_thread("short", 1);
        if thread % 1000 == 0 {
            session.read()?;
        }
    }
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.dropped(), reading.in_flight), (u64::from(THREADS), 0, 0));
    Ok(())
}
