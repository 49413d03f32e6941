//! Two independent runs: how far apart they are.
//!
//! Launches of two runs have nothing to pair them by, so each run is bootstrapped on its own, by launch and inside it
//! by block, and the interval is that of the difference of such draws. The p-value, which a bootstrap of five launches
//! is too coarse for, is that of Welch's test (1947) on the medians of the launches, with the degrees of freedom
//! rounded down.
//!
//! Launches of one run do not sample what changes between runs: a neighbour on the host, a host. The rows of a
//! comparison do, since most of them did not change: [`inflation`] is by how much they scatter more than their
//! launches explain, as genomic control estimates it (Devlin and Roeder, 1999), and [`Shift::widened`] takes it into
//! account.

use super::bootstrap::{self, MIN_LAUNCHES, launch_medians, variance};
use super::distribution::{student_critical, student_p};
use super::quantile::{median, quantile};
use super::rng::Rng;

/// Fewest rows that [`inflation`] is estimated from.
pub const MIN_ROWS: usize = 5;

/// A difference of logarithms, new minus base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Between the medians over launches.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Difference of the means of the launches' medians, over its standard error.
    t: f64,
    /// Degrees of freedom of `t`.
    freedom: u32,
}

/// The shift from `base` to `new`, logarithms as `[launch][block]`; `None` where either has fewer than
/// [`MIN_LAUNCHES`] launches with a sample, or a sample that is not finite.
#[must_use]
pub fn shift(base: &[Vec<f64>], new: &[Vec<f64>], rng: &mut Rng) -> Option<Shift> {
    let (base, new) = (Run::of(base)?, Run::of(new)?);
    let value = new.value - base.value;
    let (base_error, new_error) = (base.variance / base.n(), new.variance / new.n());
    let error = base_error + new_error;
    let least = base.launches.len().min(new.launches.len());
    let freedom =
        error.powi(2) / (base_error.powi(2) / (base.n() - 1.0) + new_error.powi(2) / (new.n() - 1.0));
    // At least that of the smaller run, whatever rounding did; where nothing varies it is not a number.
    let freedom = freedom.max(least as f64 - 1.0).floor() as u32;
    let apart = new.mean - base.mean;
    let t = if apart == 0.0 { 0.0 } else { apart / error.sqrt() };

    let (from, to) = (base.redrawn(rng), new.redrawn(rng));
    let mut apart: Vec<f64> = from.iter().zip(&to).map(|(from, to)| to - from).collect();
    apart.sort_unstable_by(f64::total_cmp);
    let level = bootstrap::tail_level(least, freedom);
    let end = |p| quantile(&apart, p).unwrap_or(value);
    Some(Shift { value, ci95: [end(level).min(value), end(1.0 - level).max(value)], t, freedom })
}

impl Shift {
    /// Two-sided p-value of "there is none".
    #[must_use]
    pub fn p(&self) -> f64 {
        if self.t.is_finite() { student_p(self.t, self.freedom) } else { 0.0 }
    }

    /// The same shift where rows scatter between runs by more than launches show.
    ///
    /// What is added to the variance is known no better than the few rows tell, so degrees of freedom are lost as
    /// Satterthwaite has it (1946), and the interval grows with Student's t.
    #[must_use]
    pub fn widened(self, by: &Inflation) -> Self {
        let variance = by.factor.powi(2);
        let freedom =
            variance.powi(2) / (1.0 / f64::from(self.freedom) + (variance - 1.0).powi(2) / by.freedom());
        let freedom = (freedom.floor() as u32).clamp(1, self.freedom);
        let reach = by.factor * student_critical(0.05, freedom) / student_critical(0.05, self.freedom);
        let end = |end: f64| self.value + (end - self.value) * reach;
        Self { ci95: self.ci95.map(end), t: self.t / by.factor, freedom, ..self }
    }
}

/// How far rows scatter around nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inflation {
    /// Standard deviations of the rows over what their launches explain, at least 1.
    pub factor: f64,
    /// Rows that it was estimated from.
    pub rows: usize,
}

impl Inflation {
    /// Degrees of freedom: a median of distances uses 37 % of what a variance would.
    fn freedom(&self) -> f64 {
        0.37 * self.rows as f64
    }
}

/// By how much `shifts` scatter around nothing more than their launches explain; `None` below [`MIN_ROWS`], where no
/// row can be told from the rest.
///
/// It is made of a median: rows that really changed leave it alone as long as they are the fewer.
#[must_use]
pub fn inflation(shifts: &[Shift]) -> Option<Inflation> {
    let scatter: Vec<f64> =
        shifts.iter().map(|shift| shift.t.abs() / student_critical(0.5, shift.freedom)).collect();
    let rows = scatter.len();
    (rows >= MIN_ROWS).then(|| Inflation { factor: median(&scatter).unwrap_or(1.0).max(1.0), rows })
}

