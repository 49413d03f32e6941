//! The embedded object: its bytes or why there are none, and loading it with the sizes a question needs.

use aya::{Ebpf, EbpfLoader};
use probe_abi::maps::{self, Layout};
use probe_abi::size;

use super::refusal::{Cause, Refusal};

static EMBEDDED: Result<&[u8], &str> = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The object's bytes.
///
/// # Errors
///
/// This program was built without it.
pub fn bytes() -> Result<&'static [u8], Refusal> {
    EMBEDDED.map_err(|why| Refusal::new("loading the eBPF object", "there is none", Cause::NotEmbedded(why)))
}

/// Whose calls are counted. A 0 is everybody.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Filter {
    /// Process, by its number in the kernel's first namespace.
    pub process: u32,
    /// Thread, likewise.
    pub thread: u32,
}

impl Filter {
    /// This process.
    #[must_use]
    pub fn own_process() -> Self {
        Self { process: std::process::id(), thread: 0 }
    }

    /// The calling thread.
    #[must_use]
    pub fn own_thread() -> Self {
        let thread = nix::unistd::gettid().as_raw();
        Self { process: std::process::id(), thread: thread.cast_unsigned() }
    }
}

/// How large the maps are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layout: Layout,
    /// Threads, times targets, that can be told apart.
    pub(crate) frames: u32,
    /// Addresses of functions.
    pub(crate) addresses: u32,
    /// Threads that can have a batch open.
    pub(crate) batches: u32,
    /// Bytes of the ring buffer; a power of two of pages.
    pub(crate) ring_bytes: u32,
}

impl Sizes {
    pub(crate) const SMALLEST: Self = Self {
        layout: Layout { targets: 1, classes: size::Classes::One },
        frames: 1,
        addresses: 1,
        batches: 1,
        ring_bytes: 4096,
    };

    pub(crate) const fn aggregating(layout: Layout) -> Self {
        Self { layout, frames: 4096, ..Self::SMALLEST }
    }
}

/// Creates the maps; loads no program.
pub(crate) fn load(sizes: Sizes, filter: Filter) -> Result<Ebpf, Refusal> {
    let bytes = bytes()?;
    let Sizes { layout, frames, addresses, batches, ring_bytes } = sizes;
    let classes = size::count(layout.classes);
    EbpfLoader::new()
        .map_max_entries(maps::HISTOGRAMS, layout.rows())
        .map_max_entries(maps::QUALITY, layout.targets)
        .map_max_entries(maps::SIZE_ARGUMENTS, layout.targets)
        .map_max_entries(maps::FRAMES, frames)
        .map_max_entries(maps::FUNCTIONS, addresses)
        .map_max_entries(maps::OPEN_BATCHES, batches)
        .map_max_entries(maps::BATCHES, ring_bytes)
        .override_global(maps::PROCESS, &filter.process, true)
        .override_global(maps::THREAD, &filter.thread, true)
        .override_global(maps::CLASSES, &classes, true)
        .load(bytes)
        .map_err(|error| Refusal::from_error("creating the maps of the eBPF object", &error))
}

/// The program `name` as what it is.
///
/// # Panics
///
/// If the object has no such program of that kind: it is embedded only when built from the sources that name it.
pub(crate) fn program<'a, P>(ebpf: &'a mut Ebpf, name: &str) -> &'a mut P
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = aya::programs::ProgramError>,
{
    ebpf.program_mut(name)
        .and_then(|program| program.try_into().ok())
        .unwrap_or_else(|| panic!("the eBPF object has no program {name}"))
}

/// Takes the map `name` out of the object: after the programs that use it are loaded, since dropping it closes it.
///
/// # Panics
///
/// As [`program`].
pub(crate) fn take_map<M>(ebpf: &mut Ebpf, name: &str) -> M
where
    M: TryFrom<aya::maps::Map, Error = aya::maps::MapError>,
{
    ebpf.take_map(name)
        .and_then(|map| map.try_into().ok())
        .unwrap_or_else(|| panic!("the eBPF object has no map {name}"))
}

/// Borrows the map `name`, to fill it before programs that use it are loaded.
///
/// # Panics
///
/// As [`program`].
pub(crate) fn map_mut<'a, M>(ebpf: &'a mut Ebpf, name: &str) -> M
where
    M: TryFrom<&'a mut aya::maps::Map, Error = aya::maps::MapError>,
{
    ebpf.map_mut(name)
        .and_then(|map| map.try_into().ok())
        .unwrap_or_else(|| panic!("the eBPF object has no map {name}"))
}
