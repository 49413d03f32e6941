//! How much is handed out, and for how long, before another seed is due.

use core::time::Duration;

use crate::clock::coarse_time;

/// What has come from the present seed.
pub(super) struct Exposure {
    most_bytes: u64,
    most_time: Duration,
    bytes: u64,
    since: Duration,
}

impl Exposure {
    /// No seed yet: over.
    pub(super) fn new(most_bytes: u64, most_time: Duration) -> Self {
        Self { most_bytes, most_time, bytes: u64::MAX, since: Duration::ZERO }
    }

    /// There is a seed, from now on.
    pub(super) fn begin(&mut self) {
        (self.bytes, self.since) = (0, coarse_time());
    }

    /// So many bytes more are made.
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn is_over(&self) -> bool {
        // A clock that went back, as in a machine that was set back, counts as too long.
        let within = |now: Duration| now.checked_sub(self.since).is_some_and(|age| age < self.most_time);
        self.bytes >= self.most_bytes || !within(coarse_time())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn bytes_and_time_both_end_it() {
        let mut exposure = Exposure::new(100, LONG);
        assert!(exposure.is_over());
        exposure.begin();
        assert!(!exposure.is_over());
        exposure.add(99);
        assert!(!exposure.is_over());
        exposure.add(1);
        assert!(exposure.is_over());
        let mut at_once = Exposure::new(100, Duration::ZERO);
        at_once.begin();
        assert!(at_once.is_over());
    }

    #[test]
    fn a_clock_that_went_back_ends_it() {
        let mut exposure = Exposure::new(100, LONG);
        exposure.begin();
        exposure.since = coarse_time() + LONG;
        assert!(exposure.is_over());
    }
}
