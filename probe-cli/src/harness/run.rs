//! The parent of the launches: starts them one after another, and listens to the markers meanwhile.

use std::collections::BTreeMap;
use std::future;
use std::time::Duration;

use probe_abi::batch::BatchEvent;
use tokio::sync::watch;

use super::child::{Launch, Launcher};
use super::clock::Clock;
use super::markers::BatchSource;
use super::options::Options;
use super::record::{LaunchRecord, LaunchSpec};
use super::run_error::RunError;
use crate::experiment::{Case, Comparison};
use crate::sys::affinity;

/// How often the markers' events are fetched. Rarely: whoever wakes up takes a CPU from a task that is timed, and the
/// ring holds more batches than a launch has.
const POLL: Duration = Duration::from_secs(1);

/// How often to look whether a launch whose output has ended has exited.
const EXIT: Duration = Duration::from_millis(2);

/// Everything that was measured of one comparison, before any statistics.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Index of the comparison in the batch keys.
    pub index: u8,
    /// How to read the ticks.
    pub clock: Clock,
    /// For every case that was asked for: what was compared before timing, or why it was not timed.
    pub checks: BTreeMap<usize, Result<String, String>>,
    /// The launches that ended.
    pub launches: Vec<LaunchRecord>,
    /// What the markers said; none if none were attached.
    pub events: Option<Vec<BatchEvent>>,
    /// Events that the kernel side could not hand over.
    pub events_lost: u64,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// Launches that ended.
    pub done: u16,
    /// Launches to run.
    pub launches: u16,
}

/// Measures `comparison` by starting this program anew for every launch.
///
/// Once `stop` holds true the launch under way is ended and left out; those that ended before are returned.
/// The launches end with the thread that polls this future.
///
/// # Errors
///
/// Why it could not be measured.
pub async fn run(
    comparison: &dyn Comparison,
    index: u8,
    options: &Options,
    markers: Option<&mut dyn BatchSource>,
    stop: watch::Receiver<bool>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, RunError> {
    run_as(&Launcher::this_program()?, comparison, index, options, markers, stop, progress).await
}

/// [`run`], with launches started by `launcher`.
///
/// # Errors
///
/// Why it could not be measured.
pub async fn run_as(
    launcher: &Launcher,
    comparison: &dyn Comparison,
    index: u8,
    options: &Options,
    mut markers: Option<&mut dyn BatchSource>,
    mut stop: watch::Receiver<bool>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measured, RunError> {
    let mut measuring = Measuring::begin(comparison, index, options, markers.is_some())?;
    let launches = measuring.launches(options);
    for launch in 0..launches {
        progress(Progress { done: launch, launches });
        if !measuring.launch(launcher, launch, options, &mut markers, &mut stop).await? {
            break;
        }
    }
    progress(Progress { done: measuring.measured.launches.len() as u16, launches });
    Ok(measuring.measured)
}

/// A comparison between two of its launches. Others may be measured meanwhile.
pub struct Measuring<'a> {
    comparison: &'a dyn Comparison,
    cases: Vec<usize>,
    measured: Measured,
}

impl<'a> Measuring<'a> {
    /// Proves equal work; no launch is made yet.
    ///
    /// # Errors
    ///
    /// There is no CPU, or no case that was asked for.
    pub fn begin(
        comparison: &'a dyn Comparison,
        index: u8,
        options: &Options,
        probed: bool,
    ) -> Result<Self, RunError> {
        let checks = check_work(comparison, options)?;
        let cases = checks.iter().filter(|(_, check)| check.is_ok()).map(|(&case, _)| case).collect();
        let measured = Measured {
            index,
            clock: Clock::calibrate(),
            checks,
            launches: Vec::with_capacity(options.launches.into()),
            events: probed.then(Vec::new),
            events_lost: 0,
            interrupted: false,
        };
        Ok(Self { comparison, cases, measured })
    }

    /// How many launches it takes: none if no case may be timed.
    #[must_use]
    pub fn launches(&self, options: &Options) -> u16 {
        if self.cases.is_empty() { 0 } else { options.launches }
    }

    /// Makes one launch; false if `stop` held true before its end.
    ///
    /// # Errors
    ///
    /// The launch could not be made, or failed.
    pub async fn launch(
        &mut self,
        launcher: &Launcher,
        launch: u16,
        options: &Options,
        markers: &mut Option<&mut dyn BatchSource>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<bool, RunError> {
        let spec = LaunchSpec {
            comparison: self.comparison.name().to_owned(),
            index: self.measured.index,
            launch,
            blocks: options.blocks,
            seed: options.seed,
            cpus: options.cpus.clone(),
            membind: options.membind,
            cases: self.cases.clone(),
            parent: Some(std::process::id()),
        };
        let measured = &mut self.measured;
        let lost_before = markers.as_ref().map_or(0, |markers| markers.lost());
        let mut child = Launch::start(launcher, spec)?;
        let mut pause = POLL;
        let ended = loop {
            collect(measured, markers);
            if let Some(status) = child.poll()? {
                break Some(status);
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = child.ended() => pause = EXIT,
                () = stopped(stop) => break None,
            }
        };
        collect(measured, markers);
        measured.events_lost +=
            markers.as_ref().map_or(0, |markers| markers.lost().saturating_sub(lost_before));
        let Some(status) = ended.filter(|_| !*stop.borrow()) else {
            measured.interrupted = true;
            return Ok(false);
        };
        measured.launches.push(child.record(status)?);
        Ok(true)
    }

    /// What was measured until now.
    #[must_use]
    pub fn end(self) -> Measured {
        self.measured
    }
}

impl std::fmt::Debug for Measuring<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measuring")
            .field("comparison", &self.comparison.name())
            .field("cases", &self.cases)
            .field("measured", &self.measured)
            .finish()
    }
}

/// Proves equal work for the cases that `options` asks for, before anything is timed.
fn check_work(
    comparison: &dyn Comparison,
    options: &Options,
) -> Result<BTreeMap<usize, Result<String, String>>, RunError> {
    let name = || comparison.name().to_owned();
    if options.cpus.is_empty() {
        return Err(RunError::NoCpu { comparison: name() });
    }
    // Where the kernel does not tell, the launch will find out.
    let allowed = affinity::allowed().unwrap_or_else(|_| options.cpus.clone());
    if let Some(&cpu) = options.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(RunError::Cpu { comparison: name(), cpu, allowed });
    }
    let cases = comparison.cases(options.cpus.len());
    let wanted = |case: &Case| {
        options.threads.as_ref().is_none_or(|threads| threads.contains(&case.tasks))
            && match &options.cases {
                Some(names) => names.contains(&case.name),
                None => !options.quick || !comparison.only_in_full_runs(case),
            }
    };
    let checks: BTreeMap<_, _> = cases
        .iter()
        .enumerate()
        .filter(|(_, case)| wanted(case))
        .map(|(index, case)| (index, comparison.work_check(case)))
        .collect();
    match &options.threads {
        Some(threads) if checks.is_empty() => {
            let mut available: Vec<usize> = cases.iter().map(|case| case.tasks).collect();
            available.sort_unstable();
            available.dedup();
            Err(RunError::NoCase { comparison: name(), threads: threads.clone(), available })
        }
        _ => Ok(checks),
    }
}

fn collect(measured: &mut Measured, markers: &mut Option<&mut dyn BatchSource>) {
    if let (Some(events), Some(markers)) = (&mut measured.events, markers) {
        events.append(&mut markers.drain());
    }
}

/// Returns once `stop` holds true; never, if nobody is left to say so.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|&stop| stop).await.is_err() {
        future::pending::<()>().await;
    }
}
