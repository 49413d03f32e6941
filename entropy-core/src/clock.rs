//! Where cycle counts come from: always handed in, so that every test is a script.
#![allow(unsafe_code, reason = "the time stamp counter and the coarse clock have no safe form")]

/// A counter that advances with time, in units of its own; what `get_cycles()` was to the driver.
///
/// Any closure that returns a number is one:
///
/// ```
/// use entropy_core::clock::CycleSource;
///
/// let mut script = [1000, 2000].into_iter();
/// let mut clock = || script.next().unwrap_or(0);
/// assert_eq!((clock.cycles(), clock.cycles()), (1000, 2000));
/// ```
pub trait CycleSource {
    /// The counter now, in cycles.
    fn cycles(&mut self) -> u64;
}

impl<F: FnMut() -> u64> CycleSource for F {
    fn cycles(&mut self) -> u64 {
        self()
    }
}

/// The processor's time stamp counter, unserialised, as the driver read it.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tsc;

#[cfg(all(feature = "std", target_arch = "x86_64"))]
impl CycleSource for Tsc {
    fn cycles(&mut self) -> u64 {
        // SAFETY: the instruction has no operands and writes nothing but its result; every x86-64 processor has it,
        // and Linux leaves it open to programs (a process that closed it to itself with PR_SET_TSC gets a signal,
        // not undefined behaviour).
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

/// Time since some beginning, to the last tick of the kernel: a millisecond or a few behind, and read without entering it.
#[cfg(all(feature = "std", target_os = "linux"))]
pub(crate) fn coarse_time() -> core::time::Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time to where it is pointed, which is ours. It knows this clock since Linux 2.6.32; did
    // it refuse, the time would stay zero.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    core::time::Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
