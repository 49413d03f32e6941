//! A traced session as data: what `trace -f json` prints and `--save` keeps (`"schema": "probe-session/1"`).
//!
//! Fields may be added; none may be renamed or change its meaning. Times are whole nanoseconds; what is not known is
//! null.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use probe_abi::quality::Quality;
use probe_abi::size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost::Cost;
use super::ladder::Row;
use super::tracer::Reading;
use crate::probe::backend::Backend;
use crate::probe::session::{RowKey, Who};
use crate::report::model::{Host, LiveRow, ProbeCost, Tool, Warning};
use crate::stats::histogram::Histogram;

/// The value of [`Session::schema`].
pub const SCHEMA: &str = "probe-session/1";

/// One traced session.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Session {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The machine.
    pub host: Host,
    /// The program that traced.
    pub tool: Tool,
    /// The clock behind all times, and when it was read.
    pub clock: SessionClock,
    /// What was counted: whose calls, which of them, and how they are told apart.
    pub scope: String,
    /// Whether it was stopped before its end; what had been counted is here.
    pub interrupted: bool,
    /// What each mechanism in use costs, by its name and `floor`, as far as it was measured.
    pub calibration: BTreeMap<String, ProbeCost>,
    /// The whole session.
    pub targets: Vec<SessionRow>,
    /// The same by interval, where intervals were asked for.
    #[serde(default)]
    pub intervals: Vec<Interval>,
    /// Single slow calls, where they were asked for.
    #[serde(default)]
    pub slow: Vec<SlowRow>,
    /// What a reader should know before believing a number.
    pub warnings: Vec<Warning>,
}

/// The clock of a session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SessionClock {
    /// Always `monotonic`: the kernel's, which stands still while the machine is suspended.
    pub name: String,
    /// When counting began, RFC 3339, UTC.
    pub started: String,
    /// How long was counted.
    pub duration_ns: u64,
}

/// One row of a target.
///
/// `in_flight`, `unmatched`, `dropped`, `missed` and `clock_regressions` are of the target as a whole and stand in
/// each of its rows alike.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SessionRow {
    /// What every live row has.
    #[serde(flatten)]
    pub row: LiveRow,
    /// What sets this row of the target apart.
    pub key: Key,
    /// Sum of the durations, from the middles of the buckets: within 6.25 %.
    pub total_ns: u64,
}

/// What sets a row apart from others of its target; what was not told apart is null.
#[derive(Clone, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub struct Key {
    /// CPU that the calls ended on.
    pub cpu: Option<u32>,
    /// Process.
    pub pid: Option<u32>,
    /// Name of the thread.
    pub comm: Option<String>,
    /// cgroup of the unified hierarchy, by number.
    pub cgroup: Option<u64>,
    /// Smallest size, inclusive.
    pub size_lo: Option<u64>,
    /// Largest size, exclusive; null with a `size_lo` is without limit.
    pub size_hi: Option<u64>,
}

/// What was counted in one interval alone.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Interval {
    /// Its beginning, since counting began.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// When it ended, RFC 3339, UTC.
    pub ended: String,
    /// One row as in [`Session::targets`].
    pub targets: Vec<SessionRow>,
}

/// A single slow call.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SlowRow {
    /// The target.
    pub target: String,
    /// Its end on the kernel's monotonic clock.
    pub end_ns: u64,
    /// How long it took.
    pub elapsed_ns: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Name of the thread.
    pub comm: String,
    /// CPU of its end.
    pub cpu: u32,
    /// Smallest size of its class, inclusive.
    pub size_lo: Option<u64>,
    /// Largest, exclusive.
    pub size_hi: Option<u64>,
    /// Where it was in the kernel, innermost first.
    pub kernel_stack: Vec<String>,
    /// Where it came from in the program, innermost first.
    pub user_stack: Vec<String>,
}

/// Costs by mechanism.
pub type Costs = Vec<(Backend, Cost)>;

