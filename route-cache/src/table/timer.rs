//! When a flush that was asked for runs: soon, but not once for every request.

use super::{Locking, RouteTable};
use crate::{
    flush::{FlushPlan, FlushReport},
    tunables::Tunables,
};

/// How long a flush may wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Delay {
    /// [`min_delay_ms`](Tunables::min_delay_ms): many changes are under way.
    Soon,
    /// So many milliseconds; 0 is at once.
    Ms(u64),
}

/// The flush timer and the timer that renews the random value.
#[derive(Debug)]
pub(crate) struct FlushTimer {
    due_ms: Option<u64>,
    /// The time at which the waiting flush runs whatever else is asked.
    deadline_ms: Option<u64>,
    secret_ms: u64,
}

impl FlushTimer {
    pub(crate) fn new(secret_ms: u64) -> Self {
        Self { due_ms: None, deadline_ms: None, secret_ms }
    }

    /// Takes a request into account; `true` means that the flush is to run now.
    ///
    /// A request while another waits moves the flush to the new delay, but never past the deadline that the
    /// first request set. Requests of a process (in 2007: not from a softirq) ignore the deadline's last part:
    /// once less than `max_delay - min_delay` is left, the flush runs at once.
    fn request(&mut self, delay: Delay, now_ms: u64, tunables: &Tunables) -> bool {
        let mut delay_ms = match delay {
            Delay::Soon => tunables.min_delay_ms,
            Delay::Ms(ms) => ms,
        };
        let waiting = self.due_ms.take().is_some();
        if let (true, Some(deadline_ms)) = (waiting && delay_ms > 0, self.deadline_ms) {
            let mut left_ms = deadline_ms.saturating_sub(now_ms);
            if left_ms < tunables.max_delay_ms.saturating_sub(tunables.min_delay_ms) {
                left_ms = 0;
            }
            delay_ms = delay_ms.min(left_ms);
        }
        if delay_ms == 0 {
            self.deadline_ms = None;
            return true;
        }
        self.deadline_ms.get_or_insert(now_ms + tunables.max_delay_ms);
        self.due_ms = Some(now_ms + delay_ms);
        false
    }

    /// Whether a flush is due; it is then considered run.
    fn expire(&mut self, now_ms: u64, tunables: &Tunables) -> bool {
        let flush = self.due_ms.is_some_and(|due_ms| due_ms <= now_ms);
        let renew = self.secret_ms <= now_ms;
        if renew {
            self.secret_ms = now_ms + tunables.secret_interval_ms;
        }
        if flush || renew {
            (self.due_ms, self.deadline_ms) = (None, None);
        }
        flush || renew
    }
}

impl<V, L: Locking> RouteTable<V, L> {
    /// Asks for a flush, as every change of addresses, devices or routes did; runs it if it is due at once.
    pub fn request_flush(&self, delay: Delay, plan: FlushPlan) -> Option<FlushReport> {
        let now_ms = self.now_ms();
        let now = L::lock(&self.timer).request(delay, now_ms, &self.tunables);
        now.then(|| self.flush(plan))
    }

    /// Runs the flush that waits if it is due, and one every [`secret_interval_ms`](Tunables::secret_interval_ms)
    /// in any case, to renew the random value. To be called about once a second.
    pub fn run_timers(&self, plan: FlushPlan) -> Option<FlushReport> {
        let now_ms = self.now_ms();
        let due = L::lock(&self.timer).expire(now_ms, &self.tunables);
        due.then(|| self.flush(plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUNABLES: Tunables = Tunables::for_buckets(16);

    #[test]
    fn zero_runs_at_once_and_soon_after_two_seconds() {
        let mut timer = FlushTimer::new(u64::MAX);
        assert!(timer.request(Delay::Ms(0), 100, &TUNABLES));
        assert!(!timer.request(Delay::Soon, 100, &TUNABLES));
        assert!(!timer.expire(2_099, &TUNABLES));
        assert!(timer.expire(2_100, &TUNABLES));
        assert!(!timer.expire(1 << 40, &TUNABLES), "a timer fires once");
    }

    #[test]
    fn requests_coalesce_until_the_deadline_comes_near() {
        let mut timer = FlushTimer::new(u64::MAX);
        assert!(!timer.request(Delay::Soon, 0, &TUNABLES));
        // 8.5 s are left of 10: the flush moves to 3.5 s.
        assert!(!timer.request(Delay::Soon, 1_500, &TUNABLES));
        assert!(!timer.expire(3_499, &TUNABLES));
        // 7.9 s are left, less than 10 - 2: enough waiting.
        assert!(timer.request(Delay::Soon, 2_100, &TUNABLES));
        assert!(!timer.expire(1 << 40, &TUNABLES), "what ran does not wait as well");
    }

    #[test]
    fn the_secret_is_renewed_every_ten_minutes() {
        let mut timer = FlushTimer::new(600_000);
        assert!(!timer.expire(599_999, &TUNABLES));
        assert!(timer.expire(600_005, &TUNABLES));
        assert!(!timer.expire(1_200_004, &TUNABLES));
        assert!(timer.expire(1_200_005, &TUNABLES));
    }
}
