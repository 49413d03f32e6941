//! `cargo xtask verify`: the slow checks, one word each.

mod aarch64;
mod asm;
mod copy;
mod counts;
mod page_door;
mod stats;

use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{
    cargo::{cargo, root},
    process::{self, on_path},
    tally::Tally,
};

/// The crates that stand alone; what the tool adds is system calls, which these checkers do not see through.
const LIBRARIES: [&str; 3] = ["--package=entropy-core", "--package=copy-engine", "--package=route-cache"];
const HOST: &str = "x86_64-unknown-linux-gnu";

/// Run checks that look deeper than a test run can
///
/// A check whose tool is missing says so: it fails if it was asked for by name, and is counted as skipped if all were
/// run. The last line counts the checks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask verify             all of them\n  \
    cargo xtask verify loom miri   two of them")]
pub(crate) struct Verify {
    /// Which checks; all of them if none is named
    #[arg(value_enum, value_name = "CHECK")]
    checks: Vec<Check>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    /// Every interleaving of the threads in entropy-core's models
    Loom,
    /// Undefined behaviour in the libraries; needs a toolchain with Miri
    Miri,
    /// The libraries' tests under the address sanitizer
    Sanitize,
    /// Instructions a call of each variant takes, by valgrind; they have to repeat exactly
    Counts,
    /// Machine code of the copies: fenced where they stream, no instruction that a routine may not use
    Asm,
    /// copy-engine compiled for aarch64, where the portable door serves; checked, not run
    Aarch64,
    /// The copies at every size and every pair of alignments
    Copy,
    /// The generators of entropy-core through statistical tests, by dieharder
    Stats,
}

enum Outcome {
    Passed,
    Failed(anyhow::Error),
    Missing(&'static str),
}

impl Verify {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let named = !self.checks.is_empty();
        let checks = if named { self.checks.as_slice() } else { Check::value_variants() };
        let outcomes: Vec<_> = checks.iter().map(|check| (check, check.outcome())).collect();
        let mut tally = Tally::default();
        for (check, outcome) in outcomes {
            let name = format!("{check:?}").to_lowercase();
            match outcome {
                Outcome::Passed => tally.passed += 1,
                Outcome::Failed(error) => {
                    tally.failed += 1;
                    println!("{name}: failed: {error:#}");
                }
                Outcome::Missing(what) => {
                    *(if named { &mut tally.failed } else { &mut tally.skipped }) += 1;
                    println!("{name}: not run: {what}");
                }
            }
        }
        println!("{tally}");
        Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Check {
    fn outcome(self) -> Outcome {
        if let Some(what) = self.missing() {
            return Outcome::Missing(what);
        }
        let done = match self {
            Self::Aarch64 => aarch64::run(),
            Self::Asm => process::run(&mut asm::command()),
            Self::Copy => process::run(&mut copy::command()),
            Self::Counts => counts::run(),
            Self::Loom => process::run(&mut loom()),
            Self::Miri => process::run(&mut miri()),
            Self::Sanitize => process::run(&mut sanitize()),
            Self::Stats => stats::run(),
        };
        match done {
            Ok(()) => Outcome::Passed,
            Err(error) => Outcome::Failed(error),
        }
    }

    /// What has to be there first, if it is not.
    fn missing(self) -> Option<&'static str> {
        match self {
            Self::Miri if !has_miri() => {
                Some("no toolchain here has Miri; `rustup +nightly component add miri`")
            }
            Self::Sanitize if !cfg!(all(target_arch = "x86_64", target_os = "linux")) => {
                Some("the sanitizer is set up for x86-64 Linux only")
            }
            Self::Counts => counts::missing(),
            Self::Aarch64 => aarch64::missing(),
            Self::Asm => asm::missing(),
            Self::Stats => stats::missing(),
            _ => None,
        }
    }
}

/// Unoptimised, the models take minutes; and only they hold under the flag.
fn loom() -> Command {
    let mut command = cargo(["test", "--release", "--package=entropy-core", "--test=loom*"]);
    command.env("RUSTFLAGS", "--cfg loom");
    in_a_folder_of_its_own(command, "loom")
}

fn miri() -> Command {
    let mut command = cargo(["+nightly", "miri", "test", "--lib"]);
    command.args(LIBRARIES);
    in_a_folder_of_its_own(command, "miri")
}

/// A target by name keeps the flag from build scripts and macros, which run without the sanitizer.
fn sanitize() -> Command {
    let mut command = cargo(["test", "--lib", "--tests", "--target", HOST]);
    command
        .args(LIBRARIES)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("UNDER_SANITIZER", "address");
    in_a_folder_of_its_own(command, "sanitize")
}

/// The flags of a check would rebuild everything else.
fn in_a_folder_of_its_own(mut command: Command, folder: &str) -> Command {
    command.env("CARGO_TARGET_DIR", root().join("target/verify").join(folder));
    command
}

fn has_miri() -> bool {
    on_path("rustup")
        && Command::new("cargo")
            .args(["+nightly", "miri", "--version"])
            .output()
            .is_ok_and(|output| output.status.success())
}
