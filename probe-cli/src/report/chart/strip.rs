//! What a row draws: an interval, a distribution in quantiles, a distribution in buckets, and the axis above them.

use maud::{Markup, html};

use super::Axis;
use crate::{report::number, stats::histogram::Bucket};

/// Marks on an axis at most.
const MARKS: usize = 7;
/// Middle and height of a strip: it fills its cell, so that bands run on from row to row.
const MIDDLE: &str = "50%";
const HEIGHT: &str = "100%";

fn pct(value: f64) -> String {
    format!("{value:.2}%")
}

/// The head of a column of strips: marks with their labels, and what lies left and right.
pub(crate) fn scale(axis: Axis, label: impl Fn(f64) -> String, sides: Option<[&str; 2]>) -> Markup {
    html! {
        svg.strip.scale width="100%" height=(if sides.is_some() { "34" } else { "20" }) aria-hidden="true" {
            @if let Some([left, right]) = sides {
                text.side x="0%" y="11" text-anchor="start" { "◂ " (left) }
                text.side x="100%" y="11" text-anchor="end" { (right) " ▸" }
            }
            @for tick in axis.ticks(MARKS) {
                @let at = axis.at(tick);
                @let anchor = if at < 5.0 { "start" } else if at > 95.0 { "end" } else { "middle" };
                text.tick x=(pct(at)) y=(if sides.is_some() { "29" } else { "15" }) text-anchor=(anchor) {
                    (label(tick))
                }
            }
        }
    }
}

/// Hairlines of the marks, behind what a strip draws.
fn grid(axis: Axis) -> Markup {
    html! {
        @for tick in axis.ticks(MARKS) {
            line.grid x1=(pct(axis.at(tick))) x2=(pct(axis.at(tick))) y1="0" y2=(HEIGHT) {}
        }
    }
}

/// A ratio with its interval, over the noise of the same run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Estimate; none for the row that all others are compared with.
    pub(crate) value: Option<f64>,
    /// 95 % interval.
    pub(crate) ci95: Option<[f64; 2]>,
    /// The A/A interval.
    pub(crate) noise: Option<[f64; 2]>,
    /// Smallest effect of interest, as a share of one.
    pub(crate) smallest_effect: Option<f64>,
}

/// Draws an [`Interval`] around the line of no difference; `words` say the same.
pub(crate) fn interval(axis: Axis, row: Interval, words: &str) -> Markup {
    let side = match row.ci95 {
        // As the words have it: on two decimals.
        Some([_, hi]) if number::prints_above_one(1.0 / hi) => "below",
        Some([lo, _]) if number::prints_above_one(lo) => "above",
        _ => "level",
    };
    html! {
        svg.strip width="100%" height=(HEIGHT) role="img" {
            title { (words) }
            @if let Some([lo, hi]) = row.noise {
                rect.noise x=(pct(axis.at(lo))) y="0" width=(pct(axis.at(hi) - axis.at(lo))) height=(HEIGHT) {}
            }
            (grid(axis))
            @if let Some(share) = row.smallest_effect {
                @for edge in [1.0 - share, 1.0 + share] {
                    line.effect x1=(pct(axis.at(edge))) x2=(pct(axis.at(edge))) y1="0" y2=(HEIGHT) {}
                }
            }
            line.one x1=(pct(axis.at(1.0))) x2=(pct(axis.at(1.0))) y1="0" y2=(HEIGHT) {}
            g class=(side) {
                @if let Some([lo, hi]) = row.ci95 {
                    line.range x1=(pct(axis.at(lo))) x2=(pct(axis.at(hi))) y1=(MIDDLE) y2=(MIDDLE) {}
                    @for end in [lo, hi] {
                        line.end x1=(pct(axis.at(end))) x2=(pct(axis.at(end))) y1="32%" y2="68%" {}
                    }
                }
                @if let Some(value) = row.value {
                    circle.dot cx=(pct(axis.at(value))) cy=(MIDDLE) r="4.5" {}
                }
            }
        }
    }
}

/// Times of one thing: a middle, how far it reaches, and where its instrument stops being able to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    /// Median.
    pub(crate) middle: Option<f64>,
    /// Interval of the median, or median to 90th percentile.
    pub(crate) near: Option<[f64; 2]>,
    /// 90th to 99th percentile.
    pub(crate) far: Option<[f64; 2]>,
    /// The shortest time the probe can report.
    pub(crate) floor: Option<f64>,
}

/// Draws a [`Spread`] in the colour of `class`.
pub(crate) fn spread(axis: Axis, row: Spread, class: &str, words: &str) -> Markup {
    html! {
        svg.strip width="100%" height=(HEIGHT) role="img" {
            title { (words) }
            @if let Some(floor) = row.floor {
                rect.bound x="0%" y="0" width=(pct(axis.at(3.0 * floor))) height=(HEIGHT) {}
                line.floor x1=(pct(axis.at(floor))) x2=(pct(axis.at(floor))) y1="0" y2=(HEIGHT) {}
            }
            (grid(axis))
            g class=(class) {
                @if let Some([lo, hi]) = row.far {
                    line.far x1=(pct(axis.at(lo))) x2=(pct(axis.at(hi))) y1=(MIDDLE) y2=(MIDDLE) {}
                }
                @if let Some([lo, hi]) = row.near {
                    line.near x1=(pct(axis.at(lo))) x2=(pct(axis.at(hi))) y1=(MIDDLE) y2=(MIDDLE) {}
                }
                @if let Some(middle) = row.middle {
                    circle.dot cx=(pct(axis.at(middle))) cy=(MIDDLE) r="4.5" {}
                }
            }
        }
    }
}

/// A distribution as one row of a heat map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heat<'a> {
    /// Sparse, in order.
    pub(crate) buckets: &'a [Bucket],
    /// Median.
    pub(crate) middle: Option<f64>,
    /// The shortest time the probe can report.
    pub(crate) floor: Option<f64>,
}

/// Draws a [`Heat`]: a cell a bucket, the fuller the stronger. The scale is the row's own, so that rows with few
/// calls show their shape as well.
pub(crate) fn heat(axis: Axis, row: Heat<'_>, words: &str) -> Markup {
    let fullest = row.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1) as f64;
    html! {
        svg.strip.heat width="100%" height=(HEIGHT) role="img" {
            title { (words) }
            (grid(axis))
            @for bucket in row.buckets {
                @let (from, to) = (axis.at(bucket.lo.max(1) as f64), axis.at(bucket.hi.max(2) as f64));
                // The square root shows the tail without hiding the peak.
                rect.cell x=(pct(from)) y="12%" width=(pct((to - from).max(0.3))) height="76%"
                    fill-opacity=(format!("{:.2}", 0.08 + 0.92 * (bucket.count as f64 / fullest).sqrt())) {}
            }
            @if let Some(floor) = row.floor {
                line.floor x1=(pct(axis.at(floor))) x2=(pct(axis.at(floor))) y1="0" y2=(HEIGHT) {}
            }
            @if let Some(middle) = row.middle {
                line.median x1=(pct(axis.at(middle))) x2=(pct(axis.at(middle))) y1="0" y2=(HEIGHT) {}
            }
        }
    }
}
