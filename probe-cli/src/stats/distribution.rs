//! The normal distribution, and Student's t for whole degrees of freedom.

use std::f64::consts::{FRAC_2_PI, PI};

/// Probability that a standard normal variable is at most `z`.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
    let x = z.abs();
    let upper = if x < 3.0 {
        // 0.5 + density * (x + x^3/3 + x^5/15 + ...): all terms positive, so nothing cancels.
        let (mut term, mut sum, mut odd) = (x, x, 1.0);
        while term > sum * 1e-17 {
            odd += 2.0;
            term *= x * x / odd;
            sum += term;
        }
        0.5 - density * sum
    } else {
        // Laplace's continued fraction of the tail; 60 levels give full precision from 3 on.
        density / (1..=60).rev().fold(x, |tail, level| x + f64::from(level) / tail)
    };
    if z < 0.0 { upper } else { 1.0 - upper }
}

/// Probability that |t| with `df` degrees of freedom is at most `t` in size: the finite series of Abramowitz
/// and Stegun, 26.7.3 and 26.7.4.
fn student_within(t: f64, df: u32) -> f64 {
    let theta = (t.abs() / f64::from(df).sqrt()).atan();
    let (sin, cos) = theta.sin_cos();
    let odd = df % 2 == 1;
    let (mut term, mut sum) = if odd { (cos, cos) } else { (1.0, 1.0) };
    let mut step = if odd { 3 } else { 2 };
    while step + 1 < df {
        term *= f64::from(step - 1) / f64::from(step) * cos * cos;
        sum += term;
        step += 2;
    }
    match df {
        1 => FRAC_2_PI * theta,
        _ if odd => FRAC_2_PI * (theta + sin * sum),
        _ => sin * sum,
    }
}

/// Two-sided p-value of `t` with `df` degrees of freedom; values under about 1e-16 are 0.
///
/// # Panics
///
/// If `df` is 0.
#[must_use]
pub fn student_p(t: f64, df: u32) -> f64 {
    assert!(df > 0, "Student's t needs a degree of freedom");
    (1.0 - student_within(t, df)).clamp(0.0, 1.0)
}

/// The `t` whose two-sided p-value with `df` degrees of freedom is `p`.
///
/// # Panics
///
/// If `df` is 0, or `p` is not between 0 and 1.
#[must_use]
pub fn student_critical(p: f64, df: u32) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a p-value of {p}");
    let (mut low, mut high) = (0.0, 1.0);
    while student_p(high, df) > p {
        (low, high) = (high, high * 2.0);
    }
    // 60 halvings end at the resolution of f64.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if student_p(middle, df) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_probabilities_of_printed_tables() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (1.959_963_984_540_054, 0.975),
            (-1.959_963_984_540_054, 0.025),
            (2.999_999, 0.998_650_097_536_2),
            (-3.0, 0.001_349_898_031_630_09),
            (-5.0, 2.866_515_718_791_94e-7),
        ] {
            let found = normal_cdf(z);
            assert!((found - p).abs() < 1e-9 * p.max(1e-3), "z = {z}: {found} is not {p}");
        }
    }

    #[test]
    fn critical_values_of_printed_tables() {
        // 97.5 % one-sided, as every table of t prints them.
        for (df, t) in [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (30, 2.042)]
        {
            assert!((student_critical(0.05, df) - t).abs() < 5e-4, "df = {df}");
        }
        assert!((student_p(2.0, 4) - 0.116_116_523).abs() < 1e-8);
        assert!((student_p(-2.0, 4) - 0.116_116_523).abs() < 1e-8);
        assert!((student_p(0.0, 7) - 1.0).abs() < 1e-15);
        assert_eq!(student_p(f64::INFINITY, 4), 0.0);
    }
}
