//! What one factor of a factorial does on its own.

use super::ratio::{Samples, log_ratio, ratio};
use super::rng::Rng;
use crate::report::model::Ratio;

/// Per block: the mean, over the settings of the other factors, of the logarithm of time at the level over
/// time at the reference.
///
/// `pairs` holds, for each setting of the other factors, the samples at the level and at the reference. Pairs
/// that a rule dropped are left out of their block's mean; comparing within a setting keeps the mean fair then.
#[must_use]
pub fn main_effect_logs(pairs: &[(&Samples, &Samples)]) -> Vec<Vec<f64>> {
    let launches = pairs.iter().map(|(level, reference)| level.len().min(reference.len())).max().unwrap_or(0);
    (0..launches)
        .map(|launch| {
            let blocks = pairs.iter().filter_map(|(level, _)| level.get(launch).map(Vec::len)).max();
            (0..blocks.unwrap_or(0)).filter_map(|block| block_mean(pairs, launch, block)).collect()
        })
        .collect()
}

/// The main effect as a ratio of times with its interval; `None` where there are too few launches for one.
#[must_use]
pub fn main_effect(pairs: &[(&Samples, &Samples)], rng: &mut Rng) -> Option<Ratio> {
    ratio(&main_effect_logs(pairs), rng)
}

fn block_mean(pairs: &[(&Samples, &Samples)], launch: usize, block: usize) -> Option<f64> {
    let cell = |samples: &Samples| samples.get(launch)?.get(block).copied().flatten();
    let logs: Vec<f64> =
        pairs.iter().filter_map(|(level, reference)| log_ratio(cell(level), cell(reference))).collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(time: f64) -> Vec<Vec<Option<f64>>> {
        vec![vec![Some(time); 3]; 5]
    }

    #[test]
    fn the_mean_is_geometric_over_the_settings_of_the_other_factors() {
        // x2 with the other factor off, x8 with it on: sqrt(2 * 8) = 4.
        let (off, off_ref, on, on_ref) = (constant(2.0), constant(1.0), constant(80.0), constant(10.0));
        let found = main_effect(&[(&off, &off_ref), (&on, &on_ref)], &mut Rng::new(1)).unwrap();
        assert!((found.value - 4.0).abs() < 1e-12);
        assert!((found.ci95[0] - 4.0).abs() < 1e-12 && (found.ci95[1] - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_dropped_pair_leaves_the_others_of_its_block() {
        let (level, reference) = (constant(3.0), constant(1.0));
        let mut spoiled = constant(3.0);
        spoiled[0][1] = None;
        let logs = main_effect_logs(&[(&level, &reference), (&spoiled, &reference)]);
        assert_eq!(logs[0].len(), 3);
        assert!(logs.iter().flatten().all(|log| (log - 3_f64.ln()).abs() < 1e-12));
        assert_eq!(main_effect(&[], &mut Rng::new(1)), None);
    }
}
