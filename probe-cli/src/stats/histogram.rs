//! A log-linear histogram of whole numbers, for lock waits and holds.
//!
//! Every power of two is cut into eight equal buckets, so the middle of a bucket is within 6.25 % of all it
//! holds; below sixteen every number has a bucket of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Each power of two is cut into `1 << SUB_BITS` buckets.
const SUB_BITS: u32 = 3;

/// Counts by bucket, sparse.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Histogram {
    counts: BTreeMap<u32, u64>,
    max: u64,
}

/// A bucket: numbers from `lo`, below `hi`, and how many were recorded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bucket {
    /// Smallest number of the bucket.
    pub lo: u64,
    /// First number above it; the last bucket ends at `u64::MAX`, inclusive.
    pub hi: u64,
    /// How many.
    pub count: u64,
}

impl Histogram {
    /// Counts one number.
    pub fn record(&mut self, value: u64) {
        *self.counts.entry(index(value)).or_default() += 1;
        self.max = self.max.max(value);
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (&index, &count) in &other.counts {
            *self.counts.entry(index).or_default() += count;
        }
        self.max = self.max.max(other.max);
    }

    /// How many numbers were counted.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The largest number, exact; 0 if there is none.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The middle of the bucket that holds the `p`-th quantile, at most the largest number; `None` if empty.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<u64> {
        let rank = ((p.clamp(0.0, 1.0) * self.n() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.buckets()
            .find(|bucket| {
                seen += bucket.count;
                seen >= rank
            })
            .map(|bucket| (bucket.lo + (bucket.hi - bucket.lo) / 2).min(self.max))
    }

    /// The buckets that hold something, in order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.counts.iter().map(|(&index, &count)| {
            let (lo, hi) = edges(index);
            Bucket { lo, hi, count }
        })
    }
}

fn index(value: u64) -> u32 {
    if value < 1 << SUB_BITS {
        return value as u32;
    }
    let shift = value.ilog2() - SUB_BITS;
    (shift << SUB_BITS) + (value >> shift) as u32
}

fn edges(index: u32) -> (u64, u64) {
    if index < 1 << SUB_BITS {
        return (u64::from(index), u64::from(index) + 1);
    }
    let shift = (index >> SUB_BITS) - 1;
    let lo = u64::from((index & ((1 << SUB_BITS) - 1)) + (1 << SUB_BITS)) << shift;
    (lo, lo.saturating_add(1 << shift))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edges_meet_and_zero_is_alone() {
        assert_eq!(edges(0), (0, 1));
        assert_eq!(index(u64::MAX), 495);
        for at in 0..495 {
            assert_eq!(edges(at).1, edges(at + 1).0, "after bucket {at}");
        }
        assert_eq!(edges(495).1, u64::MAX);
    }

    #[test]
    fn quantiles_of_a_few_numbers() {
        let mut found = Histogram::default();
        assert_eq!(found.quantile(0.5), None);
        (1..=10).for_each(|value| found.record(value));
        assert_eq!((found.n(), found.max()), (10, 10));
        assert_eq!(
            (found.quantile(0.5), found.quantile(0.9), found.quantile(1.0)),
            (Some(5), Some(9), Some(10))
        );
    }

    proptest! {
        #[test]
        fn a_number_lies_in_its_bucket_and_near_its_middle(value: u64) {
            let (lo, hi) = edges(index(value));
            prop_assert!(lo <= value && (value < hi || hi == u64::MAX));
            let middle = lo + (hi - lo) / 2;
            prop_assert!(middle.abs_diff(value) as f64 <= value as f64 / 16.0 + 1e-9);
        }

        #[test]
        fn merging_is_counting_both(a: Vec<u64>, b: Vec<u64>) {
            let all = |values: &mut dyn Iterator<Item = u64>| {
                let mut histogram = Histogram::default();
                values.for_each(|value| histogram.record(value));
                histogram
            };
            let mut merged = all(&mut a.iter().copied());
            merged.merge(&all(&mut b.iter().copied()));
            prop_assert_eq!(merged, all(&mut a.iter().chain(&b).copied()));
        }
    }
}
