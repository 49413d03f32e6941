//! A set of attached pairs, and what the kernel has aggregated for them.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::sync::Mutex;

use aya::Ebpf;
use aya::maps::{HashMap, MapData, MapError, PerCpuArray, RingBuf};
use aya::programs::links::Link;
use aya::programs::{ProgramFd, RawTracePoint};
use probe_abi::histogram::Row;
use probe_abi::maps::{self, By, Key, KeyWords, Layout, program};
use probe_abi::pairing::{Frame, FrameWords};
use probe_abi::quality::{Counts, Quality};
use probe_abi::size::{self, Classes};
use probe_abi::slow::SlowCall;

use super::backend::Backend;
use super::object::{self, take_map};
use super::refusal::Refusal;
use super::scope::Scope;
use crate::stats::histogram::Histogram;

/// Attached pairs. Dropping it detaches them.
pub struct Session {
    backend: Backend,
    layout: Layout,
    by: By,
    per_cpu: bool,
    histograms: PerCpuArray<MapData, Row>,
    keyed: HashMap<MapData, KeyWords, Row>,
    quality: PerCpuArray<MapData, Counts>,
    frames: Mutex<Frames>,
    slow_calls: RingBuf<MapData>,
    programs: Vec<ProgramFd>,
    /// What was counted while attaching, which itself makes system calls: an exit seen before its pair's entry
    /// was attached is no call that was missed.
    before: Vec<TargetReading>,
    /// Those that aya does not keep in the object itself.
    _links: Vec<Box<dyn Attached>>,
    ebpf: Ebpf,
}

/// The open calls, and those that were open when their threads ended, by target.
struct Frames {
    map: HashMap<MapData, u64, FrameWords>,
    abandoned: BTreeMap<u32, u64>,
}

/// A link that detaches when dropped.
pub(crate) trait Attached: Send {}

impl<L: Link + Send> Attached for L {}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("backend", &self.backend).field("layout", &self.layout).finish()
    }
}

/// What became of attaching to several targets at once.
#[derive(Debug)]
pub struct Attachment {
    /// Those that are attached; at least one is.
    pub session: Session,
    /// Those that are not, by index, and why.
    pub refused: Vec<(usize, Refusal)>,
}

impl Attachment {
    /// The session, if all targets are in it.
    ///
    /// # Errors
    ///
    /// The first refusal.
    pub fn whole(self) -> Result<Session, Refusal> {
        match self.refused.into_iter().next() {
            None => Ok(self.session),
            Some((_, refusal)) => Err(refusal),
        }
    }
}

/// Told how many of how many targets are attached; answers whether to go on.
pub type Progress<'a> = &'a dyn Fn(usize, usize) -> bool;

/// Who made the calls of a row.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Who {
    /// A process.
    Process(u32),
    /// Threads of one name.
    Comm([u8; 16]),
    /// A cgroup of the unified hierarchy, by number.
    Cgroup(u64),
}

/// What sets a row of a target apart; nothing where nothing was to be told apart.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct RowKey {
    /// Who made the calls.
    pub who: Option<Who>,
    /// CPU that they ended on.
    pub cpu: Option<u32>,
    /// Class of their size.
    pub class: Option<u32>,
}

/// What was aggregated for one target.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TargetReading {
    /// Those rows that hold something.
    pub rows: BTreeMap<RowKey, Histogram>,
    /// Calls that could not be timed, by [`Quality::index`].
    pub counts: Counts,
    /// Calls under way.
    pub in_flight: u64,
    /// Calls whose threads ended inside them.
    pub abandoned: u64,
}

impl TargetReading {
    /// All rows together.
    #[must_use]
    pub fn total(&self) -> Histogram {
        let mut total = Histogram::default();
        for row in self.rows.values() {
            total.merge(row);
        }
        total
    }

