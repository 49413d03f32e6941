//! A variant against the baseline: ratios of times, paired by block.

use super::bootstrap::{self, Estimate};
use super::rng::Rng;
use crate::report::model::Ratio;

/// Samples of one variant, `[launch][block]`; `None` where a rule dropped the batch.
pub type Samples = [Vec<Option<f64>>];

/// The logarithm of `ours / theirs`; `None` unless both are there, finite and positive.
#[must_use]
pub fn log_ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    let log = |time: Option<f64>| time.filter(|time| time.is_finite() && *time > 0.0).map(f64::ln);
    Some(log(ours)? - log(theirs)?)
}

/// [`log_ratio`] of `variant` to `baseline` for every block that has it.
///
/// Launches or blocks that only one of the two has are left out.
#[must_use]
pub fn paired_logs(variant: &Samples, baseline: &Samples) -> Vec<Vec<f64>> {
    let launch = |(ours, theirs): (&Vec<Option<f64>>, &Vec<Option<f64>>)| {
        ours.iter().zip(theirs).filter_map(|(&our, &their)| log_ratio(our, their)).collect()
    };
    variant.iter().zip(baseline).map(launch).collect()
}

/// The ratio behind paired logarithms, with its interval; `None` where there are too few launches for one.
#[must_use]
pub fn ratio(logs: &[Vec<f64>], rng: &mut Rng) -> Option<Ratio> {
    let Estimate { value, ci95, .. } = bootstrap::estimate(logs, rng)?;
    let [lo, hi] = ci95?;
    // Logarithms of finite times may differ by more than a double's exponent holds, here or in the inverse.
    let holds = [lo, hi].iter().all(|log| log.abs() < MAX_LOG);
    holds.then(|| Ratio { value: value.exp(), ci95: [lo.exp(), hi.exp()] })
}

/// Below this the exponential of a number and of its negative are both normal doubles.
const MAX_LOG: f64 = 700.0;

/// The ratio of the inverse quantity: of rates, where `ratio` is of times.
#[must_use]
pub fn inverse(ratio: Ratio) -> Ratio {
    Ratio { value: 1.0 / ratio.value, ci95: [1.0 / ratio.ci95[1], 1.0 / ratio.ci95[0]] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_made_inside_a_block_and_only_of_two_samples() {
        let ours = vec![vec![Some(2.0), None, Some(8.0)], vec![Some(1.0)]];
        let theirs = vec![vec![Some(1.0), Some(1.0), Some(2.0)], vec![Some(0.0)]];
        let logs = paired_logs(&ours, &theirs);
        assert_eq!(logs.len(), 2);
        assert_eq!(logs[0].len(), 2);
        assert!((logs[0][0] - 2_f64.ln()).abs() < 1e-15);
        assert!((logs[0][1] - 4_f64.ln()).abs() < 1e-15);
        assert!(logs[1].is_empty(), "a time of zero has no logarithm");
    }

    #[test]
    fn a_constant_factor_is_found_exactly() {
        let base = vec![vec![Some(3.0), Some(5.0)]; 5];
        let twice = vec![vec![Some(6.0), Some(10.0)]; 5];
        let found = ratio(&paired_logs(&twice, &base), &mut Rng::new(3)).unwrap();
        for end in [found.value, found.ci95[0], found.ci95[1]] {
            assert!((end - 2.0).abs() < 1e-12);
        }
        let back = inverse(found);
        assert!((back.value - 0.5).abs() < 1e-12 && back.ci95[0] <= back.ci95[1]);
    }

    #[test]
    fn a_ratio_that_has_no_inverse_is_none() {
        let (tiny, large) = (vec![vec![Some(1e-308)]; 5], vec![vec![Some(1e300)]; 5]);
        assert_eq!(ratio(&paired_logs(&tiny, &large), &mut Rng::new(3)), None);
        assert_eq!(ratio(&paired_logs(&large, &tiny), &mut Rng::new(3)), None);
    }
}