/// One side.
struct Run {
    launches: Vec<Vec<f64>>,
    value: f64,
    mean: f64,
    variance: f64,
}

impl Run {
    fn of(launches: &[Vec<f64>]) -> Option<Self> {
        if launches.iter().flatten().any(|sample| !sample.is_finite()) {
            return None;
        }
        let launches: Vec<Vec<f64>> = launches.iter().filter(|blocks| !blocks.is_empty()).cloned().collect();
        if launches.len() < MIN_LAUNCHES {
            return None;
        }
        let medians = launch_medians(&launches);
        let mean = medians.iter().sum::<f64>() / medians.len() as f64;
        Some(Self { value: median(&medians)?, mean, variance: variance(&medians), launches })
    }

    fn n(&self) -> f64 {
        self.launches.len() as f64
    }

    fn redrawn(&self, rng: &mut Rng) -> Vec<f64> {
        bootstrap::redrawn(&self.launches, self.value, rng)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert, proptest};

    use super::*;

    fn launches(medians: &[f64]) -> Vec<Vec<f64>> {
        medians.iter().map(|&median| vec![median]).collect()
    }

    fn between(base: &[f64], new: &[f64]) -> Option<Shift> {
        shift(&launches(base), &launches(new), &mut Rng::new(1))
    }

    #[test]
    fn welch_by_hand() {
        // Means 3 and 5, variances 2.5 and 2.5: error 1, t 2 with 8 degrees of freedom.
        let found = between(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!(found.value, 2.0);
        assert!((found.p() - 0.0805).abs() < 1e-4, "{}", found.p());
        let [lo, hi] = found.ci95;
        // Twice the error by very many rows: t 1, and no degree of freedom is lost but by rounding.
        let wide = found.widened(&Inflation { factor: 2.0, rows: 1_000_000 });
        assert!((wide.p() - 0.3466).abs() < 1e-4, "{}", wide.p());
        assert!(
            (wide.ci95[0] - (2.0 * lo - 2.0)).abs() < 1e-9 && (wide.ci95[1] - (2.0 * hi - 2.0)).abs() < 1e-9
        );
        // By ten rows: 16 / (1/8 + 9/3.7) = 6.26, so t(6) = 2.447 takes the place of t(8) = 2.306.
        let unsure = found.widened(&Inflation { factor: 2.0, rows: 10 });
        assert!(
            (unsure.ci95[1] - (2.0 + (hi - 2.0) * 2.0 * 2.447 / 2.306)).abs() < 1e-3,
            "{:?}",
            unsure.ci95
        );
        // Medians of five that lie 1 apart range over 4: so does each end around 2.
        assert!((-2.0..0.0).contains(&lo) && (4.0..=6.0).contains(&hi), "{lo} to {hi}");
    }

    #[test]
    fn what_does_not_vary_is_certain() {
        let same = between(&[1.0; 5], &[1.0; 5]).unwrap();
        assert_eq!((same.value, same.ci95, same.p()), (0.0, [0.0; 2], 1.0));
        let apart = between(&[1.0; 5], &[2.0; 5]).unwrap();
        assert_eq!((apart.ci95, apart.p()), ([1.0; 2], 0.0));
    }

    #[test]
    fn few_launches_and_odd_numbers_give_none() {
        assert_eq!(between(&[1.0; 4], &[1.0; 9]), None);
        assert_eq!(between(&[f64::NAN; 5], &[1.0; 5]), None);
        assert_eq!(between(&[f64::INFINITY; 5], &[1.0; 5]), None);
        assert_eq!(
            shift(&[vec![1.0], vec![], vec![], vec![], vec![]], &launches(&[1.0; 5]), &mut Rng::new(1)),
            None
        );
    }

    #[test]
    fn rows_scatter_as_they_do() {
        let row = |t: f64| Shift { value: 0.0, ci95: [0.0; 2], t, freedom: 1_000_000 };
        // Half of a normal variable lies within 0.6745: twice that is a factor of two.
        let scattered = [-1.349, 1.349, 0.1, -0.2, 9.0, 1.349, -50.0].map(row);
        assert!((inflation(&scattered).unwrap().factor - 2.0).abs() < 1e-3);
        assert_eq!(inflation(&[0.0; 5].map(row)), Some(Inflation { factor: 1.0, rows: 5 }));
        assert_eq!(inflation(&[5.0; 4].map(row)), None);
    }

    proptest! {
        #[test]
        fn the_value_lies_in_its_interval_and_swapping_the_runs_turns_it(
            base in prop::collection::vec(-5.0_f64..5.0, 5..12),
            new in prop::collection::vec(-5.0_f64..5.0, 5..12),
        ) {
            let (there, back) = (between(&base, &new).unwrap(), between(&new, &base).unwrap());
            prop_assert!(there.ci95[0] <= there.value && there.value <= there.ci95[1]);
            prop_assert!((there.value + back.value).abs() < 1e-12 && (there.p() - back.p()).abs() < 1e-9);
        }
    }
}