    /// What was counted after `earlier`. Calls under way are as they are now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let row = |(key, row): (&RowKey, &Histogram)| {
            let delta = earlier.rows.get(key).map_or_else(|| row.clone(), |before| row.since(before));
            (delta.n() > 0).then_some((*key, delta))
        };
        let mut counts = self.counts;
        for (count, before) in counts.iter_mut().zip(earlier.counts) {
            *count = count.saturating_sub(before);
        }
        Self {
            rows: self.rows.iter().filter_map(row).collect(),
            counts,
            in_flight: self.in_flight,
            abandoned: self.abandoned.saturating_sub(earlier.abandoned),
        }
    }

    /// One of the counters.
    #[must_use]
    pub fn count(&self, quality: Quality) -> u64 {
        self.counts[quality.index()]
    }

    /// Calls dropped: no room, too deep, replaced, or their thread ended.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.count(Quality::Full)
            + self.count(Quality::TooDeep)
            + self.count(Quality::Replaced)
            + self.abandoned
    }
}

impl Session {
    pub(crate) fn new(
        backend: Backend,
        layout: Layout,
        mut ebpf: Ebpf,
        programs: Vec<ProgramFd>,
        links: Vec<Box<dyn Attached>>,
        scope: &Scope,
    ) -> Result<Self, Refusal> {
        if !scope.followed.is_empty() {
            let refuse = |error| Refusal::from_error("following the children of the process", &error);
            let fork: &mut RawTracePoint = object::program(&mut ebpf, program::FORK);
            fork.load().map_err(refuse)?;
            fork.attach("sched_process_fork").map_err(refuse)?;
        }
        let mut session = Self {
            before: Vec::new(),
            backend,
            layout,
            by: scope.by,
            per_cpu: scope.per_cpu,
            histograms: take_map(&mut ebpf, maps::HISTOGRAMS),
            keyed: take_map(&mut ebpf, maps::KEYED),
            quality: take_map(&mut ebpf, maps::QUALITY),
            frames: Mutex::new(Frames { map: take_map(&mut ebpf, maps::FRAMES), abandoned: BTreeMap::new() }),
            slow_calls: take_map(&mut ebpf, maps::SLOW_CALLS),
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
        let readings = self.read_all()?;
        Ok(readings.iter().zip(&self.before).map(|(reading, before)| reading.since(before)).collect())
    }

    /// The slow calls that have ended since the last time.
    pub fn drain_slow_calls(&mut self) -> Vec<SlowCall> {
        let mut calls = Vec::new();
        while let Some(record) = self.slow_calls.next() {
            calls.extend(SlowCall::decode(&record));
        }
        calls
    }

    /// Target and size class of a row.
    #[must_use]
    pub fn place(&self, row: u32) -> (usize, Option<u32>) {
        let classes = size::count(self.layout.classes);
        let class = (self.layout.classes == Classes::BySize).then_some(row % classes);
        ((row / classes) as usize, class)
    }

    fn read_all(&self) -> Result<Vec<TargetReading>, Refusal> {
        self.read_maps().map_err(|error| Refusal::from_error("reading what was aggregated", &error))
    }

    fn read_maps(&self) -> Result<Vec<TargetReading>, MapError> {
        let mut readings = vec![TargetReading::default(); self.layout.targets as usize];
        match self.by {
            By::Nobody => self.read_rows(&mut readings)?,
            by => self.read_keyed(by, &mut readings)?,
        }
        for (target, reading) in (0..).zip(&mut readings) {
            for counts in self.quality.get(&target, 0)?.iter() {
                for (total, count) in reading.counts.iter_mut().zip(counts) {
                    *total += count;
                }
            }
        }
        self.read_frames(&mut readings)?;
        Ok(readings)
    }

    fn read_rows(&self, readings: &mut [TargetReading]) -> Result<(), MapError> {
        for row in 0..self.layout.rows() {
            let cpus = self.histograms.get(&row, 0)?;
            let (target, class) = self.place(row);
            let rows = &mut readings[target].rows;
            if self.per_cpu {
                for (cpu, counts) in (0..).zip(cpus.iter()) {
                    add(rows, RowKey { cpu: Some(cpu), class, who: None }, Histogram::sum([counts]));
                }
            } else {
                add(rows, RowKey { class, ..RowKey::default() }, Histogram::sum(cpus.iter()));
            }
        }
        Ok(())
    }

    fn read_keyed(&self, by: By, readings: &mut [TargetReading]) -> Result<(), MapError> {
        for entry in self.keyed.iter() {
            let (words, counts) = entry?;
            let key = Key::from_words(words);
            let who = match by {
                By::Nobody | By::Process => Who::Process(key.who[0] as u32),
                By::Cgroup => Who::Cgroup(key.who[0]),
                By::Comm => {
                    let mut name = [0; 16];
                    for (half, word) in name.chunks_exact_mut(8).zip(key.who) {
                        half.copy_from_slice(&word.to_ne_bytes());
                    }
                    Who::Comm(name)
                }
            };
            let (target, class) = self.place(key.row);
            if let Some(reading) = readings.get_mut(target) {
                let key = RowKey { who: Some(who), class, cpu: None };
                add(&mut reading.rows, key, Histogram::sum([&counts]));
            }
        }
        Ok(())
    }

    /// Counts the open calls. A thread that has ended leaves its frames behind, and they are removed here: their
    /// room is needed, and its number will be another thread's. Only names that /proc of this kernel shows are told.
    fn read_frames(&self, readings: &mut [TargetReading]) -> Result<(), MapError> {
        let classes = size::count(self.layout.classes);
        let mut frames = self.frames.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut gone = Vec::new();
        for frame in frames.map.iter() {
            let (key, words) = frame?;
            let open = Frame::timed_open(&words);
            let (is_thread, target) = match maps::frame_target(key) {
                // Also the frames of timers, which are the CPUs'.
                maps::ANY_TARGET => {
                    (self.backend == Backend::RawTracepoint, Frame::first_row(&words) / classes)
                }
                target => (true, target),
            };
            let thread = maps::frame_thread(key);
            if is_thread && thread.cast_signed() > 0 && has_ended(thread) {
                gone.push((key, target, open));
            } else if let Some(reading) = readings.get_mut(target as usize) {
                reading.in_flight += open;
            }
        }
        for (key, target, open) in gone {
            // One that is not there any more was somebody's who looked at the same time.
            if frames.map.remove(&key).is_ok() {
                *frames.abandoned.entry(target).or_default() += open;
            }
        }
        for (target, abandoned) in &frames.abandoned {
            if let Some(reading) = readings.get_mut(*target as usize) {
                reading.abandoned = *abandoned;
            }
        }
        Ok(())
    }

    /// Runs of the programs that the kernel skipped; `None` where it does not tell.
    #[must_use]
    pub fn missed(&self) -> Option<u64> {
        self.programs.iter().map(recursion_misses).sum()
    }
}

fn add(rows: &mut BTreeMap<RowKey, Histogram>, key: RowKey, histogram: Histogram) {
    if histogram.n() > 0 {
        rows.entry(key).or_default().merge(&histogram);
    }
}

/// In another namespace every thread would seem to have ended.
fn has_ended(thread: u32) -> bool {
    in_first_namespace() && !Path::new(&format!("/proc/{thread}")).exists()
}

/// Whether this process sees the numbers that the programs see.
pub(crate) fn in_first_namespace() -> bool {
    // The number of this inode is fixed in the kernel (PROC_PID_INIT_INO).
    const FIRST: &str = "pid:[4026531836]";
    static FIRST_NAMESPACE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *FIRST_NAMESPACE
        .get_or_init(|| fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new(FIRST)))
}

/// aya reads an older form of the program's description, but the kernel also prints it.
fn recursion_misses(program: &ProgramFd) -> Option<u64> {
    let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}
