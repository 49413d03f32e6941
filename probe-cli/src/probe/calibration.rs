//! What one hit of each kind of probe costs on this machine, measured by the probes themselves.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use probe_abi::batch::BatchKey;
use probe_abi::site;

use super::function;
use super::markers::Markers;
use super::refusal::Refusal;
use super::scope::Scope;
use super::session::Session;
use super::syscall::{self, Syscall};
use crate::harness::markers::BatchSource as _;
use crate::report::model::ProbeCost;
use crate::stats::histogram::Histogram;

/// Marker pairs in one timed run.
const PAIRS: u32 = 200;
/// Times that the probes are attached: each costs a third of a second, nearly all of it letting them go.
const ATTACHMENTS: usize = 5;
/// Timed runs with probes and without, each time.
const RUNS: usize = 10;
/// Calls behind the floor of a pair.
pub(crate) const FLOOR_CALLS: u32 = 10_000;

/// The costs, by kind, and what could not be had:
///
/// * `marker-hit`: time that one marker adds to the marked program while attached;
/// * `marker-interval`: what an empty batch reads;
/// * `tracepoint-floor`, `raw-tracepoint-floor`, `fentry-floor`: what each pair reads for the emptiest call.
#[must_use]
pub fn calibrate() -> (BTreeMap<String, ProbeCost>, Vec<Refusal>) {
    let mut costs = BTreeMap::new();
    let mut refusals = Vec::new();
    match markers() {
        Ok((hit, interval)) => {
            costs.extend(hit.map(|cost| ("marker-hit".to_owned(), cost)));
            costs.extend(interval.map(|cost| ("marker-interval".to_owned(), cost)));
        }
        Err(refusal) => refusals.push(refusal),
    }
    let floors: [(&str, Floor); 3] = [
        ("tracepoint-floor", event_floor),
        ("raw-tracepoint-floor", raw_floor),
        ("fentry-floor", || function::floor(FLOOR_CALLS)),
    ];
    for (name, floor) in floors {
        match floor() {
            Ok(histogram) => costs.extend(of_histogram(&histogram).map(|cost| (name.to_owned(), cost))),
            Err(refusal) => refusals.push(refusal),
        }
    }
    (costs, refusals)
}

type Floor = fn() -> Result<Histogram, Refusal>;

/// What a pair on a system call's own events reports for `getppid`.
pub(crate) fn event_floor() -> Result<Histogram, Refusal> {
    syscall_floor(syscall::trace_events)
}

/// What a pair on the raw tracepoints reports for `getppid`.
pub(crate) fn raw_floor() -> Result<Histogram, Refusal> {
    syscall_floor(syscall::trace_raw)
}

fn syscall_floor(trace: fn(&[Syscall], &Scope) -> Result<Session, Refusal>) -> Result<Histogram, Refusal> {
    let emptiest: Vec<_> = Syscall::by_name("getppid").into_iter().collect();
    let session = trace(&emptiest, &Scope::own_thread())?;
    for _ in 0..FLOOR_CALLS {
        nix::unistd::getppid();
    }
    Ok(session.read()?.swap_remove(0).total())
}

type MarkerCosts = (Option<ProbeCost>, Option<ProbeCost>);

fn markers() -> Result<MarkerCosts, Refusal> {
    let own = Path::new("/proc/self/exe");
    let mut added_ns = Vec::new();
    let mut intervals_ns = Vec::new();
    for _ in 0..ATTACHMENTS {
        let idle_ns: Vec<_> = (0..RUNS).map(|_| run_pairs()).collect();
        let mut markers = Markers::attach(own)?;
        let probed_ns: Vec<_> = (0..RUNS).map(|_| run_pairs()).collect();
        intervals_ns.extend(markers.drain().iter().map(|event| event.elapsed_ns));
        let added = idle_ns.iter().zip(probed_ns).map(|(idle, probed)| probed.saturating_sub(*idle));
        added_ns.extend(added.map(|pairs_ns| pairs_ns / u64::from(2 * PAIRS)));
    }
    Ok((of_samples(added_ns), of_samples(intervals_ns)))
}

fn run_pairs() -> u64 {
    let start = Instant::now();
    for raw in 0..u64::from(PAIRS) {
        let key = BatchKey::from_raw(raw);
        site::begin(key);
        site::end(key);
    }
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn of_histogram(histogram: &Histogram) -> Option<ProbeCost> {
    Some(ProbeCost { p50_ns: histogram.quantile(0.5)?, p99_ns: histogram.quantile(0.99)?, n: histogram.n() })
}

fn of_samples(mut samples: Vec<u64>) -> Option<ProbeCost> {
    samples.sort_unstable();
    let rank = |q: f64| ((q * samples.len() as f64).ceil() as usize).clamp(1, samples.len().max(1)) - 1;
    Some(ProbeCost {
        p50_ns: *samples.get(rank(0.5))?,
        p99_ns: *samples.get(rank(0.99))?,
        n: samples.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_samples_are_members() {
        let cost = of_samples((1..=100).rev().collect()).unwrap();
        assert_eq!((cost.p50_ns, cost.p99_ns, cost.n), (50, 99, 100));
        assert_eq!(of_samples(Vec::new()), None);
    }
}
