//! `cargo xtask test`: every test that can run here, and one line that counts them.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::{
    build_ebpf,
    cargo::{cargo, targets},
    process,
    tally::{Tallier, Tally},
};

/// Run every test that can run here: unit, property, doc, command line, live kernel
///
/// Sets up and builds the eBPF object first where that is possible. Tests that this machine cannot run are skipped
/// with a printed reason and counted; the last line counts all of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask test\n  \
    cargo xtask test | tail -1    only: N passed, M failed, K skipped")]
pub(crate) struct Test {}

impl Test {
    pub(crate) fn run(self) -> Result<ExitCode> {
        build_ebpf::build_or_say_why_not();
        let tally = run_all()?;
        println!("{tally}");
        Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Every test of the workspace, and the live ones where a plain `cargo test` leaves them out.
pub(crate) fn run_all() -> Result<Tally> {
    let mut tally = counted(&mut cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]))?;
    let live =
        targets("probe-cli")?.into_iter().find(|target| target.kind == "test" && target.name == "live");
    if !live.context("probe-cli has no test named live")?.tested {
        // Chosen from the whole workspace: the same features, so nothing is built twice.
        tally += counted(&mut cargo(["test", "--workspace", "--all-features", "--test=live"]))?;
    }
    Ok(tally)
}

/// Streams the tests' output through, and counts. A command that fails without a failed test (it did not build, a
/// test program was killed) counts as one failure.
fn counted(command: &mut Command) -> Result<Tally> {
    let mut tallier = Tallier::default();
    let status = process::lines(command, |line| {
        println!("{line}");
        tallier.line(line);
    })?;
    let mut tally = tallier.finish();
    if !status.success() && tally.failed == 0 {
        eprintln!("test   no test failed, but the command ended with {status}: counted as one failure");
        tally.failed = 1;
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Tally {
        counted(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn a_command_that_dies_between_tests_is_a_failure() {
        assert_eq!(shell("echo '3 passed, 0 failed'; exit 1"), Tally { passed: 3, failed: 1, skipped: 0 });
        assert_eq!(shell("kill -9 $$"), Tally { passed: 0, failed: 1, skipped: 0 });
    }

    #[test]
    fn failures_that_were_counted_are_not_counted_again() {
        assert_eq!(
            shell("echo '3 passed, 2 failed, 1 skipped'; exit 1"),
            Tally { passed: 3, failed: 2, skipped: 1 }
        );
        assert_eq!(shell("echo '3 passed, 0 failed, 1 skipped'"), Tally { passed: 3, failed: 0, skipped: 1 });
    }
}
