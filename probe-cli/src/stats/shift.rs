//! Two independent runs: how far apart they are, from the medians of their launches.
//!
//! Launches of two runs have nothing to pair them by, so the difference is that of two samples with variances of
//! their own (Welch, 1947), with the degrees of freedom rounded down, which only widens the interval.

use super::bootstrap::MIN_LAUNCHES;
use super::distribution::{student_critical, student_p};

/// A difference of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// New minus base.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Two-sided p-value of "there is none".
    pub p: f64,
}

/// The shift from `base` to `new`, one number a launch; `None` where either has fewer than [`MIN_LAUNCHES`], or a
/// number that is not finite.
#[must_use]
pub fn shift(base: &[f64], new: &[f64]) -> Option<Shift> {
    let (base, new) = (Sample::of(base)?, Sample::of(new)?);
    let value = new.mean - base.mean;
    let (base_error, new_error) = (base.variance / base.n, new.variance / new.n);
    let error = base_error + new_error;
    if error == 0.0 {
        return Some(Shift { value, ci95: [value; 2], p: if value == 0.0 { 1.0 } else { 0.0 } });
    }
    let freedom = error.powi(2) / (base_error.powi(2) / (base.n - 1.0) + new_error.powi(2) / (new.n - 1.0));
    // At least that of the smaller run, whatever rounding did.
    let freedom = freedom.max(base.n.min(new.n) - 1.0).floor() as u32;
    let reach = student_critical(0.05, freedom) * error.sqrt();
    Some(Shift { value, ci95: [value - reach, value + reach], p: student_p(value / error.sqrt(), freedom) })
}

struct Sample {
    n: f64,
    mean: f64,
    variance: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Self> {
        if values.len() < MIN_LAUNCHES || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some(Self { n, mean, variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_by_hand() {
        // Means 3 and 5, variances 2.5 and 2.5: error 1, t 2, 8 degrees of freedom, whose critical t is 2.306.
        let found = shift(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12);
        assert!((found.ci95[0] + 0.306).abs() < 1e-3 && (found.ci95[1] - 4.306).abs() < 1e-3);
        assert!((found.p - 0.0805).abs() < 1e-4, "{}", found.p);
    }

    #[test]
    fn what_does_not_vary_is_certain() {
        let same = shift(&[1.0; 5], &[1.0; 5]).unwrap();
        assert_eq!((same.value, same.ci95, same.p), (0.0, [0.0; 2], 1.0));
        assert_eq!(shift(&[1.0; 5], &[2.0; 5]).unwrap().p, 0.0);
    }

    #[test]
    fn few_launches_and_odd_numbers_give_none() {
        assert_eq!(shift(&[1.0; 4], &[1.0; 9]), None);
        assert_eq!(shift(&[f64::NAN; 5], &[1.0; 5]), None);
        assert_eq!(shift(&[f64::INFINITY; 5], &[1.0; 5]), None);
    }
}
