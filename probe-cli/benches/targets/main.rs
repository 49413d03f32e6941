//! The speed targets, one row each: `cargo bench -p probe-cli --bench targets -- [ID or FILTER...]`.
//!
//! A row is data ([`target`]): two variants of a case of a comparison, and the ratio that is aimed at. The harness
//! of the lab measures it, launches and all; `met` says that the worse end of the interval reaches the target.

mod copy;
mod copy_peers;
mod copy_regret;
mod fast_pool;
mod generators;
mod marker;
mod route_cache;
mod route_map;
mod row;
mod target;
mod tracer;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use probe_cli::experiment::Comparison;
use probe_cli::harness::child::SUBCOMMAND;
use probe_cli::harness::options::Options;
use probe_cli::harness::run::{self, Measured, Progress};
use probe_cli::harness::{launch, pairs};
use probe_cli::stats::rng::Rng;
use tokio::sync::watch;

use self::row::Row;
use self::target::{COMPARISONS, Part, Sweep};

/// Measures the speed targets against their peers.
#[derive(Parser)]
struct Arguments {
    /// Targets by id, or by a word of what they do; all if none is named
    #[arg(value_name = "ID or FILTER")]
    filters: Vec<String>,
    /// Fewer launches: a look, not a verdict
    #[arg(long)]
    quick: bool,
    /// Write the rows here as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    if std::env::args().nth(1).is_some_and(|word| word == SUBCOMMAND) {
        return Ok(launch::serve(COMPARISONS, io::stdin().lock(), io::stdout().lock())?);
    }
    let arguments = Arguments::parse();
    let all = target::all();
    let wanted: Vec<&Sweep> = all.iter().filter(|target| target.matches(&arguments.filters)).collect();
    ensure!(
        !wanted.is_empty(),
        "no target matches {:?}; there are {}",
        arguments.filters,
        all.iter().map(|target| target.id).collect::<Vec<_>>().join(", ")
    );
    let mut rows = Vec::new();
    for comparison in COMPARISONS {
        let theirs: Vec<&Sweep> =
            wanted.iter().copied().filter(|target| target.comparison == comparison.name()).collect();
        if !theirs.is_empty() {
            rows.extend(measure(*comparison, &theirs, &arguments)?);
        }
    }
    row::control_false_discovery(&mut rows);
    rows.iter().for_each(|row| println!("{row}"));
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&rows)? + "\n";
        fs::write(path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

/// Runs the cases of one comparison that targets ask for, and makes their rows.
fn measure(comparison: &dyn Comparison, targets: &[&Sweep], arguments: &Arguments) -> Result<Vec<Row>> {
    let options =
        if arguments.quick { Options::quick(arguments.seed) } else { Options::full(arguments.seed) };
    let mut options = options.context("the kernel does not tell which CPUs may be used")?;
    options.cases =
        Some(targets.iter().flat_map(|target| &target.parts).map(|part| part.case.clone()).collect());
    let cpus = options.cpus.len();
    let measured = run(comparison, &options)?;
    let rows = targets.iter().enumerate().map(|(number, target)| {
        let paired = |part: &Part| match part.peer {
            copy_regret::BEST => copy_regret::paired(&measured, cpus, &part.case),
            _ if tracer::is_added(part) => tracer::paired(&measured, cpus, part),
            peer => pairs::paired(comparison, &measured, cpus, &part.case, part.ours, peer),
        };
        Row::new(target, paired, arguments.quick, &mut Rng::derive(arguments.seed, &[number as u64]))
    });
    Ok(rows.collect())
}

fn run(comparison: &dyn Comparison, options: &Options) -> Result<Measured> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (_keep, stop) = watch::channel(false);
    let seen = io::stderr().is_terminal();
    let mut progress = |Progress { done, launches }| {
        if seen {
            eprint!("\r{}: launch {done} of {launches} ", comparison.name());
        }
    };
    let measured = runtime.block_on(run::run_as(
        &copy::launcher(comparison)?,
        comparison,
        0,
        options,
        None,
        stop,
        &mut progress,
    ))?;
    if seen {
        eprintln!();
    }
    Ok(measured)
}
