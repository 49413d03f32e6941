//! The user-space half of a run: launches, and what they add up to.

use std::io::{Read, Write};

use tokio::sync::watch;

use super::{kernel, progress::Bar};
use crate::{
    error::{Error, Result},
    experiment::{self, Comparison, Experiment},
    harness::{
        assess::assess,
        child::Launcher,
        clock::Clock,
        launch,
        markers::BatchSource,
        run::{Measured, Measuring},
        run_error::RunError,
    },
    probe::markers::Markers,
    report::model::{self, ExperimentReport, Warning},
};

pub(super) use crate::harness::options::Options;

/// What a run needs from its first experiment to its last.
pub(super) struct Lab {
    options: Options,
    clock: Clock,
    stop: watch::Receiver<bool>,
    markers: Option<Markers>,
}

/// What was found out about one experiment, all but the live kernel.
pub(super) struct Found {
    pub(super) report: ExperimentReport,
    pub(super) warnings: Vec<Warning>,
    pub(super) interrupted: bool,
}

/// The replication that was asked for, on the CPUs this process may use.
pub(super) fn options(quick: bool, seed: u64) -> Result<Options> {
    let options = if quick { Options::quick(seed) } else { Options::full(seed) };
    options.map_err(|errno| Error::Affinity(errno.into()))
}

/// One launch, ordered by the run that started it.
pub(super) fn serve(orders: &mut dyn Read, record: &mut dyn Write) -> Result<()> {
    let comparisons: Vec<&dyn Comparison> = experiment::ALL.iter().map(|&known| known as _).collect();
    launch::serve(&comparisons, orders, record).map_err(Error::Launch)
}

impl Lab {
    pub(super) fn new(options: Options, stop: watch::Receiver<bool>) -> Self {
        Self { options, clock: Clock::calibrate(), stop, markers: None }
    }

    pub(super) fn clock(&self) -> model::Clock {
        self.clock.report()
    }

    pub(super) fn interrupted(&self) -> bool {
        *self.stop.borrow()
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// What to know of this run whatever it measures.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let Options { quick, launches, blocks, .. } = self.options;
        let (least_launches, least_blocks) = self.options.minimum();
        if launches < least_launches || blocks < least_blocks {
            let text = format!(
                "{launches} launches of {blocks} blocks are fewer than the {least_launches} of {least_blocks} that a \
                 verdict takes"
            );
            warnings.push(warning("few-repetitions", text));
        } else if quick {
            let text = format!(
                "{launches} launches of {blocks} blocks: intervals are wider than those of a full run"
            );
            warnings.push(warning("quick", text));
        }
        if let Some(why) = &self.clock.fallback {
            warnings
                .push(warning("monotonic-clock", format!("batches are timed by the monotonic clock: {why}")));
        }
        warnings
    }

    /// Has the probe time the batches as well, where it can.
    pub(super) fn attach_markers(&mut self) -> Option<Warning> {
        match kernel::markers() {
            Ok(markers) => {
                self.markers = Some(markers);
                None
            }
            Err(refusal) => Some(warning("no-markers", format!("no probe timed the batches: {refusal}"))),
        }
    }

    /// Runs the launches of all `experiments` and says what those of each add up to, or why one is missing.
    ///
    /// A first launch of each, then a second, and so on: so the launches of each are spread over the whole run, and sample
    /// what changes on the machine meanwhile.
    pub(super) fn measure(
        &mut self,
        experiments: &[(u8, &'static dyn Experiment)],
        bar: &Bar,
    ) -> Result<Vec<Result<Found>>> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::Runtime)?;
        let launcher = Launcher::this_program().map_err(Error::Run)?;
        let mut markers = self.markers.as_mut().map(|markers| markers as &mut dyn BatchSource);
        let (options, mut stop) = (&self.options, self.stop.clone());
        let mut all: Vec<Result<Measuring<'_>, RunError>> = experiments
            .iter()
            .map(|&(index, experiment)| Measuring::begin(experiment, index, options, markers.is_some()))
            .collect();
        let whole = all.iter().flatten().map(|one| u64::from(one.launches(options))).sum();
        let mut done = 0;
        // Polled by this thread alone: launches end with the thread that polls.
        runtime.block_on(async {
            for launch in 0..options.launches {
                for one in &mut all {
                    let Ok(measuring) = one else { continue };
                    if launch >= measuring.launches(options) {
                        continue;
                    }
                    bar.set(done, whole);
                    match measuring.launch(&launcher, launch, options, &mut markers, &mut stop).await {
                        Ok(true) => done += 1,
                        Ok(false) => return,
                        Err(error) => *one = Err(error),
                    }
                }
            }
        });
        let stopped = self.interrupted();
        let found = experiments.iter().zip(all).map(|((_, experiment), one)| {
            let mut measured = one.map_err(Error::Run)?.end();
            measured.interrupted |= stopped;
            Ok(Found {
                report: assess(*experiment, &measured, &self.options, self.options.cpus.len()),
                warnings: remarks(*experiment, &measured),
                interrupted: measured.interrupted,
            })
        });
        Ok(found.collect())
    }

    /// Numbers of tasks at which the live kernel is watched: from one to twice the CPUs, as the lab's own cases.
    pub(super) fn tasks(&self, experiment: &dyn Experiment) -> Vec<usize> {
        let cases = experiment.cases(self.options.cpus.len());
        let wanted =
            |tasks: usize| self.options.threads.as_ref().is_none_or(|threads| threads.contains(&tasks));
        let mut tasks: Vec<usize> =
            cases.iter().map(|case| case.tasks).filter(|&tasks| wanted(tasks)).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }
}

/// What to know of one experiment's measurements.
fn remarks(experiment: &dyn Experiment, measured: &Measured) -> Vec<Warning> {
    let name = experiment.name();
    let mut warnings = Vec::new();
    if measured.interrupted {
        let text = format!("{name} was stopped after {} launches", measured.launches.len());
        warnings.push(warning("interrupted", text));
    }
    if measured.events_lost > 0 {
        let text = format!("{name}: the probe could not report {} batches", measured.events_lost);
        warnings.push(warning("events-lost", text));
    }
    let unequal = measured.checks.values().filter_map(|check| check.as_ref().err());
    warnings.extend(unequal.map(|difference| warning("unequal-work", format!("{name}: {difference}"))));
    warnings
}

fn warning(code: &str, text: String) -> Warning {
    Warning { code: code.to_owned(), text }
}
