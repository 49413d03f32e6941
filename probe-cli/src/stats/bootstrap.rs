//! Intervals for a median over launches, bootstrapped at two levels.
//!
//! The outer level draws launches with replacement. The inner level redraws the blocks of a drawn launch in
//! moving blocks, so that neighbours in time stay neighbours and their correlation is kept.
//!
//! The medians of the launches already differ by what the blocks add, so redrawing blocks as well would count
//! that twice. The launches are therefore first drawn together until their variance and that of the inner level
//! add up to what was seen (Davison and Hinkley, Bootstrap Methods and their Application, 1997, 3.8).
//!
//! With five or ten launches the plain percentile interval is too short. Its levels are therefore widened as
//! Hesterberg proposes (What Teachers Should Know About the Bootstrap, 2014, "expanded percentile"): from
//! 2.5 % to the normal probability of `-t(n-1) * sqrt(n / (n-1))`. With five launches that reaches the ends
//! of the bootstrap distribution.

use super::distribution::{normal_cdf, student_critical};
use super::quantile::{median, median_in_place, quantile};
use super::rng::Rng;

/// Fewest launches for which an interval is given: the range of four launches covers their median only
/// 87.5 % of the time, so no resampling of four can be a 95 % interval.
pub const MIN_LAUNCHES: usize = 5;

/// Draws of the outer level.
const RESAMPLES: usize = 4000;

/// Draws of the inner level kept for each launch; the outer level picks among them.
const INNER: usize = 256;

/// A point estimate and, with enough launches, its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Median over launches of the medians over blocks.
    pub value: f64,
    /// `None` below [`MIN_LAUNCHES`].
    pub ci95: Option<[f64; 2]>,
    /// Launches with at least one sample.
    pub launches: usize,
}

/// Median over launches of the medians over blocks; `None` without any sample.
///
/// Samples that are not finite are left out. The result does not depend on the order of launches.
#[must_use]
pub fn estimate(launches: &[Vec<f64>], rng: &mut Rng) -> Option<Estimate> {
    let mut launches: Vec<Vec<f64>> = launches
        .iter()
        .map(|blocks| blocks.iter().copied().filter(|sample| sample.is_finite()).collect())
        .filter(|blocks: &Vec<f64>| !blocks.is_empty())
        .collect();
    // One order whatever order they came in, so that the same draws meet the same launches.
    launches.sort_by(|a, b| a.iter().map(Key).cmp(b.iter().map(Key)));
    let value = median(&launch_medians(&launches))?;
    let ci95 = (launches.len() >= MIN_LAUNCHES).then(|| interval(&launches, value, rng));
    Some(Estimate { value, ci95, launches: launches.len() })
}

/// The median of each launch that has a sample.
#[must_use]
pub fn launch_medians(launches: &[Vec<f64>]) -> Vec<f64> {
    launches.iter().filter_map(|blocks| median(blocks)).collect()
}

/// Two-sided p-value of "the median is 0": Student's t on the medians of the launches; `None` below
/// [`MIN_LAUNCHES`].
///
/// A bootstrap of five launches cannot give a p-value under 0.03, too coarse to control many rows with.
#[must_use]
pub fn p_value(launches: &[Vec<f64>]) -> Option<f64> {
    let medians = launch_medians(launches);
    if medians.len() < MIN_LAUNCHES {
        return None;
    }
    let n = medians.len() as f64;
    let mean = medians.iter().sum::<f64>() / n;
    let error = (variance(&medians) / n).sqrt();
    Some(match (mean == 0.0, error == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => super::distribution::student_p(mean / error, medians.len() as u32 - 1),
    })
}

/// Medians over launches of both levels redrawn, in no order; `value` is that of the samples themselves.
pub(super) fn redrawn(launches: &[Vec<f64>], value: f64, rng: &mut Rng) -> Vec<f64> {
    let inner = inner_level(launches, value, rng);
    let mut draw = vec![0.0; launches.len()];
    let median_of_a_draw = |_| {
        for slot in &mut draw {
            let launch = &inner[rng.below(inner.len())];
            *slot = launch[rng.below(launch.len())];
        }
        median_in_place(&mut draw)
    };
    (0..RESAMPLES).filter_map(median_of_a_draw).collect()
}