/// The rows of one reading; a target that counted nothing has one row with nothing in it.
#[must_use]
pub fn rows(asked: &[Row], readings: &[Reading], costs: &Costs) -> Vec<SessionRow> {
    let of = |(row, reading): (&Row, &Reading)| {
        let cost = costs.iter().find(|(backend, _)| *backend == row.backend).map(|(_, cost)| *cost);
        let cost = Cost { floor_ns: reading.floor_ns, ..cost.unwrap_or_default() }
            .with_floor(cost.and_then(|cost| cost.floor_ns));
        let empty = (RowKey::default(), Histogram::default());
        let keyed: Vec<_> = reading.target.rows.iter().map(|(key, row)| (*key, row.clone())).collect();
        let keyed = if keyed.is_empty() { vec![empty] } else { keyed };
        keyed
            .into_iter()
            .map(|(key, histogram)| session_row(row, reading, cost, key, &histogram))
            .collect::<Vec<_>>()
    };
    asked.iter().zip(readings).flat_map(of).collect()
}

impl Cost {
    /// The floor of the reading itself comes first.
    fn with_floor(self, floor_ns: Option<u64>) -> Self {
        Self { floor_ns: self.floor_ns.or(floor_ns), ..self }
    }
}

fn session_row(asked: &Row, reading: &Reading, cost: Cost, key: RowKey, histogram: &Histogram) -> SessionRow {
    // Where no size is known all calls are in the first class.
    let class = key.class.filter(|_| asked.sized);
    let (size_lo, size_hi) = match class.map(size::bounds) {
        Some((lo, hi)) => (Some(lo), hi),
        None => (None, None),
    };
    let p50_ns = histogram.quantile(0.5);
    let row = LiveRow {
        target: asked.question.target.clone(),
        question: asked.question.question.clone(),
        backend: asked.backend.name().to_owned(),
        reason: asked.reason.clone(),
        threads: 0,
        oversubscribed: false,
        size_lo,
        size_hi,
        calls: None,
        n: histogram.n(),
        p50_ns,
        p90_ns: histogram.quantile(0.9),
        p99_ns: histogram.quantile(0.99),
        max_ns: histogram.max(),
        floor_ns: cost.floor_ns,
        added_ns: cost.added_ns,
        bystander_ns: cost.bystander_ns,
        in_flight: reading.target.in_flight,
        unmatched: reading.target.count(Quality::Unmatched),
        dropped: reading.target.dropped(),
        missed: reading.missed,
        clock_regressions: reading.target.count(Quality::ClockRegression),
        probe_bound: is_bound(p50_ns, cost.floor_ns),
        buckets: histogram.buckets().collect(),
    };
    let (mut pid, mut comm, mut cgroup) = (None, None, None);
    match key.who {
        Some(Who::Process(process)) => pid = Some(process),
        Some(Who::Comm(name)) => comm = Some(comm_text(&name)),
        Some(Who::Cgroup(id)) => cgroup = Some(id),
        None => {}
    }
    let total_ns = total(histogram);
    SessionRow { row, key: Key { cpu: key.cpu, pid, comm, cgroup, size_lo, size_hi }, total_ns }
}

fn is_bound(p50_ns: Option<u64>, floor_ns: Option<u64>) -> bool {
    p50_ns.zip(floor_ns).is_some_and(|(p50, floor)| p50 < floor.saturating_mul(3))
}

/// The sum of all durations, from the middles of the buckets.
fn total(histogram: &Histogram) -> u64 {
    histogram
        .buckets()
        .map(|bucket| (bucket.lo + (bucket.hi - bucket.lo) / 2).saturating_mul(bucket.count))
        .fold(0, u64::saturating_add)
}

/// A thread's name; what is no UTF-8 in it is replaced.
#[must_use]
pub fn comm_text(name: &[u8; 16]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// One row of all rows of each target together, the first one's words kept.
#[must_use]
pub fn merged(rows: &[SessionRow]) -> Vec<(&LiveRow, Histogram)> {
    let mut merged: Vec<(&LiveRow, Histogram)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for row in rows {
        let histogram = row.histogram();
        match places.entry(&row.row.target) {
            Entry::Occupied(place) => merged[*place.get()].1.merge(&histogram),
            Entry::Vacant(place) => {
                place.insert(merged.len());
                merged.push((&row.row, histogram));
            }
        }
    }
    merged
}

impl SessionRow {
    /// The same row with other durations, and nothing that sets it apart.
    #[must_use]
    pub fn with(&self, histogram: &Histogram) -> Self {
        let p50_ns = histogram.quantile(0.5);
        let row = LiveRow {
            n: histogram.n(),
            p50_ns,
            p90_ns: histogram.quantile(0.9),
            p99_ns: histogram.quantile(0.99),
            max_ns: histogram.max(),
            size_lo: None,
            size_hi: None,
            probe_bound: is_bound(p50_ns, self.row.floor_ns),
            buckets: histogram.buckets().collect(),
            ..self.row.clone()
        };
        Self { row, key: Key::default(), total_ns: total(histogram) }
    }

    /// The durations as they were counted.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::default();
        for bucket in &self.row.buckets {
            histogram.record_many(bucket.lo, bucket.count);
        }
        histogram
    }
}

