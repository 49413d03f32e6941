//! The rows of two traced sessions.
//!
//! A session that was taken by intervals is cut into stretches of neighbouring intervals, as the method of batch means
//! does with one long run: a stretch takes the place of a launch, its intervals that of blocks.

use std::collections::HashMap;

use super::{Quantity, Row, Verdict, judge::Found};
use crate::{
    stats::{bootstrap::MIN_LAUNCHES, rng::Rng, shift::shift},
    trace::{
        document::{Key, Session, SessionRow, worst_loss},
        text,
    },
};

/// The width of a bucket as a share of its numbers: a smaller change may hide inside one.
pub(super) const RESOLUTION: f64 = 0.125;

/// Most stretches that a session is cut into, as many as a full run has launches.
const STRETCHES: usize = 10;

/// Share of lost calls from which a session's numbers are doubted, as `--strict` has it.
const MAX_LOSS: f64 = 0.01;

/// What is compared of each row: its name, its share, and the fewest calls of an interval for it to mean something.
const QUANTILES: [(&str, f64, u64); 2] = [("p50", 0.5, 20), ("p99", 0.99, 1000)];

/// What a row is found by in the other session.
type Name<'a> = (&'a str, &'a Key);

pub(super) fn rows(base: &Session, new: &Session, rng: &mut Rng) -> Vec<Found> {
    let losses = [base, new].map(|session| worst_loss(&session.targets).map_or(0.0, |(_, share)| share));
    let lossy = losses.into_iter().fold(0.0, f64::max);
    let (known, others) = (by_name(&base.targets), by_name(&new.targets));
    let (before, after) = (by_interval(base), by_interval(new));
    let mut found = Vec::new();
    for row in &base.targets {
        for quantile in QUANTILES {
            let mut line = described(row, quantile);
            let Some(other) = others.get(&name(row)) else {
                found.push(Found::alone(line, "base"));
                continue;
            };
            line.new = other.histogram().spread_quantile(quantile.1);
            let samples = [(&before, row), (&after, *other)].map(|(intervals, row)| {
                let of = intervals.get(&name(row)).map_or(&[][..], Vec::as_slice);
                stretches(of, quantile)
            });
            let doubt = doubt(row, other, lossy, &samples);
            let shift = shift(&samples[0], &samples[1], rng);
            found.push(Found { row: line, shift, noise: 0.0, doubt });
        }
    }
    for row in new.targets.iter().filter(|row| !known.contains_key(&name(row))) {
        for quantile in QUANTILES {
            let mut line = described(row, quantile);
            (line.base, line.new) = (None, line.base);
            found.push(Found::alone(line, "new"));
        }
    }
    found
}

fn name(row: &SessionRow) -> Name<'_> {
    (&row.row.target, &row.key)
}

fn by_name(rows: &[SessionRow]) -> HashMap<Name<'_>, &SessionRow> {
    rows.iter().map(|row| (name(row), row)).collect()
}

/// Each row's readings, one an interval in which it counted.
fn by_interval(session: &Session) -> HashMap<Name<'_>, Vec<&SessionRow>> {
    let mut rows: HashMap<_, Vec<_>> = HashMap::new();
    for row in session.intervals.iter().flat_map(|interval| &interval.targets) {
        rows.entry(name(row)).or_default().push(row);
    }
    rows
}

/// Logarithms of the quantile, `[stretch][interval]`; intervals with too few calls for it are left out.
fn stretches(intervals: &[&SessionRow], (_, share, fewest): (&str, f64, u64)) -> Vec<Vec<f64>> {
    let read = |row: &&SessionRow| {
        let histogram = row.histogram();
        let value = (histogram.n() >= fewest).then(|| histogram.spread_quantile(share))?;
        value.map(f64::ln).filter(|log| log.is_finite())
    };
    let logs: Vec<f64> = intervals.iter().filter_map(read).collect();
    logs.chunks(logs.len().div_ceil(STRETCHES).max(1)).map(<[f64]>::to_vec).collect()
}

fn described(row: &SessionRow, (quantile, share, _): (&str, f64, u64)) -> Row {
    let key = text::key(row);
    Row {
        experiment: row.row.target.clone(),
        case: if key.is_empty() { "all calls".to_owned() } else { key },
        name: quantile.to_owned(),
        quantity: Quantity::Quantile,
        against: None,
        unit: "ns".to_owned(),
        base: row.histogram().spread_quantile(share),
        new: None,
        ratio: None,
        q: None,
        verdict: Verdict::Inconclusive,
        why: String::new(),
    }
}

fn doubt(
    row: &SessionRow,
    other: &SessionRow,
    lossy: f64,
    samples: &[Vec<Vec<f64>>; 2],
) -> Option<(Verdict, String)> {
    let unsure = |why: String| Some((Verdict::Inconclusive, why));
    if row.row.backend != other.row.backend {
        let why = format!("another mechanism: {}, then {}", row.row.backend, other.row.backend);
        return Some((Verdict::NotComparable, why));
    }
    if row.row.probe_bound || other.row.probe_bound {
        return unsure("probe-bound: the median is under three times the floor".to_owned());
    }
    if lossy > MAX_LOSS {
        return unsure(format!("{:.1} % of the calls were lost in one of the sessions", lossy * 100.0));
    }
    if samples.iter().any(|stretches| stretches.len() < MIN_LAUNCHES) {
        return unsure(format!(
            "fewer than {MIN_LAUNCHES} intervals with enough calls; trace for longer, with -i 1s"
        ));
    }
    None
}
