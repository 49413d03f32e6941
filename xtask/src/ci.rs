//! `cargo xtask ci`: what the continuous integration runs; what passes here passes there.

use std::{
    env, fs,
    process::{self as os, Command, ExitCode},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::{
    build_ebpf, cargo::cargo, core_source::Rung, dist, process, run, setup, tally::Tally, test, tidy,
    vm_test::VmTest,
};

/// Run everything that has to pass before a change lands
///
/// All steps run even when one fails. The last line counts the tests of `test` and of the guest, and each other step
/// as one.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cargo xtask ci\n  .ci/run          the same, after installing what a bare machine lacks"
)]
pub(crate) struct Ci {}

type Step = (&'static str, fn() -> Result<Tally>);

/// In an order in which the quick ones speak first and no build is made twice.
const STEPS: [Step; 11] = [
    ("fmt", || one(process::run(&mut cargo(["fmt", "--all", "--check"])))),
    ("tidy", || one(tidy::check())),
    ("clippy", || {
        one(process::run(
            cargo(["clippy", "--workspace", "--all-features", "--all-targets"]).args(["--", "-Dwarnings"]),
        ))
    }),
    ("setup", || one(setup::set_up(Some(Rung::Debian)).map(drop))),
    ("build-ebpf", || one(setup::set_up(Some(Rung::Debian)).and_then(|core| build_ebpf::build(&core)))),
    ("test", test::run_all),
    ("doctor", || one(doctor())),
    ("run --quick", || one(quick_run())),
    ("doc", || {
        one(process::run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings")))
    }),
    ("dist", || one(dist::make(None))),
    ("vm-test 6.12", || VmTest::only("6.12").test()),
];

struct Outcome {
    step: &'static str,
    tally: Tally,
    took: Duration,
    error: Option<anyhow::Error>,
}

impl Ci {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let outcomes: Vec<Outcome> = STEPS.iter().map(|&(step, run)| take(step, run)).collect();
        let mut sum = Tally::default();
        println!("\n{:<14} {:>6}  result", "step", "took");
        for Outcome { step, tally, took, error } in &outcomes {
            let result = match error {
                Some(error) => format!("failed: {error:#}"),
                None => tally.to_string(),
            };
            println!("{step:<14} {:>4} s  {result}", took.as_secs());
            sum += *tally;
        }
        println!("{sum}");
        Ok(if sum.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn take(step: &'static str, run: fn() -> Result<Tally>) -> Outcome {
    eprintln!("\n── {step}");
    let started = Instant::now();
    let (tally, error) = match run() {
        Ok(tally) => (tally, None),
        Err(error) => {
            eprintln!("── {step} failed: {error:#}");
            (Tally { failed: 1, ..Tally::default() }, Some(error))
        }
    };
    Outcome { step, tally, took: started.elapsed(), error }
}

fn one(result: Result<()>) -> Result<Tally> {
    result.map(|()| Tally { passed: 1, ..Tally::default() })
}

/// The tool starts, looks around, and says so in JSON.
fn doctor() -> Result<()> {
    let program = run::build()?;
    let text = process::output(Command::new(program).args(["doctor", "--json"]))?;
    serde_json::from_str::<serde_json::Value>(&text)
        .context("doctor --json printed something else than JSON")?;
    Ok(())
}

/// The lab runs from end to end and leaves a whole report.
fn quick_run() -> Result<()> {
    let folder = env::temp_dir().join(format!("xtask-ci-{}", os::id()));
    let ran = run::Run::quick_into(&folder).run().and_then(|code| {
        ensure!(code == ExitCode::SUCCESS, "the lab failed");
        let report = folder.join("report.json");
        let text =
            fs::read_to_string(&report).with_context(|| format!("no report at {}", report.display()))?;
        let report: serde_json::Value = serde_json::from_str(&text).context("the report is not JSON")?;
        ensure!(report["schema"] == "probe-report/1", "the report has the schema {}", report["schema"]);
        let experiments = report["experiments"].as_array().context("the report has no experiments")?;
        let measured = |row: &serde_json::Value| row["median"].is_number();
        ensure!(
            experiments
                .iter()
                .any(|one| one["variants"].as_array().is_some_and(|rows| rows.iter().any(measured))),
            "the report holds no measured variant"
        );
        Ok(())
    });
    let _ = fs::remove_dir_all(&folder);
    ran
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_breaks_is_one_failure() {
        let outcome = take("broken", || anyhow::bail!("no"));
        assert_eq!(outcome.tally, Tally { passed: 0, failed: 1, skipped: 0 });
        assert_eq!(outcome.error.unwrap().to_string(), "no");
        assert_eq!(one(Ok(())).unwrap(), Tally { passed: 1, failed: 0, skipped: 0 });
    }
}