fn interval(launches: &[Vec<f64>], value: f64, rng: &mut Rng) -> [f64; 2] {
    let mut medians = redrawn(launches, value, rng);
    medians.sort_unstable_by(f64::total_cmp);
    let level = tail_level(launches.len(), launches.len() as u32 - 1);
    let end = |p| quantile(&medians, p).unwrap_or(value);
    [end(level).min(value), end(1.0 - level).max(value)]
}

/// Redrawn medians of every launch, around centres drawn together towards `value`.
fn inner_level(launches: &[Vec<f64>], value: f64, rng: &mut Rng) -> Vec<Vec<f64>> {
    let centres = launch_medians(launches);
    let mut draw = Vec::new();
    let mut inner: Vec<Vec<f64>> = launches
        .iter()
        .map(|blocks| (0..INNER).filter_map(|_| moving_blocks_median(blocks, &mut draw, rng)).collect())
        .collect();
    let within = inner.iter().map(|medians| variance(medians)).sum::<f64>() / inner.len() as f64;
    let seen = variance(&centres);
    let spread = if seen > within { ((seen - within) / seen).sqrt() } else { 0.0 };
    for (medians, centre) in inner.iter_mut().zip(&centres) {
        // What is left of the distance is subtracted, so that equal launches stay exactly where they are.
        let shift = (centre - value) * (1.0 - spread);
        medians.iter_mut().for_each(|median| *median -= shift);
    }
    inner
}

/// Unbiased; 0 for fewer than two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

/// The quantile level that takes the place of 2.5 % with `n` units and so many degrees of freedom.
pub(super) fn tail_level(n: usize, freedom: u32) -> f64 {
    normal_cdf(-student_critical(0.05, freedom) * (n as f64 / (n as f64 - 1.0)).sqrt())
}

/// The median of one redrawing of `blocks` in overlapping runs of about the cube root of their number.
fn moving_blocks_median(blocks: &[f64], draw: &mut Vec<f64>, rng: &mut Rng) -> Option<f64> {
    let run = (blocks.len() as f64).cbrt().ceil() as usize;
    draw.clear();
    while draw.len() < blocks.len() {
        let start = rng.below(blocks.len() - run + 1);
        draw.extend_from_slice(&blocks[start..start + run]);
    }
    draw.truncate(blocks.len());
    median_in_place(draw)
}

/// A sample with a total order.
#[derive(PartialEq)]
struct Key<'a>(&'a f64);

impl Eq for Key<'_> {}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(other.0)
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_widens_with_few_launches() {
        // By hand: t(4) = 2.776, times sqrt(5/4) = 3.104, whose lower tail is 0.00095.
        assert!((tail_level(5, 4) - 0.000_95).abs() < 2e-5);
        assert!((tail_level(10, 9) - 0.008_6).abs() < 2e-4);
        assert!((tail_level(2000, 1999) - 0.025).abs() < 2e-4);
    }

    #[test]
    fn four_launches_give_a_value_and_no_interval() {
        let launches = vec![vec![1.0], vec![2.0], vec![4.0], vec![8.0]];
        let found = estimate(&launches, &mut Rng::new(1)).unwrap();
        assert_eq!(found, Estimate { value: 3.0, ci95: None, launches: 4 });
        assert_eq!(p_value(&launches), None);
    }

    #[test]
    fn launches_that_agree_leave_no_doubt() {
        let found = estimate(&vec![vec![7.0; 9]; 10], &mut Rng::new(1)).unwrap();
        assert_eq!(found, Estimate { value: 7.0, ci95: Some([7.0, 7.0]), launches: 10 });
        assert_eq!(p_value(&vec![vec![7.0; 9]; 10]), Some(0.0));
        assert_eq!(p_value(&vec![vec![0.0; 9]; 10]), Some(1.0));
    }

    #[test]
    fn p_values_are_those_of_the_t_test() {
        // Medians 1 2 3 4 5: mean 3, sd sqrt(2.5), t = 3 / sqrt(0.5) = 4.243, df 4.
        let launches: Vec<Vec<f64>> = (1..=5).map(|n| vec![f64::from(n)]).collect();
        assert!((p_value(&launches).unwrap() - 0.013_235).abs() < 1e-5);
    }
}
