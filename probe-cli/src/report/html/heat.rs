//! Heat maps: sizes of calls by their latency, and lock waits and holds by tasks.

use maud::{Markup, html};

use super::{duration, live::target};
use crate::{
    report::{
        chart::{self, Axis, Heat},
        model::{ExperimentReport, LiveRow, LockRow, Quantiles},
        number,
        text::safe,
    },
    stats::histogram::Bucket,
};

pub(super) fn write(report: &ExperimentReport) -> Markup {
    html! {
        (sizes(&report.live))
        (locks(&report.locks))
    }
}

fn axis<'a>(buckets: impl Iterator<Item = &'a Bucket>) -> Axis {
    let ends: Vec<f64> =
        buckets.flat_map(|bucket| [bucket.lo.max(1) as f64, bucket.hi.min(1 << 60) as f64]).collect();
    let least = ends.first().map_or([1.0, 10.0], |&end| [end, end * 1.5]);
    Axis::around(ends, least)
}

fn sizes(rows: &[LiveRow]) -> Markup {
    let drawn: Vec<&LiveRow> = rows.iter().filter(|row| !row.buckets.is_empty()).collect();
    let axis = axis(drawn.iter().flat_map(|row| &row.buckets));
    let mut targets: Vec<&str> = Vec::new();
    for row in &drawn {
        if !targets.contains(&row.target.as_str()) {
            targets.push(&row.target);
        }
    }
    html! {
        @if !drawn.is_empty() {
            h3 { "Size and latency" }
            p.aside { "The stronger the cell, the more calls of the row took so long; the line is the median, the red one the probe's floor." }
        }
        @for target in targets {
            @let mut rows: Vec<&LiveRow> = drawn.iter().copied().filter(|row| row.target == target).collect();
            @let () = rows.sort_by_key(|row| (row.size_lo, row.threads));
            table.chart {
                caption { b { (safe(target)) } }
                thead { tr {
                    th scope="col" { "calls" }
                    th.n scope="col" { "n" }
                    th.n scope="col" { "median" }
                    th.plot scope="col" { (chart::scale(axis, duration, None)) }
                } }
                tbody { @for row in rows { (size(row, axis)) } }
            }
        }
    }
}

fn size(row: &LiveRow, axis: Axis) -> Markup {
    let ns = |value: Option<u64>| value.map_or_else(|| number::NONE.to_owned(), number::whole_ns);
    let words = format!(
        "{}: half of {} calls within {}, 99 % within {}",
        target(row),
        number::count(row.n),
        ns(row.p50_ns),
        ns(row.p99_ns)
    );
    let name = target(row);
    let size = name.rsplit_once(", ").map_or("any size", |(_, size)| size);
    html! {
        tr {
            th scope="row" {
                (size)
                @if row.oversubscribed { " " span.badge.doubt { "oversubscribed" } }
                @if row.threads > 0 { small { (number::counted(row.threads as usize, "task", "tasks")) } }
            }
            td.n { (number::count(row.n)) }
            td.n { (ns(row.p50_ns)) }
            td.plot {
                (chart::heat(axis, Heat {
                    buckets: &row.buckets,
                    middle: row.p50_ns.map(|ns| ns as f64),
                    floor: row.floor_ns.map(|ns| ns as f64),
                }, &words))
            }
        }
    }
}

fn buckets(triples: &[[u64; 3]]) -> Vec<Bucket> {
    triples.iter().map(|&[lo, hi, count]| Bucket { lo, hi, count }).collect()
}

fn locks(rows: &[LockRow]) -> Markup {
    let all: Vec<Bucket> = rows
        .iter()
        .flat_map(|row| buckets(&row.wait_buckets).into_iter().chain(buckets(&row.hold_buckets)))
        .collect();
    let axis = axis(all.iter());
    html! {
        @if !rows.is_empty() {
            h3 { "Lock waits and holds" }
            p.aside {
                "Time from asking for the lock to holding it, and from holding it to letting it go. With more tasks than
                CPUs a wait is mostly the preemption of the holder."
            }
            table.chart.locks {
                caption { "Lock waits and holds by case, variant and tasks" }
                thead { tr {
                    th scope="col" { "variant" }
                    th.n scope="col" { "taken" }
                    th.n scope="col" { "wait p50 · p99" }
                    th.plot scope="col" { "wait" (chart::scale(axis, duration, None)) }
                    th.n scope="col" { "hold p50 · p99" }
                    th.plot scope="col" { "hold" (chart::scale(axis, duration, None)) }
                } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" {
                                (safe(&row.variant))
                                small { (safe(&row.case)) ", " (number::counted(row.threads as usize, "task", "tasks")) }
                            }
                            td.n { (number::count(row.n)) }
                            (times(row, "wait", &row.wait, &row.wait_buckets, axis))
                            (times(row, "hold", &row.hold, &row.hold_buckets, axis))
                        }
                    }
                }
            }
        }
    }
}

fn times(row: &LockRow, what: &str, quantiles: &Quantiles, triples: &[[u64; 3]], axis: Axis) -> Markup {
    let (half, most) = (number::whole_ns(quantiles.p50_ns), number::whole_ns(quantiles.p99_ns));
    let words = format!("{} in {}: {what} p50 {half}, p99 {most}", safe(&row.variant), safe(&row.case));
    html! {
        td.n { (half) " · " (most) }
        td.plot {
            (chart::heat(axis, Heat {
                buckets: &buckets(triples), middle: Some(quantiles.p50_ns as f64), floor: None,
            }, &words))
        }
    }
}
