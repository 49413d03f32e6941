//! Kernel functions, by fentry and fexit.

use std::fs::File;
use std::io::Read as _;

use libtest_mimic::Trial;
use probe_abi::quality::Quality;
use probe_cli::probe::function::{self, Function, Place};
use probe_cli::probe::kprobe;
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
        trial("fentry_tells_sizes_in_fields_apart", sizes_in_fields),
        trial("fentry_goes_on_without_what_cannot_be_traced", some_of_several),
        trial("kprobe_counts_exactly_our_thread", kprobe_counts),
        trial("kprobe_tells_sizes_apart", kprobe_sizes),
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

/// The size of a read is in the iterator that the function is given.
fn sizes_in_fields() -> Outcome {
    let size = Place::Field { argument: 1, structure: "iov_iter", field: "count" };
    let function = Function { name: "urandom_read_iter".into(), size };
    let mut urandom = File::open("/dev/urandom")?;
    let session = function::trace(&[function], &Scope::own_thread().by_size())?;
    for bytes in [1, 100, 100] {
        urandom.read_exact(&mut vec![0; bytes])?;
    }
    let reading = session.read()?.swap_remove(0);
    let counted: Vec<_> = reading.rows.iter().map(|(key, row)| (key.class, row.n())).collect();
    assert_eq!(counted, [(Some(1), 1), (Some(7), 2)]);
    Ok(())
}

fn some_of_several() -> Outcome {
    let functions =
        [Function::named("no_function_has_this_name"), RANDOM, Function::named("_copy_from_iter")];
    let attachment = function::attach(&functions, &Scope::own_thread(), &|_, _| true)?;
    (0..10).for_each(|_| draw());
    let refused: Vec<_> = attachment.refused.iter().map(|(index, _)| *index).collect();
    assert!(refused.contains(&0) && !refused.contains(&1), "{refused:?}");
    assert_eq!(attachment.session.read()?[1].total().n(), 10);
    Ok(())
}

fn kprobe_counts() -> Outcome {
    const CALLS: u64 = 1000;
    let functions = [READ, RANDOM];
    let session = kprobe::attach(&functions, &Scope::own_thread(), &|_, _| true)?.whole()?;
    std::thread::scope(|scope| {
        scope.spawn(|| (0..500).for_each(|_| draw()));
        (0..CALLS).for_each(|_| draw());
    });
    let readings = session.read()?;
    assert_eq!(readings.iter().map(|reading| reading.total().n()).collect::<Vec<_>>(), [0, CALLS]);
    assert_eq!((readings[1].in_flight, readings[1].counts), (0, [0; Quality::COUNT]));
    Ok(())
}

fn kprobe_sizes() -> Outcome {
    let mut urandom = File::open("/dev/urandom")?;
    let session = kprobe::attach(&[READ], &Scope::own_thread().by_size(), &|_, _| true)?.whole()?;
    for bytes in [1, 100, 100] {
        urandom.read_exact(&mut vec![0; bytes])?;
    }
    let reading = session.read()?.swap_remove(0);
    let counted: Vec<_> = reading.rows.iter().map(|(key, row)| (key.class, row.n())).collect();
    assert_eq!(counted, [(Some(1), 1), (Some(7), 2)]);
    Ok(())
}
