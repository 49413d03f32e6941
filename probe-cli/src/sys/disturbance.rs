//! What the system did to a thread meanwhile: counters that only grow, read before and after.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};

/// Counters of one thread, kept by the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ThreadUsage {
    /// Page faults that needed no device.
    pub minor_faults: u64,
    /// Times the CPU was taken away while there was work to do.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// The counters of this thread now.
    ///
    /// # Errors
    ///
    /// What the kernel answered.
    pub fn now() -> Result<Self, Errno> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
        Ok(Self {
            minor_faults: usage.minor_page_faults().try_into().unwrap_or(0),
            involuntary_switches: usage.involuntary_context_switches().try_into().unwrap_or(0),
        })
    }
}

/// Time that a thread was ready to run and had to wait for a CPU.
#[derive(Debug)]
pub struct RunDelay(File);

impl RunDelay {
    /// The counter of this thread; `None` where the kernel keeps none.
    #[must_use]
    pub fn of_this_thread() -> Option<Self> {
        let counter = Self(File::open("/proc/thread-self/schedstat").ok()?);
        counter.read_ns().is_some().then_some(counter)
    }

    /// Nanoseconds of waiting so far.
    #[must_use]
    pub fn read_ns(&self) -> Option<u64> {
        let mut text = [0; 128];
        parse_run_delay(read_start(&self.0, &mut text).ok()?)
    }
}

/// Time that the hypervisor gave to others while a CPU of this machine had work.
#[derive(Debug)]
pub struct Steal {
    file: File,
    cpus: Vec<usize>,
    text: Vec<u8>,
}

impl Steal {
    /// The counters of `cpus`; `None` where the kernel shows none.
    #[must_use]
    pub fn of(cpus: &[usize]) -> Option<Self> {
        let file = File::open("/proc/stat").ok()?;
        // One line a CPU, ten numbers of up to twenty digits; what follows them is not needed.
        let lines = cpus.iter().max()? + 2;
        let mut steal = Self { file, cpus: cpus.to_vec(), text: vec![0; lines * 256] };
        steal.read_ticks().is_some().then_some(steal)
    }

    /// Scheduler ticks (usually 10 ms) stolen so far from all of the CPUs together.
    pub fn read_ticks(&mut self) -> Option<u64> {
        let Self { file, cpus, text } = self;
        let text = read_start(file, text).ok()?;
        cpus.iter().map(|&cpu| parse_steal(text, cpu)).sum()
    }
}

/// The beginning of a file of /proc, made anew by the kernel at each read from offset 0.
fn read_start<'a>(file: &File, into: &'a mut [u8]) -> io::Result<&'a str> {
    let len = file.read_at(into, 0)?;
    std::str::from_utf8(&into[..len]).map_err(io::Error::other)
}

/// Second of three numbers: time on a CPU, time waiting for one, slices run.
fn parse_run_delay(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

/// Eighth number of the CPU's line.
fn parse_steal(stat: &str, cpu: usize) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let mut words = stat.lines().map(str::split_whitespace).find_map(|mut words| {
        let first = words.next()?;
        (first == name).then_some(words)
    })?;
    words.nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read_by_position() {
        assert_eq!(parse_run_delay("100 3092438 1\n"), Some(3_092_438));
        assert_eq!(parse_run_delay(""), None);
        let stat = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 40 9 10\ncpu10 1 2 3 4 5 6 7 50 9 10\n";
        assert_eq!(
            (parse_steal(stat, 0), parse_steal(stat, 10), parse_steal(stat, 1)),
            (Some(40), Some(50), None)
        );
        assert_eq!(parse_steal("cpu0 1 2 3\n", 0), None, "kernels before 2.6.11 show no steal time");
    }

    #[test]
    fn touching_new_pages_counts_faults() {
        let before = ThreadUsage::now().unwrap();
        let pages = super::super::arena::Arena::new(64 * 4096, super::super::arena::Pages::Base).unwrap();
        let after = ThreadUsage::now().unwrap();
        assert!(after.minor_faults - before.minor_faults >= 64, "{before:?} {after:?}");
        drop(pages);
    }
}
