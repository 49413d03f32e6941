//! Timer functions, by the events around them.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use libtest_mimic::Trial;
use probe_abi::quality::Quality;
use probe_cli::probe::function::Function;
use probe_cli::probe::refusal::Cause;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::timer;

use crate::outcome::{Outcome, Stop, trial, wait_until};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("timer_counts_every_run_of_its_function", counts_every_run),
        trial("an_unknown_timer_function_is_not_in_this_kernel", unknown_function),
    ]
}

/// What wakes a thread whose wait on a socket has taken too long. Others wait too: more may be counted, not fewer.
const WAKES: &str = "process_timeout";
/// Exists in every kernel, and no timer runs it.
const NOT_A_TIMER: &str = "vfs_read";

fn counts_every_run() -> Outcome {
    const WAITS: u64 = 20;
    let (socket, _other) = UnixDatagram::pair()?;
    socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    let session = timer::trace(&[NOT_A_TIMER, WAKES].map(Function::named), &Scope::default())?;
    for _ in 0..WAITS {
        assert!(socket.recv(&mut [0; 1]).is_err(), "nobody sends");
    }
    // The thread may be awake before the event behind its function.
    wait_until("all are over", || session.read().is_ok_and(|readings| readings[1].total().n() >= WAITS))?;
    let readings = session.read()?;
    assert_eq!(readings[0].total().n(), 0);
    for reading in readings {
        assert_eq!(reading.counts, [0; Quality::COUNT]);
        // A second is a thousand times what the longest of them takes.
        assert!(reading.total().max().is_none_or(|ns| ns < 1_000_000_000));
    }
    Ok(())
}

fn unknown_function() -> Outcome {
    match timer::trace(&[Function::named("no_function_has_this_name")], &Scope::default()) {
        Ok(_) => Err(Stop::Fail("it was attached".to_owned())),
        Err(refusal) if matches!(refusal.cause, Cause::NotEmbedded(_)) => Err(refusal.into()),
        Err(refusal) => {
            assert_eq!(refusal.cause, Cause::NotBuiltIn, "{refusal}");
            Ok(())
        }
    }
}
