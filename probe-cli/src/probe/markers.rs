//! The batches of our own code, as the pair of uprobes on the two markers times them.

use std::path::Path;

use aya::Ebpf;
use aya::maps::{MapData, PerCpuArray, RingBuf};
use aya::programs::uprobe::{UProbe, UProbeAttachLocation, UProbeScope};
use probe_abi::batch::BatchEvent;
use probe_abi::maps::{self, program};
use probe_abi::quality::{Counts, Quality};
use probe_abi::site;

use super::notes::{self, Site};
use super::object::{self, Sizes, take_map};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use crate::harness::markers::BatchSource;

/// Room for 32 768 batches between two calls of [`BatchSource::drain`].
const RING_BYTES: u32 = 1 << 21;
/// Threads that can have a batch open.
const THREADS: u32 = 1024;

/// Attached markers. Dropping it detaches them.
pub struct Markers {
    ring: RingBuf<MapData>,
    quality: PerCpuArray<MapData, Counts>,
    _ebpf: Ebpf,
}

impl std::fmt::Debug for Markers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Markers").finish_non_exhaustive()
    }
}

impl Markers {
    /// Attaches to both markers of `binary`, in every process that runs it, now or later.
    ///
    /// # Errors
    ///
    /// The file has no markers, or a program or link is refused.
    pub fn attach(binary: &Path) -> Result<Self, Refusal> {
        Self::attach_with_ring(binary, RING_BYTES)
    }

    /// As [`Markers::attach`], with room for `ring_bytes` of events (64 a batch): a power of two, and at least a
    /// page.
    ///
    /// # Errors
    ///
    /// As [`Markers::attach`].
    pub fn attach_with_ring(binary: &Path, ring_bytes: u32) -> Result<Self, Refusal> {
        object::bytes()?;
        let sites = notes::sites(binary)?;
        let sizes = Sizes { batches: THREADS, ring_bytes, ..Sizes::SMALLEST };
        let mut ebpf = object::load(sizes, &Scope::default())?;
        // The end first: a batch under way then ends unmatched, and none stays open.
        for (name, marker) in
            [(program::BATCH_END, site::BATCH_END), (program::BATCH_BEGIN, site::BATCH_BEGIN)]
        {
            let offset = only_site(&sites, marker, binary)?.offset;
            let program: &mut UProbe = object::program(&mut ebpf, name);
            program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
            let at = UProbeAttachLocation::AbsoluteOffset(offset);
            program.attach(at, binary, UProbeScope::AllProcesses).map_err(|error| {
                Refusal::from_error(format!("attaching a uprobe to {marker} of {}", binary.display()), &error)
            })?;
        }
        Ok(Self {
            ring: take_map(&mut ebpf, maps::BATCHES),
            quality: take_map(&mut ebpf, maps::QUALITY),
            _ebpf: ebpf,
        })
    }

    /// What was counted about batches that gave no event. Unreadable counters read 0.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        if let Ok(rows) = self.quality.get(&0, 0) {
            for row in rows.iter() {
                for (total, count) in counts.iter_mut().zip(row) {
                    *total += count;
                }
            }
        }
        counts
    }
}

impl BatchSource for Markers {
    fn drain(&mut self) -> Vec<BatchEvent> {
        let mut events = Vec::new();
        while let Some(record) = self.ring.next() {
            events.extend(BatchEvent::decode(&record));
        }
        events
    }

    fn lost(&self) -> u64 {
        let counts = self.counts();
        counts[Quality::Lost.index()] + counts[Quality::Full.index()]
    }
}

fn only_site<'a>(sites: &'a [Site], marker: &str, binary: &Path) -> Result<&'a Site, Refusal> {
    let mut own = sites.iter().filter(|site| site.provider == site::PROVIDER && site.name == marker);
    match (own.next(), own.next()) {
        (Some(site), None) => Ok(site),
        (found, _) => Err(Refusal::new(
            format!("looking for the marker {marker} in {}", binary.display()),
            if found.is_some() { "there are several" } else { "there is none" },
            Cause::BadFile,
        )),
    }
}
