//! A log-linear histogram of whole numbers: of what the kernel side has counted, and of lock waits and holds.
//!
//! Every power of two is cut into eight equal buckets, so the middle of a bucket is within 6.25 % of all it
//! holds; the arithmetic is the kernel side's own.

use probe_abi::histogram::{BUCKETS, Row, bucket, lower, middle, upper};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts by bucket.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    counts: Box<Row>,
}

/// A bucket: numbers from `lo`, below `hi`, and how many there were.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Bucket {
    /// Smallest number of the bucket.
    pub lo: u64,
    /// First number above it; the last bucket ends at `u64::MAX`, inclusive.
    pub hi: u64,
    /// How many.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }
}

impl Histogram {
    /// The sum of one row a CPU.
    #[must_use]
    pub fn sum<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut sum = Self::default();
        rows.into_iter().for_each(|row| sum.add(row));
        sum
    }

    /// Counts one number.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts a number `times` times.
    pub fn record_many(&mut self, value: u64, times: u64) {
        let count = &mut self.counts[bucket(value)];
        *count = count.saturating_add(times);
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.add(&other.counts);
    }

    fn add(&mut self, row: &Row) {
        for (total, count) in self.counts.iter_mut().zip(row) {
            *total = total.saturating_add(*count);
        }
    }

    /// What was counted after `earlier` was read.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = self.clone();
        for (count, before) in delta.counts.iter_mut().zip(earlier.counts.iter()) {
            *count = count.saturating_sub(*before);
        }
        delta
    }

    /// How many numbers were counted.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The number that a share `q` of all lie at or below (nearest rank), as the middle of its bucket; `None` when
    /// there are none. `q` outside 0 to 1 means the nearer of the two.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let n = self.n();
        let rank = ((q.clamp(0.0, 1.0) * n as f64).ceil() as u64).clamp(1, n.max(1));
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below = count.saturating_add(below);
            if below >= rank {
                return Some(middle(bucket));
            }
        }
        None
    }

    /// Where a share `q` of all lies below, were the numbers of each bucket spread over it evenly; `None` when there
    /// are none.
    ///
    /// Unlike [`Self::quantile`] it moves when less than a bucket moves, if the numbers lie in several.
    #[must_use]
    pub fn spread_quantile(&self, q: f64) -> Option<f64> {
        let wanted = q.clamp(0.0, 1.0) * self.n() as f64;
        let mut below = 0.0;
        self.buckets().find_map(|Bucket { lo, hi, count }| {
            let (from, within) = (below, count as f64);
            below += within;
            (below >= wanted).then(|| lo as f64 + (hi - lo) as f64 * ((wanted - from) / within))
        })
    }

    /// Upper edge of the highest bucket hit.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.counts.iter().rposition(|count| *count > 0).map(upper)
    }

    /// The buckets that hold something, in order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let hit = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        hit.map(|(bucket, &count)| Bucket { lo: lower(bucket), hi: upper(bucket), count })
    }
}

/// A histogram as it is stored: index and count of the buckets that hold something.
#[derive(Deserialize, Serialize)]
struct Sparse(Vec<(usize, u64)>);

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        Self(histogram.counts.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect())
    }
}

impl From<Sparse> for Histogram {
    /// Buckets that there are not are left out.
    fn from(Sparse(hit): Sparse) -> Self {
        let mut histogram = Self::default();
        for (bucket, count) in hit {
            if let Some(total) = histogram.counts.get_mut(bucket) {
                *total = total.saturating_add(count);
            }
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(numbers: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&number| histogram.record(number));
        histogram
    }

    #[test]
    fn nothing_has_no_quantiles() {
        let empty = Histogram::default();
        assert_eq!((empty.n(), empty.quantile(0.5), empty.max()), (0, None, None));
    }

    #[test]
    fn quantiles_of_a_few_numbers() {
        // Below sixteen every number has a bucket of its own.
        let found = of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!((found.n(), found.max()), (10, Some(11)));
        assert_eq!([0.5, 0.9, 1.0].map(|q| found.quantile(q)), [Some(5), Some(9), Some(10)]);
    }

    #[test]
    fn numbers_are_spread_over_their_buckets() {
        // 10 and 12 have buckets of their own, [10, 11) and [12, 13): half way is the end of the first.
        let found = of(&[10, 10, 12, 12]);
        assert_eq!([0.25, 0.5, 0.75].map(|q| found.spread_quantile(q)), [Some(10.5), Some(11.0), Some(12.5)]);
        assert_eq!(Histogram::default().spread_quantile(0.5), None);
    }

    #[test]
    fn an_interval_is_a_difference() {
        assert_eq!(of(&[5; 15]).since(&of(&[5; 10])), of(&[5; 5]));
    }

    #[test]
    fn cpus_are_summed() {
        let mut rows = [[0; BUCKETS], [0; BUCKETS]];
        rows[0][3] = 2;
        rows[1][3] = 5;
        let summed: Vec<Bucket> = Histogram::sum(&rows).buckets().collect();
        assert_eq!(summed, [Bucket { lo: 3, hi: 4, count: 7 }]);
    }

    #[test]
    fn a_bucket_from_elsewhere_that_there_is_not_is_left_out() {
        let found: Histogram = serde_json::from_str("[[3, 2], [496, 9], [3, 1]]").unwrap();
        assert_eq!(found, of(&[3, 3, 3]));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_sixteenth_of_the_sorted_list(
            mut numbers in prop::collection::vec(0_u64..1 << 40, 1..200),
            q in 0.0_f64..=1.0,
        ) {
            let histogram = of(&numbers);
            numbers.sort_unstable();
            let rank = ((q * numbers.len() as f64).ceil() as usize).clamp(1, numbers.len());
            let exact = numbers[rank - 1];
            let found = histogram.quantile(q).unwrap();
            prop_assert!(found.abs_diff(exact) * 16 <= exact, "{found} for {exact}");
        }

        #[test]
        fn merging_is_counting_both_and_storing_keeps_all(a: Vec<u64>, b: Vec<u64>) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(&merged, &of(&[a, b].concat()));
            let stored = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(serde_json::from_str::<Histogram>(&stored).unwrap(), merged);
        }
    }
}
