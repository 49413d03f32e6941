//! From launches to rows: neighbours paired, each side against itself, one verdict a row.

use super::{Live, Row, launch::Launch, plan::Side};
use crate::{
    compare::{FALSE_DISCOVERY_RATE, Verdict, read},
    report::model::LiveRow,
    stats::{
        bootstrap::p_value,
        fdr::benjamini_hochberg,
        quantile::median,
        ratio::{log_ratio, ratio},
        rng::Rng,
    },
    trace::document::SessionRow,
};

/// Where the bootstrap begins: the same launches give the same answer.
const SEED: u64 = 2009;

/// The width of a bucket as a share of its numbers: a smaller change of a live target may hide inside one.
pub const RESOLUTION: f64 = 0.125;

/// What is read from a live target's calls of a launch: its name, its share, and the fewest calls for it to mean
/// something.
const QUANTILES: [(&str, f64, u64); 2] = [("p50", 0.5, 20), ("p99", 0.99, 1000)];

/// Share of lost calls from which a target's row is doubted.
const MAX_LOSS: f64 = 0.01;

/// Numbers of one kind, by pair.
struct Metric {
    name: String,
    samples: [Vec<Option<f64>>; 2],
    threshold: f64,
    doubt: Option<String>,
}

/// The rows of `launches`, A and B of each pair.
#[must_use]
pub fn rows(launches: &[[Launch; 2]], threshold: f64) -> Vec<Row> {
    let metrics = metrics(launches, threshold);
    let rng = &mut Rng::new(SEED);
    let mut p_values = Vec::new();
    let mut rows: Vec<(Row, Metric)> = Vec::new();
    for metric in metrics {
        let [a, b] = &metric.samples;
        let pairs: Vec<Vec<f64>> =
            a.iter().zip(b).filter_map(|(&a, &b)| Some(vec![log_ratio(b, a)?])).collect();
        let row = Row {
            name: metric.name.clone(),
            unit: "ns".to_owned(),
            a: middle(a),
            b: middle(b),
            ratio: ratio(&pairs, rng),
            noise: ratio(&against_itself(&metric.samples), rng).map(|noise| noise.ci95),
            q: None,
            verdict: Verdict::Inconclusive,
            why: "fewer than five pairs of launches, so no interval".to_owned(),
            samples_a: a.clone(),
            samples_b: b.clone(),
        };
        p_values.push(p_value(&pairs).filter(|_| metric.doubt.is_none()));
        rows.push((row, metric));
    }
    let judged: Vec<f64> = p_values.iter().flatten().copied().collect();
    let mut q_values = benjamini_hochberg(&judged).into_iter();
    let q_values = p_values.into_iter().map(|p| p.and_then(|_| q_values.next()));
    rows.into_iter().zip(q_values).map(|((row, metric), q)| verdict(row, metric, q)).collect()
}

fn verdict(mut row: Row, metric: Metric, q: Option<f64>) -> Row {
    row.q = q;
    if let Some(doubt) = metric.doubt {
        row.why = doubt;
    } else if let (Some(ratio), Some(q)) = (row.ratio, q) {
        let noise =
            row.noise.map_or(0.0, |ends| ends.map(|end| end.ln().abs()).into_iter().fold(0.0, f64::max));
        (row.verdict, row.why) = read(ratio, q, noise.exp(), metric.threshold);
    }
    row
}

fn middle(samples: &[Option<f64>]) -> Option<f64> {
    median(&samples.iter().flatten().copied().collect::<Vec<_>>())
}

/// Neighbouring launches of one side over each other, either on top in turn so that a drift cancels out.
fn against_itself(sides: &[Vec<Option<f64>>; 2]) -> Vec<Vec<f64>> {
    let mut logs = Vec::new();
    for samples in sides {
        for (at, two) in samples.chunks_exact(2).enumerate() {
            let log = log_ratio(two[1], two[0]);
            logs.extend(log.map(|log| vec![if at % 2 == 0 { log } else { -log }]));
        }
    }
    logs
}

