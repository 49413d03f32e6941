//! What the tables ask of the outside: the time, and random numbers.

/// A clock that never goes back. Any `Fn() -> u64` is one.
pub trait Clock {
    /// Nanoseconds since a moment of the clock's own choosing.
    fn now_ns(&self) -> u64;
}

impl<F: Fn() -> u64> Clock for F {
    fn now_ns(&self) -> u64 {
        self()
    }
}

/// Where a table gets its random values. Any `Fn() -> u32` is one.
///
/// The kernel called `get_random_bytes`. An attacker who can guess the values can make all his keys collide, so
/// they should come from a cryptographic generator.
pub trait RandomSource {
    /// The next value.
    fn next_u32(&self) -> u32;
}

impl<F: Fn() -> u32> RandomSource for F {
    fn next_u32(&self) -> u32 {
        self()
    }
}

/// The system's monotonic clock, counted from when the value was made.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(std::time::Instant);

#[cfg(feature = "std")]
impl Default for SystemClock {
    fn default() -> Self {
        Self(std::time::Instant::now())
    }
}

#[cfg(feature = "std")]
impl Clock for SystemClock {
    fn now_ns(&self) -> u64 {
        // 2^64 ns are 584 years.
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Values derived from the keys of the standard library's hasher: SipHash of a counter.
#[cfg(feature = "std")]
#[derive(Debug, Default)]
pub struct HasherRandom {
    keys: std::hash::RandomState,
    count: core::sync::atomic::AtomicU64,
}

#[cfg(feature = "std")]
impl RandomSource for HasherRandom {
    fn next_u32(&self) -> u32 {
        use std::hash::BuildHasher;
        let count = self.count.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        (self.keys.hash_one(count) >> 32) as u32
    }
}
