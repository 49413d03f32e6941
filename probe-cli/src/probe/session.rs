//! A set of attached pairs, and what the kernel has aggregated for them.

use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _};

use aya::Ebpf;
use aya::maps::{HashMap, MapData, PerCpuArray};
use aya::programs::ProgramFd;
use aya::programs::links::Link;
use probe_abi::histogram::Row;
use probe_abi::maps::{self, Layout};
use probe_abi::pairing::{Frame, FrameWords};
use probe_abi::quality::{Counts, Quality};
use probe_abi::size;

use super::backend::Backend;
use super::object::take_map;
use super::refusal::Refusal;
use crate::stats::histogram::Histogram;

/// Attached pairs. Dropping it detaches them.
pub struct Session {
    backend: Backend,
    layout: Layout,
    histograms: PerCpuArray<MapData, Row>,
    quality: PerCpuArray<MapData, Counts>,
    frames: HashMap<MapData, u64, FrameWords>,
    programs: Vec<ProgramFd>,
    /// What was counted while attaching, which itself makes system calls: an exit seen before its pair's entry
    /// was attached is no call that was missed.
    before: Vec<TargetReading>,
    /// Those that aya does not keep in the object itself.
    _links: Vec<Box<dyn Attached>>,
    ebpf: Ebpf,
}

/// A link that detaches when dropped.
pub(crate) trait Attached: Send {}

impl<L: Link + Send> Attached for L {}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("backend", &self.backend).field("layout", &self.layout).finish()
    }
}

/// What was aggregated for one target.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TargetReading {
    /// One histogram a size class; one alone where sizes are not told apart.
    pub classes: Vec<Histogram>,
    /// Calls that could not be timed, by [`Quality::index`].
    pub counts: Counts,
    /// Calls under way.
    pub in_flight: u64,
}

impl TargetReading {
    /// All size classes together.
    #[must_use]
    pub fn total(&self) -> Histogram {
        let mut total = Histogram::default();
        for class in &self.classes {
            total.merge(class);
        }
        total
    }

    /// Leaves what was counted after `earlier`. Calls under way are as they are now.
    fn subtract(&mut self, earlier: &Self) {
        for (class, before) in self.classes.iter_mut().zip(&earlier.classes) {
            *class = class.since(before);
        }
        for (count, before) in self.counts.iter_mut().zip(earlier.counts) {
            *count = count.saturating_sub(before);
        }
    }

    /// One of the counters.
    #[must_use]
    pub fn count(&self, quality: Quality) -> u64 {
        self.counts[quality.index()]
    }

    /// Calls dropped: no room, too deep, or replaced.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.count(Quality::Full) + self.count(Quality::TooDeep) + self.count(Quality::Replaced)
    }
}

impl Session {
    pub(crate) fn new(
        backend: Backend,
        layout: Layout,
        mut ebpf: Ebpf,
        programs: Vec<ProgramFd>,
        links: Vec<Box<dyn Attached>>,
    ) -> Result<Self, Refusal> {
        let mut session = Self {
            before: Vec::new(),
            backend,
            layout,
            histograms: take_map(&mut ebpf, maps::HISTOGRAMS),
            quality: take_map(&mut ebpf, maps::QUALITY),
            frames: take_map(&mut ebpf, maps::FRAMES),
            programs,
            _links: links,
            ebpf,
        };
        session.before = session.read_all()?;
        Ok(session)
    }

    pub(crate) const fn ebpf_mut(&mut self) -> &mut Ebpf {
        &mut self.ebpf
    }

    /// How it is attached.
    #[must_use]
    pub const fn backend(&self) -> Backend {
        self.backend
    }

    /// Where the rows of each target are.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// What has been aggregated since all was attached, one reading a target.
    ///
    /// # Errors
    ///
    /// A map could not be read.
    pub fn read(&self) -> Result<Vec<TargetReading>, Refusal> {
        let mut readings = self.read_all()?;
        for (reading, before) in readings.iter_mut().zip(&self.before) {
            reading.subtract(before);
        }
        Ok(readings)
    }

    fn read_all(&self) -> Result<Vec<TargetReading>, Refusal> {
        let refuse = |error: aya::maps::MapError| Refusal::from_error("reading what was aggregated", &error);
        let classes = size::count(self.layout.classes);
        let mut readings = Vec::new();
        for target in 0..self.layout.targets {
            let mut reading = TargetReading::default();
            for class in 0..classes {
                let rows = self.histograms.get(&self.layout.row(target, class), 0).map_err(refuse)?;
                reading.classes.push(Histogram::sum(rows.iter()));
            }
            for counts in self.quality.get(&target, 0).map_err(refuse)?.iter() {
                for (total, count) in reading.counts.iter_mut().zip(counts) {
                    *total += count;
                }
            }
            readings.push(reading);
        }
        for frame in self.frames.iter() {
            let (key, words) = frame.map_err(refuse)?;
            let target = match maps::frame_target(key) {
                maps::ANY_TARGET => Frame::first_row(&words) / classes,
                target => target,
            };
            if let Some(reading) = readings.get_mut(target as usize) {
                reading.in_flight += Frame::timed_open(&words);
            }
        }
        Ok(readings)
    }

    /// Runs of the programs that the kernel skipped; `None` where it does not tell.
    #[must_use]
    pub fn missed(&self) -> Option<u64> {
        self.programs.iter().map(recursion_misses).sum()
    }
}

/// aya reads an older form of the program's description, but the kernel also prints it.
fn recursion_misses(program: &ProgramFd) -> Option<u64> {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}