fn metrics(launches: &[[Launch; 2]], threshold: f64) -> Vec<Metric> {
    let each = |of: &dyn Fn(&Launch) -> Option<f64>| {
        Side::BOTH.map(|side| launches.iter().map(|pair| of(&pair[side.index()])).collect::<Vec<_>>())
    };
    let ns = |time: std::time::Duration| Some(time.as_nanos() as f64).filter(|ns| *ns > 0.0);
    let mut metrics = Vec::new();
    let mut add = |name: &str, samples| {
        metrics.push(Metric { name: name.to_owned(), samples, threshold, doubt: None });
    };
    add("wall time", each(&|launch| ns(launch.wall)));
    add("CPU time", each(&|launch| ns(launch.cpu)));
    if launches.iter().flatten().any(|launch| launch.load.is_some()) {
        add("wall time of the load", each(&|launch| ns(launch.load?[0])));
        add("CPU time of the load", each(&|launch| ns(launch.load?[1])));
    }
    let targets = launches.first().map_or(0, |pair| pair[0].live.len());
    let live = live(launches);
    for (target, live) in (0..targets).zip(&live) {
        for (quantile, share, fewest) in QUANTILES {
            let read = |launch: &Launch| {
                let histogram = launch.live.get(target)?.histogram();
                (histogram.n() >= fewest).then(|| histogram.spread_quantile(share))?
            };
            let samples = each(&read);
            // Nobody misses a tail of targets that are seldom called.
            if quantile == "p99" && samples.iter().flatten().all(Option::is_none) {
                continue;
            }
            let few = samples.iter().flatten().any(Option::is_none).then(|| {
                format!("a launch has fewer than {fewest} calls, and its {quantile} would say nothing")
            });
            metrics.push(Metric {
                name: format!("{} {quantile}", live.a.target),
                samples,
                threshold: threshold.max(RESOLUTION),
                doubt: few.or_else(|| doubt(live)),
            });
        }
    }
    metrics
}

fn doubt(live: &Live) -> Option<String> {
    let rows = [&live.a, &live.b];
    if live.a.backend != live.b.backend {
        return Some(format!("another mechanism: {}, then {}", live.a.backend, live.b.backend));
    }
    if rows.iter().any(|row| row.probe_bound) {
        return Some("probe-bound: the median is under three times the floor".to_owned());
    }
    let lossy = rows.iter().any(|row| {
        let lost = [row.unmatched, row.dropped, row.missed.unwrap_or(0), row.clock_regressions];
        let lost = lost.into_iter().fold(0, u64::saturating_add);
        lost as f64 > MAX_LOSS * row.n.saturating_add(lost) as f64
    });
    lossy.then(|| "more than 1 % of the calls were lost".to_owned())
}

/// Each target's calls of all launches of a side as one row.
#[must_use]
pub fn live(launches: &[[Launch; 2]]) -> Vec<Live> {
    let targets = launches.first().map_or(0, |pair| pair[0].live.len());
    let of = |side: Side, target: usize| -> Option<LiveRow> {
        let mut rows = launches.iter().filter_map(|pair| pair[side.index()].live.get(target));
        let first = rows.next()?;
        Some(rows.fold(first.clone(), |sum, row| added(&sum, row)).row)
    };
    (0..targets)
        .filter_map(|target| Some(Live { a: of(Side::A, target)?, b: of(Side::B, target)? }))
        .collect()
}

fn added(sum: &SessionRow, row: &SessionRow) -> SessionRow {
    let mut histogram = sum.histogram();
    histogram.merge(&row.histogram());
    let mut both = sum.with(&histogram);
    let (all, one) = (&mut both.row, &row.row);
    for (total, count) in [
        (&mut all.in_flight, one.in_flight),
        (&mut all.unmatched, one.unmatched),
        (&mut all.dropped, one.dropped),
        (&mut all.clock_regressions, one.clock_regressions),
    ] {
        *total = total.saturating_add(count);
    }
    all.missed = all.missed.zip(one.missed).map(|(total, count)| total.saturating_add(count));
    both
}

