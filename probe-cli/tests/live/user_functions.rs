//! Functions and sites of programs, by uprobes.

use std::hint::black_box;
use std::path::PathBuf;

use libtest_mimic::Trial;
use probe_abi::batch::BatchKey;
use probe_abi::quality::Quality;
use probe_abi::site;
use probe_cli::probe::notes;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::user::{self, End, UserTarget};
use probe_cli::probe::user_function::file_offset;

use crate::outcome::{Outcome, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("every_call_of_a_user_function_is_paired", nested_calls),
        trial("deeper_calls_than_asked_for_are_dropped", depth),
        trial("two_sites_time_what_is_between_them", two_sites),
        trial("a_site_alone_times_from_hit_to_hit", one_site),
        trial("a_slow_call_is_reported_with_its_stack", slow_call),
    ]
}

/// Calls itself `depth` times.
#[inline(never)]
extern "C" fn recurse(depth: u32) -> u32 {
    if depth == 0 { black_box(0) } else { black_box(recurse(black_box(depth - 1))) + 1 }
}

#[inline(never)]
extern "C" fn sleep(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(black_box(milliseconds)));
}

fn target(address: usize) -> Result<UserTarget, crate::outcome::Stop> {
    let begins = vec![file_offset(address)?];
    Ok(UserTarget { binary: PathBuf::from("/proc/self/exe"), begins, end: End::Return })
}

fn of_recurse() -> Result<UserTarget, crate::outcome::Stop> {
    target(recurse as extern "C" fn(u32) -> u32 as usize)
}

fn nested_calls() -> Outcome {
    let session = user::attach(&[of_recurse()?], &Scope::own_thread(), &|_, _| true)?.whole()?;
    for _ in 0..100 {
        recurse(3);
    }
    let reading = session.read()?.swap_remove(0);
    assert_eq!(reading.total().n(), 400);
    assert_eq!((reading.in_flight, reading.counts), (0, [0; Quality::COUNT]));
    Ok(())
}

fn depth() -> Outcome {
    let scope = Scope { depth: 2, ..Scope::own_thread() };
    let session = user::attach(&[of_recurse()?], &scope, &|_, _| true)?.whole()?;
    for _ in 0..10 {
        recurse(4);
    }
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.dropped(), reading.in_flight), (20, 30, 0));
    Ok(())
}

fn sites() -> Result<[u64; 2], crate::outcome::Stop> {
    let sites = notes::sites("/proc/self/exe".as_ref())?;
    Ok([site::BATCH_BEGIN, site::BATCH_END].map(|name| {
        sites.iter().find(|site| site.name == name).expect("this program has both markers").offset
    }))
}

fn batches(number: u64) {
    for raw in 0..number {
        site::begin(BatchKey::from_raw(raw));
        site::end(BatchKey::from_raw(raw));
    }
}

fn two_sites() -> Outcome {
    let [begin, end] = sites()?;
    let binary = PathBuf::from("/proc/self/exe");
    let target = UserTarget { binary, begins: vec![begin], end: End::Sites(vec![end]) };
    let session = user::attach(&[target], &Scope::own_thread(), &|_, _| true)?.whole()?;
    batches(50);
    site::end(BatchKey::from_raw(0));
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.count(Quality::Unmatched), reading.in_flight), (50, 1, 0));
    Ok(())
}

fn one_site() -> Outcome {
    let [begin, _] = sites()?;
    let binary = PathBuf::from("/proc/self/exe");
    let target = UserTarget { binary, begins: vec![begin], end: End::NextHit };
    let session = user::attach(&[target], &Scope::own_thread(), &|_, _| true)?.whole()?;
    batches(50);
    let reading = session.read()?.swap_remove(0);
    assert_eq!((reading.total().n(), reading.counts), (49, [0; Quality::COUNT]));
    Ok(())
}

fn slow_call() -> Outcome {
    const SLOW_NS: u64 = 5_000_000;
    let address = sleep as extern "C" fn(u64) as usize;
    let scope = Scope { slow_ns: SLOW_NS, ..Scope::own_thread() };
    let mut session = user::attach(&[target(address)?], &scope, &|_, _| true)?.whole()?;
    (0..5).for_each(|_| sleep(0));
    sleep(20);
    let slow = session.drain_slow_calls();
    assert_eq!(session.read()?[0].total().n(), 6);
    // A machine that is stopped for a while makes any call slow.
    let call = slow.iter().max_by_key(|call| call.elapsed_ns).expect("one slept for longer");
    assert!(call.elapsed_ns >= 20_000_000 && slow.iter().all(|call| call.elapsed_ns >= SLOW_NS));
    assert_eq!(
        (call.process, call.thread),
        (std::process::id(), nix::unistd::gettid().as_raw().cast_unsigned())
    );
    assert_eq!(session.place(call.row), (0, None));
    assert_ne!(call.user_stack[0], 0, "the stack of the program is walked");
    assert_eq!(session.drain_slow_calls(), []);
    Ok(())
}
