//! A row of counts, summed over the CPUs, and what can be said about it.

use probe_abi::histogram::{BUCKETS, Row, lower, middle, upper};

/// Counts of durations in ns, each known within 6.25 %.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Histogram {
    counts: Box<Row>,
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
        for row in rows {
            for (total, count) in sum.counts.iter_mut().zip(row) {
                *total = total.saturating_add(*count);
            }
        }
        sum
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        for (total, count) in self.counts.iter_mut().zip(other.counts.iter()) {
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

    /// How many durations.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The duration that a share `q` of all lie at or below (nearest rank), as the middle of its bucket;
    /// `None` when there are none. `q` outside 0 to 1 means the nearer of the two.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let n = self.n();
        let rank = ((q.clamp(0.0, 1.0) * n as f64).ceil() as u64).clamp(1, n.max(1));
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(middle(bucket));
            }
        }
        None
    }

    /// Upper edge of the highest bucket hit.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.counts.iter().rposition(|count| *count > 0).map(upper)
    }

    /// The buckets hit: lower edge, upper edge, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (lower(bucket), upper(bucket), *count))
    }
}

#[cfg(test)]
mod tests {
    use probe_abi::histogram::bucket;
    use proptest::prelude::*;

    use super::*;

    fn of(durations: &[u64]) -> Histogram {
        let mut row = [0; BUCKETS];
        for duration in durations {
            row[bucket(*duration)] += 1;
        }
        Histogram::sum([&row])
    }

    #[test]
    fn nothing_has_no_quantiles() {
        let empty = Histogram::default();
        assert_eq!((empty.n(), empty.quantile(0.5), empty.max()), (0, None, None));
    }

    #[test]
    fn an_interval_is_a_difference() {
        let (ten, fifteen) = (of(&[5; 10]), of(&[5; 15]));
        assert_eq!(fifteen.since(&ten), of(&[5; 5]));
    }

    #[test]
    fn cpus_are_summed() {
        let mut rows = [[0; BUCKETS], [0; BUCKETS]];
        rows[0][3] = 2;
        rows[1][3] = 5;
        assert_eq!(Histogram::sum(&rows).buckets().collect::<Vec<_>>(), [(3, 4, 7)]);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_sixteenth_of_the_sorted_list(
            mut durations in prop::collection::vec(0_u64..1 << 40, 1..200),
            q in 0.0_f64..=1.0,
        ) {
            let histogram = of(&durations);
            durations.sort_unstable();
            let rank = ((q * durations.len() as f64).ceil() as usize).clamp(1, durations.len());
            let exact = durations[rank - 1];
            let found = histogram.quantile(q).unwrap();
            prop_assert!(found.abs_diff(exact) * 16 <= exact, "{found} for {exact}");
        }
    }
}
