//! `cargo xtask vm-test`: the live tests on other kernels.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

use crate::{
    apt, build_ebpf,
    cargo::{cargo, executables, find},
    places,
    process::on_path,
    tally::Tally,
    vm::{
        boot::{self, Payload, Settings},
        console::Judgement,
        kernel,
    },
};

const QEMU: &str = "qemu-system-x86_64";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Run the live tests on other kernels, in guests under software emulation
///
/// Each guest is Debian's newest cloud kernel of its series with nothing in it but a static first program and the
/// static test program. It has passed when it reached its own closing line, no test failed, and its console
/// (target/vm/SERIES/console.log) is free of BUG, Oops and panic. Times in a guest mean nothing; counts do.
/// Kernels come from this machine's Debian mirror, and the emulator is installed if it is missing and this is root.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask vm-test                                    all four series\n  \
    cargo xtask vm-test --kernel 6.12\n  \
    cargo xtask vm-test --kernel 6.18 --append preempt=full --append lockdown=integrity\n  \
    cargo xtask vm-test --kernel 7 --append guest.tracefs=off -- fentry   without tracefs, some tests only")]
pub(crate) struct VmTest {
    /// Series of kernels; the newest of each is taken
    #[arg(long, value_name = "SERIES", value_delimiter = ',', default_value = "6.1,6.12,6.18,7",
          value_parser = kernel::parse_series)]
    kernel: Vec<String>,
    /// A parameter for the guest's kernel; may be repeated
    #[arg(long, value_name = "PARAMETER", allow_hyphen_values = true)]
    append: Vec<String>,
    /// End a guest after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    limit: u64,
    /// Run this static program in the guest instead of the live tests
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Handed to the test program: names of tests, say
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

/// A row of the closing table.
struct Row {
    series: String,
    release: String,
    tally: Tally,
    took: Duration,
    faults: Vec<String>,
}

impl VmTest {
    pub(crate) fn only(series: &str) -> Self {
        Self {
            kernel: vec![series.to_owned()],
            append: Vec::new(),
            limit: 300,
            program: None,
            args: Vec::new(),
        }
    }

    pub(crate) fn run(self) -> Result<ExitCode> {
        let tally = self.test()?;
        println!("{tally}");
        Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Boots every kernel asked for; the sum over all of them.
    pub(crate) fn test(&self) -> Result<Tally> {
        ensure!(cfg!(target_arch = "x86_64"), "the guests are of x86-64, and are built on it");
        emulator()?;
        let payload = self.payload()?;
        let settings =
            Settings { append: &self.append, arguments: &self.args, limit: Duration::from_secs(self.limit) };
        let archive = kernel::archive();
        let rows: Vec<Row> = self
            .kernel
            .iter()
            .map(|series| {
                kernel::obtain(archive.as_ref(), series)
                    .and_then(|kernel| {
                        let folder = places::vm().join(series);
                        eprintln!("vm     {series}: booting {}", kernel.release);
                        let (judgement, took) = boot::boot(&kernel, &payload, &settings, &folder)?;
                        Ok(Row::new(series, &kernel.release, &judgement, took))
                    })
                    .unwrap_or_else(|error| Row::not_booted(series, &error))
            })
            .collect();
        print_table(&rows);
        let mut sum = Tally::default();
        rows.iter().for_each(|row| sum += row.tally);
        Ok(sum)
    }

    fn payload(&self) -> Result<Payload> {
        let build = places::vm().join("build");
        let statically = |mut command: std::process::Command| {
            // Nothing but these programs is in the guest. A folder of its own, as the flag rebuilds everything; and
            // without debug information, which the guest would have to unpack.
            command
                .arg("--target")
                .arg(TARGET)
                .env("RUSTFLAGS", "-Ctarget-feature=+crt-static")
                .env("CARGO_PROFILE_DEV_DEBUG", "0")
                .env("CARGO_TARGET_DIR", &build);
            executables(&mut command)
        };
        let (tests, companions) = match &self.program {
            Some(program) => (std::path::absolute(program)?, Vec::new()),
            None => {
                build_ebpf::build_or_say_why_not();
                let built = statically(cargo(["test", "--no-run", "--package=probe-cli", "--test=live"]))?;
                let companions = built
                    .iter()
                    .filter(|program| program.kind == "bin")
                    .map(|bin| bin.path.clone())
                    .collect();
                (find(&built, "test", "live")?.to_owned(), companions)
            }
        };
        let built = statically(cargo(["build", "--package=xtask", "--bin=guest-init"]))?;
        Ok(Payload { init: find(&built, "bin", "guest-init")?.to_owned(), tests, companions })
    }
}

impl Row {
    fn new(series: &str, release: &str, judgement: &Judgement, took: Duration) -> Self {
        Self {
            series: series.to_owned(),
            release: release.to_owned(),
            tally: judgement.counted(),
            took,
            faults: judgement.faults.clone(),
        }
    }

    fn not_booted(series: &str, error: &anyhow::Error) -> Self {
        Self {
            series: series.to_owned(),
            release: "not booted".to_owned(),
            tally: Tally { failed: 1, ..Tally::default() },
            took: Duration::ZERO,
            faults: vec![format!("{error:#}")],
        }
    }
}

fn emulator() -> Result<()> {
    if on_path(QEMU) {
        return Ok(());
    }
    eprintln!("vm     {QEMU} is missing: installing Debian's qemu-system-x86");
    apt::install(&["qemu-system-x86"]).context("guests need an emulator")?;
    if !on_path(QEMU) {
        bail!("qemu-system-x86 is installed, but there is no {QEMU}");
    }
    Ok(())
}

fn print_table(rows: &[Row]) {
    println!(
        "\n{:<8} {:<32} {:>6} {:>6} {:>7} {:>6}",
        "series", "kernel", "passed", "failed", "skipped", "took"
    );
    for row in rows {
        let Tally { passed, failed, skipped } = row.tally;
        println!(
            "{:<8} {:<32} {passed:>6} {failed:>6} {skipped:>7} {:>4} s",
            row.series,
            row.release,
            row.took.as_secs()
        );
        for fault in &row.faults {
            println!("{:<8} {fault}", "");
        }
    }
}
