//! The probes on the running kernel: what is counted is what was done.
//!
//! Everything a kernel may refuse is skipped with the refusal as reason, and counted. The program needs nothing
//! beside it, so that it can run as the only one in a guest. Started with one of the words below it plays the
//! traced program instead.

mod calls;
mod functions;
mod leftovers;
mod markers;
mod outcome;
mod questions;
mod scopes;
mod syscalls;
mod timers;
mod tools;
mod tracefs;
mod user_functions;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(markers::RUN_BATCHES) => return markers::run_batches(&arguments[1..]),
        Some(scopes::CALLS) => return scopes::calls(&arguments[1..]),
        Some(leftovers::HOLD_PROBES) => return leftovers::hold_probes(),
        _ => {}
    }

    let mut arguments = Arguments::from_args();
    // Probes are on the machine, not on a test: two tests at a time would count each other's calls.
    arguments.test_threads = Some(1);
    let trials: Vec<Trial> = [
        calls::trials(),
        functions::trials(),
        leftovers::trials(),
        markers::trials(),
        questions::trials(),
        scopes::trials(),
        syscalls::trials(),
        timers::trials(),
        tools::trials(),
        tracefs::trials(),
        user_functions::trials(),
    ]
    .into_iter()
    .flatten()
    .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    println!(
        "{} passed, {} failed, {} skipped",
        conclusion.num_passed, conclusion.num_failed, conclusion.num_ignored
    );
    conclusion.exit_code()
}
