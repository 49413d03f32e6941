//! The clock of the lab: the time-stamp counter where it can be trusted, else the system's monotonic clock.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::report::model;
use crate::stats::quantile::median;
use crate::sys::affinity;
use crate::tsc::{self, Stamp, Tsc};

/// How long the counter is compared with the system's clock. Each end of it is known to some tens of ns.
const CALIBRATION: Duration = Duration::from_millis(50);

/// Chosen once for a process. All launches of a run are on one machine, and choose alike.
static TSC: LazyLock<Option<Tsc>> = LazyLock::new(Tsc::new);

/// Beginning of the monotonic fallback's ticks.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Reads the clock: ticks, and the CPU that read them.
#[must_use]
#[inline]
pub fn now() -> Stamp {
    match *TSC {
        Some(tsc) => tsc.read(),
        None => Stamp {
            ticks: ORIGIN.elapsed().as_nanos() as u64,
            cpu: affinity::current().map_or(u32::MAX, |cpu| cpu as u32),
        },
    }
}

/// How to read the ticks of [`now`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Clock {
    /// `tsc` or `monotonic`.
    pub name: String,
    /// Ticks in a second.
    pub ticks_per_second: f64,
    /// What an empty interval reads, in ns.
    pub floor_ns: f64,
    /// Why the time-stamp counter is not used; none where it is.
    pub fallback: Option<String>,
}

impl Clock {
    /// Compares the ticks with `CLOCK_MONOTONIC_RAW`, which no one slews, and times empty intervals.
    #[must_use]
    pub fn calibrate() -> Self {
        let (name, ticks_per_second) = match *TSC {
            Some(_) => ("tsc", ticks_per_second()),
            None => ("monotonic", 1e9),
        };
        let clock = Self {
            name: name.to_owned(),
            ticks_per_second,
            floor_ns: 0.0,
            fallback: tsc::unusable().map(str::to_owned),
        };
        let empty: Vec<f64> = (0..1001)
            .map(|_| {
                let (begin, end) = (now().ticks, now().ticks);
                clock.ns(end.saturating_sub(begin))
            })
            .collect();
        Self { floor_ns: median(&empty).unwrap_or(0.0), ..clock }
    }

    /// Nanoseconds in `ticks`.
    #[must_use]
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * 1e9 / self.ticks_per_second
    }

    /// As the report shows it.
    #[must_use]
    pub fn report(&self) -> model::Clock {
        model::Clock {
            name: self.name.clone(),
            ticks_per_second: self.ticks_per_second,
            floor_ns: self.floor_ns,
        }
    }
}

/// The rate of the counter; that of nanoseconds where the system's clock cannot be read.
fn ticks_per_second() -> f64 {
    let rate = || {
        let (ticks, raw_ns) = both_clocks()?;
        thread::sleep(CALIBRATION);
        let (ticks_later, raw_ns_later) = both_clocks()?;
        let elapsed_ns = raw_ns_later - raw_ns;
        (elapsed_ns > 0).then(|| (ticks_later - ticks) as f64 * 1e9 / elapsed_ns as f64)
    };
    rate().filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(1e9)
}

/// Both clocks at one moment: of several tries the one with the least time between two readings of ticks.
fn both_clocks() -> Option<(i128, i128)> {
    (0..20)
        .filter_map(|_| {
            let before = i128::from(now().ticks);
            let raw = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW).ok()?;
            let after = i128::from(now().ticks);
            let raw_ns = i128::from(raw.tv_sec()) * 1_000_000_000 + i128::from(raw.tv_nsec());
            Some((after - before, (i128::midpoint(before, after), raw_ns)))
        })
        .min_by_key(|&(width, _)| width)
        .map(|(_, moment)| moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_by_the_rate() {
        let clock = Clock { name: "tsc".into(), ticks_per_second: 2.5e9, floor_ns: 0.0, fallback: None };
        assert_eq!(clock.ns(0), 0.0);
        assert!((clock.ns(25) - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_calibrated_clock_has_a_name_a_rate_and_a_floor() {
        let clock = Clock::calibrate();
        assert_eq!(clock.name == "tsc", clock.fallback.is_none());
        assert!(
            clock.ticks_per_second > 1e6 && clock.floor_ns.is_finite() && clock.floor_ns >= 0.0,
            "{clock:?}"
        );
    }
}