/// Calls of each target that were lost or unmatched, as a share of all that there were; the largest.
#[must_use]
pub fn worst_loss(rows: &[SessionRow]) -> Option<(&str, f64)> {
    let share = |(row, histogram): &(&LiveRow, Histogram)| {
        let lost = [row.unmatched, row.dropped, row.missed.unwrap_or(0), row.clock_regressions];
        let lost = lost.into_iter().fold(0, u64::saturating_add);
        let all = histogram.n().saturating_add(lost);
        if all == 0 { 0.0 } else { lost as f64 / all as f64 }
    };
    let merged = merged(rows);
    let worst = merged.iter().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let target = rows.iter().map(|row| row.row.target.as_str()).find(|target| *target == worst.0.target)?;
    Some((target, share(worst)))
}

/// The JSON Schema of a session, the content of `schema/session.schema.json`.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Session);
    let mut text =
        serde_json::to_string_pretty(&schema).expect("a schema holds no map with keys that are not text");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::session::TargetReading;
    use crate::trace::resolve::Question;

    fn asked() -> Row {
        Row {
            question: Question { target: "syscall:x".into(), question: "?".into(), ways: Vec::new() },
            backend: Backend::Tracepoint,
            reason: String::new(),
            sized: false,
            refusals: Vec::new(),
        }
    }

    fn counted(numbers: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&number| histogram.record(number));
        histogram
    }

    #[test]
    fn a_row_is_probe_bound_under_three_times_its_floor() {
        let reading = |ns| Reading {
            target: TargetReading {
                rows: BTreeMap::from([(RowKey::default(), counted(&[ns; 5]))]),
                ..TargetReading::default()
            },
            ..Reading::default()
        };
        let cost =
            Cost { floor_ns: Some(100), floor_p99_ns: None, added_ns: Some(7), bystander_ns: Some(-1) };
        let costs = vec![(Backend::Tracepoint, cost)];
        let row = |ns| rows(&[asked()], &[reading(ns)], &costs).remove(0);
        assert!(row(250).row.probe_bound && !row(400).row.probe_bound);
        assert_eq!((row(400).row.added_ns, row(400).row.bystander_ns), (Some(7), Some(-1)));
        assert_eq!(row(400).histogram(), counted(&[400; 5]));
    }

    #[test]
    fn a_target_that_counted_nothing_has_its_row() {
        let rows = rows(&[asked()], &[Reading::default()], &Vec::new());
        assert_eq!(
            (rows.len(), rows[0].row.n, rows[0].row.p50_ns, rows[0].row.buckets.len()),
            (1, 0, None, 0)
        );
    }

    #[test]
    fn losses_are_a_share_of_all_calls() {
        let mut reading = Reading::default();
        reading.target.rows = BTreeMap::from([(RowKey::default(), counted(&[10; 98]))]);
        reading.target.counts[Quality::Unmatched.index()] = 1;
        reading.target.abandoned = 1;
        let rows = rows(&[asked()], &[reading], &Vec::new());
        assert_eq!(worst_loss(&rows), Some(("syscall:x", 0.02)));
        assert_eq!(worst_loss(&[]), None);
    }

    #[test]
    fn names_of_threads_end_at_their_end() {
        assert_eq!(comm_text(b"name\0\0\0\0\0\0\0\0\0\0\0\0"), "name");
        assert_eq!(comm_text(&[0xff; 16]), "\u{fffd}".repeat(16));
    }
}
