//! What a killed process leaves behind: nothing.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use aya::programs::loaded_programs;
use libtest_mimic::Trial;
use probe_abi::maps::PROGRAM_PREFIX;
use probe_cli::probe::markers::Markers;
use probe_cli::probe::refusal::Refusal;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::syscall::{self, Syscall};

use crate::outcome::{Outcome, Stop, trial, wait_until};

/// First argument of a process that attaches, says so, and waits.
pub(crate) const HOLD_PROBES: &str = "--hold-probes";

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("a_killed_tracer_leaves_no_program", a_killed_tracer_leaves_no_program)]
}

pub(crate) fn hold_probes() -> ExitCode {
    let attach = || -> Result<_, Refusal> {
        let markers = Markers::attach(Path::new("/proc/self/exe"))?;
        let call = Syscall::by_name("getrandom").expect("the table has it");
        Ok((markers, syscall::trace_raw(&[call], &Scope::default())?))
    };
    let held = attach();
    println!("{}", held.as_ref().map_or_else(ToString::to_string, |_| "attached".to_owned()));
    let _ = std::io::stdout().flush();
    // Ends when the parent does.
    let _ = std::io::stdin().read(&mut [0]);
    drop(held);
    ExitCode::SUCCESS
}

fn ours() -> BTreeSet<u32> {
    loaded_programs()
        .filter_map(Result::ok)
        .filter(|program| program.name_as_str().is_some_and(|name| name.starts_with(PROGRAM_PREFIX)))
        .map(|program| program.id())
        .collect()
}

fn a_killed_tracer_leaves_no_program() -> Outcome {
    let before = ours();
    let mut child = Command::new(std::env::current_exe()?)
        .arg(HOLD_PROBES)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said)?;
    }
    let held: BTreeSet<_> = ours().difference(&before).copied().collect();
    child.kill()?;
    child.wait()?;
    if said.trim() != "attached" {
        return Err(Stop::Skip(format!("the tracer could not attach: {}", said.trim())));
    }
    assert!(held.len() >= 4, "a pair of markers and a pair of calls were loaded: {held:?}");
    wait_until("the kernel has let go of the programs", || ours().is_disjoint(&held))
}