/// Share of each side's wall time that the probes added by themselves.
#[must_use]
pub fn probes_added(launches: &[[Launch; 2]], live: &[Live]) -> Option<[f64; 2]> {
    let known = live.iter().any(|live| live.a.added_ns.is_some());
    let share = |side: Side| {
        let of_launch = |pair: &[Launch; 2]| {
            let [command, load] = [
                pair[side.index()].wall,
                pair[side.index()].load.map_or_else(Default::default, |load| load[0]),
            ];
            command.max(load).as_nanos() as f64
        };
        let wall: f64 = launches.iter().map(of_launch).sum();
        let rows = live.iter().map(|live| if side == Side::A { &live.a } else { &live.b });
        let cost = |row: &LiveRow| row.n as f64 * row.added_ns.unwrap_or(0).max(0) as f64;
        rows.map(cost).sum::<f64>() / wall.max(1.0)
    };
    known.then(|| Side::BOTH.map(share))
}

/// How the verdicts were made, in a line.
#[must_use]
pub fn method(threshold: f64) -> String {
    format!(
        "launched A B B A, neighbours paired; smallest change of interest {} % ({} % for live targets, whose buckets are as \
         wide), false discoveries held at {} % over all rows",
        (threshold * 1000.0).round() / 10.0,
        (threshold.max(RESOLUTION) * 1000.0).round() / 10.0,
        FALSE_DISCOVERY_RATE * 100.0
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Pairs whose wall times are given, ns.
    fn launches(times: &[(u64, u64)]) -> Vec<[Launch; 2]> {
        let launch = |ns: u64| Launch {
            wall: Duration::from_nanos(ns),
            cpu: Duration::from_nanos(1000),
            ..Launch::default()
        };
        times.iter().map(|&(a, b)| [launch(a), launch(b)]).collect()
    }

    fn wall(times: &[(u64, u64)], threshold: f64) -> Row {
        rows(&launches(times), threshold).into_iter().find(|row| row.name == "wall time").unwrap()
    }

    #[test]
    fn a_known_ratio_is_found_whatever_drifts() {
        // Each launch takes 10 % longer than the one before, in the order A B B A; B takes twice as long.
        let mut time = 1000.0_f64;
        let mut times = vec![(0, 0); 10];
        for (at, side) in super::super::plan::order(10).enumerate() {
            let ns = (if side == Side::A { time } else { 2.0 * time }) as u64;
            let pair = &mut times[at / 2];
            if side == Side::A {
                pair.0 = ns
            } else {
                pair.1 = ns
            }
            time *= 1.1;
        }
        let row = wall(&times, 0.05);
        let found = row.ratio.unwrap();
        // Neighbours differ by a tenth, up and down in turn: the median of even many lies between.
        assert!((found.value / 2.0 - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(row.verdict, Verdict::Regression, "{}", row.why);
    }

    #[test]
    fn equal_sides_are_no_different_and_noise_is_told() {
        let times: Vec<(u64, u64)> = (0..10).map(|at| (1000 + at % 3, 1000 + (at + 1) % 3)).collect();
        let row = wall(&times, 0.05);
        assert_eq!(row.verdict, Verdict::NoDifference, "{}", row.why);
        let [lo, hi] = row.noise.unwrap();
        assert!(lo > 0.99 && hi < 1.01, "{lo} to {hi}");
    }

    #[test]
    fn a_difference_inside_the_noise_is_none() {
        // Each side is sometimes twice as slow as itself, in the same pairs, and B by 8 % more.
        let times: Vec<(u64, u64)> =
            (0..10).map(|at| if at / 2 % 2 == 0 { (1000, 1080) } else { (2000, 2160) }).collect();
        let mixed: Vec<(u64, u64)> = times
            .iter()
            .enumerate()
            .map(|(at, &(a, b))| if at % 2 == 0 { (a, b) } else { (2 * a, 2 * b) })
            .collect();
        let row = wall(&mixed, 0.05);
        assert_eq!(row.verdict, Verdict::Inconclusive);
        assert!(row.why.contains("inside the noise"), "{}", row.why);
    }

    #[test]
    fn four_pairs_give_no_verdict() {
        let row = wall(&[(1, 9); 4], 0.05);
        assert_eq!((row.ratio, row.q, row.verdict), (None, None, Verdict::Inconclusive));
        assert!(rows(&[], 0.05).iter().all(|row| row.a.is_none()));
    }
}
