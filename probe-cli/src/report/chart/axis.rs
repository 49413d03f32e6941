//! A logarithmic axis: equal distances are equal ratios, so half the time is as far from 1 as twice the time.

/// Where values stand between the left edge (0) and the right edge (100).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    lo: f64,
    hi: f64,
}

/// Share of the axis that stays free at each end.
const MARGIN: f64 = 0.04;
/// Smallest and largest value that an axis reaches to: what is beyond is drawn at the edge.
const REACH: [f64; 2] = [1e-9, 1e18];

impl Axis {
    /// An axis that holds every positive finite value, and at least what lies between the ends of `least`.
    pub(crate) fn around(values: impl IntoIterator<Item = f64>, least: [f64; 2]) -> Self {
        let drawable = |value: &f64| value.is_finite() && *value > 0.0;
        let (lo, hi) = values
            .into_iter()
            .filter(drawable)
            .fold((least[0], least[1]), |(lo, hi), value| (lo.min(value), hi.max(value)));
        let (lo, hi) = (lo.max(REACH[0]).ln(), hi.min(REACH[1]).ln());
        let margin = (hi - lo) * MARGIN;
        Self { lo: lo - margin, hi: hi + margin }
    }

    /// Position of `value` in per cent; what lies outside, or has no logarithm, at the nearer edge.
    pub(crate) fn at(self, value: f64) -> f64 {
        if value.is_nan() || value <= 0.0 {
            return 0.0;
        }
        ((value.ln() - self.lo) / (self.hi - self.lo) * 100.0).clamp(0.0, 100.0)
    }

    /// Round values on the axis, as many as there is room for up to `most`, rising.
    pub(crate) fn ticks(self, most: usize) -> Vec<f64> {
        let (lo, hi) = (self.lo.exp(), self.hi.exp());
        let decades = (self.lo / 10_f64.ln()).floor() as i32..=(self.hi / 10_f64.ln()).ceil() as i32;
        let series = |marks: &'static [f64], stride: usize| -> Vec<f64> {
            let powers = decades.clone().filter(|power| power.rem_euclid(stride as i32) == 0);
            powers.flat_map(|power| marks.iter().map(move |mark| mark * 10_f64.powi(power))).collect()
        };
        let steps = |step: f64| -> Vec<f64> {
            let first = (lo / step).ceil();
            // More than that many are never shown.
            (0..=most).map(|index| (first + index as f64) * step).collect()
        };
        // From coarse to fine; the finest that fits is taken.
        let mut choices: Vec<Vec<f64>> = (1..=6).rev().map(|stride| series(&[1.0], stride)).collect();
        choices.extend([series(&[1.0, 3.0], 1), series(&[1.0, 2.0, 5.0], 1)]);
        let largest = 10_f64.powf(hi.log10().floor());
        choices.extend([0.5, 0.2, 0.1, 0.05, 0.02, 0.01].map(|step| steps(step * largest)));
        let inside = |marks: &Vec<f64>| -> Vec<f64> {
            marks.iter().copied().filter(|mark| lo <= *mark && *mark <= hi).collect()
        };
        let mut found = Vec::new();
        for marks in choices.iter().map(inside) {
            if marks.len() <= most && marks.len() > found.len() && self.is_airy(&marks, most) {
                found = marks;
            }
        }
        found
    }

    /// Whether no two marks come nearer than their labels could bear.
    fn is_airy(self, marks: &[f64], most: usize) -> bool {
        let least = 100.0 / (most as f64 * 1.6);
        marks.windows(2).all(|pair| self.at(pair[1]) - self.at(pair[0]) >= least)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_ratios_are_equal_distances_and_one_is_in_the_middle() {
        let axis = Axis::around([0.25, 4.0], [0.9, 1.1]);
        assert!((axis.at(1.0) - 50.0).abs() < 1e-9);
        let (half, twice) = (50.0 - axis.at(0.5), axis.at(2.0) - 50.0);
        assert!((half - twice).abs() < 1e-9);
    }

    #[test]
    fn small_differences_do_not_fill_the_axis() {
        let axis = Axis::around([0.99, 1.01], [0.8, 1.25]);
        assert!(axis.at(1.01) - axis.at(0.99) < 6.0);
    }

    #[test]
    fn marks_are_round() {
        let marks = |values: [f64; 2]| -> Vec<String> {
            let ticks = Axis::around(values, values).ticks(6);
            ticks.iter().map(|tick| format!("{}", (tick * 1e6).round() / 1e6)).collect()
        };
        assert_eq!(marks([0.8, 1.25]), ["0.8", "0.9", "1", "1.1", "1.2"]);
        assert_eq!(marks([10.0, 1e5]), ["10", "100", "1000", "10000", "100000"]);
        assert_eq!(marks([0.5, 16.0]), ["0.5", "1", "2", "5", "10"]);
    }

    #[test]
    fn values_that_cannot_be_drawn_stand_at_an_edge() {
        let axis = Axis::around([f64::NAN, f64::INFINITY, -1.0, 0.0], [0.5, 2.0]);
        assert_eq!(axis, Axis::around([], [0.5, 2.0]));
        assert_eq!(
            [f64::NAN, 0.0, -3.0, f64::INFINITY, 1e300].map(|v| axis.at(v)),
            [0.0, 0.0, 0.0, 100.0, 100.0]
        );
    }

    proptest! {
        #[test]
        fn any_axis_has_few_marks_in_order(a in 1e-12_f64..1e20, b in 1e-12_f64..1e20, most in 2_usize..9) {
            let ticks = Axis::around([a, b], [0.9, 1.1]).ticks(most);
            prop_assert!(ticks.len() <= most);
            prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
