//! Kernel functions, by fentry and fexit.

use std::fs::File;
use std::io::Read as _;

use libtest_mimic::Trial;
use probe_abi::quality::Quality;
use probe_cli::probe::function::{self, Function};
use probe_cli::probe::refusal::Cause;
use probe_cli::probe::scope::Scope;
use probe_cli::sys::getrandom::getrandom;

use crate::outcome::{Outcome, Stop, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("fentry_counts_exactly_our_thread", counts_exactly_our_thread),
        trial("fentry_traces_nested_functions_at_once", nested_functions_at_once),
        trial("fentry_tells_sizes_apart", tells_sizes_apart),
        trial("fentry_has_a_floor", has_a_floor),
        trial("an_unknown_function_is_not_in_this_kernel", unknown_function),
    ]
}

const RANDOM: Function = Function::named("get_random_bytes_user");
const URANDOM: Function = Function::named("urandom_read_iter");
const READ: Function = Function::sized("vfs_read", 2);

fn draw() {
    assert_eq!(getrandom(&mut [0; 16]), Ok(16));
}

fn counts_exactly_our_thread() -> Outcome {
    const CALLS: u64 = 1000;
    let session = function::trace(&[RANDOM], &Scope::own_thread())?;
    std::thread::scope(|scope| {
        scope.spawn(|| (0..500).for_each(|_| draw()));
        (0..CALLS).for_each(|_| draw());
    });
    let reading = session.read()?.swap_remove(0);
    assert_eq!(reading.total().n(), CALLS);
    assert_eq!((reading.in_flight, reading.counts), (0, [0; Quality::COUNT]));
    Ok(())
}

/// A read of /dev/urandom is in three of them at a time.
fn nested_functions_at_once() -> Outcome {
    let mut urandom = File::open("/dev/urandom")?;
    let session = function::trace(&[READ, URANDOM, RANDOM], &Scope::own_thread())?;
    for _ in 0..200 {
        urandom.read_exact(&mut [0; 64])?;
    }
    (0..50).for_each(|_| draw());
    let readings = session.read()?;
    // Reading the maps reads no file; the probes were on for these calls alone.
    let counted: Vec<_> = readings.iter().map(|reading| reading.total().n()).collect();
    assert_eq!(counted, [200, 200, 250]);
    let typical: Vec<_> = readings.iter().map(|reading| reading.total().quantile(0.5)).collect();
    assert!(typical[0] >= typical[1] && typical[1] >= typical[2], "outer calls last longer: {typical:?}");
    Ok(())
}

fn tells_sizes_apart() -> Outcome {
    let mut urandom = File::open("/dev/urandom")?;
    let session = function::trace(&[READ], &Scope::own_thread().by_size())?;
    for _ in 0..30 {
        urandom.read_exact(&mut [0; 100])?;
    }
    urandom.read_exact(&mut [0; 1])?;
    let reading = session.read()?.swap_remove(0);
    let counted: Vec<_> = reading.rows.iter().map(|(key, row)| (key.class, row.n())).collect();
    // 1 lies in [1, 2), 100 in [64, 128).
    assert_eq!(counted, [(Some(1), 1), (Some(7), 30)]);
    Ok(())
}

fn has_a_floor() -> Outcome {
    let floor = function::floor(100)?;
    assert_eq!(floor.n(), 100);
    Ok(())
}

fn unknown_function() -> Outcome {
    let unknown = Function::named("no_function_has_this_name");
    match function::trace(&[unknown], &Scope::own_thread()) {
        Ok(_) => Err(Stop::Fail("it was attached".to_owned())),
        Err(refusal) if matches!(refusal.cause, Cause::NotEmbedded(_) | Cause::NoBtf) => Err(refusal.into()),
        Err(refusal) => {
            assert_eq!(refusal.cause, Cause::NotBuiltIn, "{refusal}");
            Ok(())
        }
    }
}
