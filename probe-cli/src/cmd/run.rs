//! `probe-cli run`: the lab.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, Hasher, RandomState},
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args;

use super::{
    Words,
    form::Form,
    interrupt, kernel,
    lab::{self, Lab},
    output::{Output, tool},
    progress::Bar,
    select,
};
use crate::{
    error::{Error, Result, chain},
    experiment::ProgramRun,
    harness::run_error::RunError,
    host::{self, cpu_list::CpuList},
    report::{
        file, html, json,
        model::{Clock, Report, SCHEMA, Warning},
        timestamp,
    },
};

/// Measure every variant of an experiment, interleaved, beside the live kernel
///
/// Without names, all experiments. The user-space lab needs no privilege; the live kernel is watched where this
/// kernel and user allow it, and the report says why where not.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli run pool-mix --quick
  probe-cli run --json report.json --html report.html
  probe-cli run pool-mix --threads 1,2 --cpus 0-1 --seed 42
  probe-cli run pool-mix --no-live -f json | jq '.experiments[0].verdict'")]
pub(super) struct Run {
    /// Experiments, as `probe-cli list` names them
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// The short replication: 5 launches of 5 blocks
    #[arg(long)]
    quick: bool,
    /// Only cases with these numbers of tasks, such as 1,2 or 1-4
    #[arg(long, value_name = "LIST")]
    threads: Option<CpuList>,
    /// CPUs to use, such as 0-3,8
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// NUMA node to take memory from
    #[arg(long, value_name = "NODE")]
    membind: Option<u32>,
    /// Fresh processes per experiment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    launches: Option<u16>,
    /// Interleaved blocks in each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    blocks: Option<u16>,
    /// Seed of every random choice
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Leave the live kernel alone: no eBPF
    #[arg(long)]
    no_live: bool,
    /// Write the report as JSON into this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as one page for a browser into this file as well
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    output: Output<Form>,
}

impl Run {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        // First, while there is one thread.
        let stop = interrupt::watch()?;
        let selected = select::experiments(&self.experiments)?;
        self.json.iter().chain(&self.html).try_for_each(|path| file::check(path))?;
        self.output.check()?;
        let options = self.options()?;

        let mut report = Report {
            schema: SCHEMA.to_owned(),
            host: host::this_machine(),
            tool: tool(),
            clock: Clock { name: String::new(), ticks_per_second: 0.0, floor_ns: 0.0 },
            seed: options.seed,
            started: timestamp::rfc3339(SystemTime::now()),
            quick: self.quick,
            interrupted: false,
            mechanisms: Vec::new(),
            calibration: BTreeMap::new(),
            experiments: Vec::new(),
            warnings: Vec::new(),
        };
        let mut lab = Lab::new(options, stop);
        report.clock = lab.clock();
        report.warnings = lab.warnings();
        if self.no_live {
            let text = "the live kernel was left alone, as asked (--no-live)".to_owned();
            report.warnings.push(Warning { code: "no-live".to_owned(), text });
        } else {
            words.detail("trying what can watch this kernel");
            report.mechanisms = kernel::mechanisms();
            let (costs, warnings) = kernel::calibration();
            report.calibration = costs;
            report.warnings.extend(warnings);
            report.warnings.extend(lab.attach_markers());
        }
        words.detail("measuring");
        let bar = Bar::new(words, "lab");
        let measured = lab.measure(&selected, &bar)?;
        drop(bar);
        let mut failed = Vec::new();
        for ((_, experiment), measured) in selected.into_iter().zip(measured) {
            let name = experiment.name();
            let mut found = match measured {
                Ok(found) => found,
                Err(error) => {
                    let text = format!("{name} is missing from this report: {}", chain(&error));
                    report.warnings.push(Warning { code: "not-measured".to_owned(), text });
                    failed.push((name, error));
                    continue;
                }
            };
            if !found.interrupted {
                let how = ProgramRun {
                    quick: self.quick,
                    cpus: &lab.options().cpus,
                    membind: self.membind,
                    stop: &|| lab.interrupted(),
                };
                found.report.programs.extend(experiment.program(&how));
            }
            if !self.no_live && !found.interrupted {
                words.detail(&format!("watching the live kernel beside {name}"));
                found.report.live =
                    kernel::live(experiment, &lab.tasks(experiment), self.quick, || lab.interrupted());
            }
            report.experiments.push(found.report);
            report.warnings.extend(found.warnings);
            report.interrupted |= found.interrupted || lab.interrupted();
        }
        // One refusal can stand in the way of several things.
        let mut said = BTreeSet::new();
        report.warnings.retain(|warning| said.insert((warning.code.clone(), warning.text.clone())));
        if report.experiments.is_empty()
            && let Some((_, error)) = failed.pop()
        {
            return Err(error);
        }
        self.hand_over(&report, words, out)?;
        // An experiment that has no case for the flags is left out; one that could not be measured is a failure.
        failed.retain(|(_, error)| !matches!(error, Error::Run(RunError::NoCase { .. })));
        match failed.pop() {
            Some((name, Error::Run(source))) => Err(Error::Unmeasured { name, source }),
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    fn hand_over(&self, report: &Report, words: Words, out: &mut dyn Write) -> Result<()> {
        let files: Vec<PathBuf> = self.html.iter().chain(&self.json).cloned().collect();
        if let Some(path) = &self.json {
            file::write(path, json::to_string(report)?.as_bytes())?;
        }
        if let Some(path) = &self.html {
            file::write(path, html::page(report).as_bytes())?;
        }
        let page = self.output.format.write(report, &files, self.output.style(words))?;
        self.output.deliver(&page, out)
    }

    fn options(&self) -> Result<lab::Options> {
        let seed = self.seed.unwrap_or_else(fresh_seed);
        let mut options = lab::options(self.quick, seed)?;
        options.launches = self.launches.unwrap_or(options.launches);
        options.blocks = self.blocks.unwrap_or(options.blocks);
        options.threads =
            self.threads.as_ref().map(|threads| threads.iter().map(|count| count as usize).collect());
        options.membind = self.membind;
        if let Some(cpus) = &self.cpus {
            let allowed: CpuList = options.cpus.iter().map(|&cpu| cpu as u32).collect();
            if let Some(cpu) = cpus.iter().find(|&cpu| !allowed.contains(cpu)) {
                return Err(Error::CpuNotHere { cpu, allowed: allowed.to_string() });
            }
            options.cpus = cpus.iter().map(|cpu| cpu as usize).collect();
        }
        if let Some(node) = self.membind.filter(|node| !has_node(*node)) {
            return Err(Error::NodeNotHere { node });
        }
        Ok(options)
    }
}

/// Where the kernel lists no nodes, it is left to it to refuse.
fn has_node(node: u32) -> bool {
    let nodes = Path::new("/sys/devices/system/node");
    !nodes.join("online").exists() || nodes.join(format!("node{node}")).exists()
}

/// A seed nobody chose; short enough to be typed again.
fn fresh_seed() -> u64 {
    u64::from(RandomState::new().build_hasher().finish() as u32)
}
