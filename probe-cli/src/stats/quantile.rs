//! Order statistics: median, median absolute deviation, quantiles.

/// The `p`-th quantile of `sorted`, linear between neighbours (Hyndman and Fan's type 7); `None` if it is empty.
///
/// `p` outside `[0, 1]` means the nearer end.
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = p.clamp(0.0, 1.0) * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let (low, high) = (sorted[below], sorted[above]);
    // Equal neighbours need no arithmetic: the result is exact, and infinities stay what they are.
    Some(if low == high { low } else { low + (at - below as f64) * (high - low) })
}

/// The median; `None` if `values` is empty.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// The median, in whatever order it leaves `values`; the form for inner loops.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(if lower == upper { upper } else { f64::midpoint(lower, upper) })
}

/// The median absolute deviation from the median, not scaled; `None` if `values` is empty.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median_in_place(&mut values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_lists() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 5.0, 7.0]), Some(6.0));
    }

    #[test]
    fn deviations_are_taken_from_the_median() {
        // Median 2; deviations 1 1 0 0 2 4 7.
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(mad(&[5.0]), Some(0.0));
        assert_eq!(mad(&[]), None);
    }

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        let sorted = [10.0, 20.0, 30.0, 40.0, 50.0];
        for (p, expected) in [(0.0, 10.0), (0.25, 20.0), (0.3, 22.0), (1.0, 50.0), (-1.0, 10.0), (2.0, 50.0)]
        {
            assert!((quantile(&sorted, p).unwrap() - expected).abs() < 1e-12, "p = {p}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }
}
