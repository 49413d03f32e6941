//! The embedded object: its bytes or why there are none, and loading it with the sizes a question needs.

use aya::maps::{Array, HashMap, MapData, MapError};
use aya::{Ebpf, EbpfLoader};
use probe_abi::maps::{self, By, Layout};
use probe_abi::size;

use super::btf;
use super::refusal::{Cause, Refusal};
use super::scope::{Cgroup, Scope};

static EMBEDDED: Result<&[u8], &str> = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The object's bytes.
///
/// # Errors
///
/// This program was built without it.
pub fn bytes() -> Result<&'static [u8], Refusal> {
    EMBEDDED.map_err(|why| Refusal::new("loading the eBPF object", "there is none", Cause::NotEmbedded(why)))
}

/// How large the maps are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layout: Layout,
    /// Threads, times targets, that can be told apart.
    pub(crate) frames: u32,
    /// Processes, names or cgroups, times rows, that can be told apart.
    pub(crate) keys: u32,
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
        keys: 1,
        addresses: 1,
        batches: 1,
        ring_bytes: 4096,
    };

    /// For what `scope` asks: one process has few threads, a machine many.
    pub(crate) fn aggregating(layout: Layout, scope: &Scope) -> Self {
        let one = scope.process != 0 || scope.thread != 0;
        let frames = if one { 4096 } else { 16_384 };
        let keys = if scope.by == By::Nobody { 1 } else { 2048 };
        Self { layout, frames, keys, ..Self::SMALLEST }
    }
}

/// Bytes of the ring of slow calls, where they are asked for.
const SLOW_BYTES: u32 = 1 << 20;
/// Processes that can be followed.
const FOLLOWED: u32 = 16_384;

/// Creates the maps; loads no program.
pub(crate) fn load(sizes: Sizes, scope: &Scope) -> Result<Ebpf, Refusal> {
    let bytes = bytes()?;
    let Sizes { layout, frames, keys, addresses, batches, ring_bytes } = sizes;
    let classes = size::count(layout.classes);
    let follow = !scope.followed.is_empty();
    let task_process = if follow { btf::offset_of("task_struct", "tgid")? } else { 0 };
    let cgroup = scope.cgroup.unwrap_or(Cgroup { id: 0, level: 0 });
    let (size_min, size_max) = scope.sizes.unwrap_or((0, u64::MAX));
    let set = |condition: bool| u32::from(condition);
    let mut ebpf = EbpfLoader::new()
        .map_max_entries(maps::HISTOGRAMS, layout.rows())
        .map_max_entries(maps::QUALITY, layout.targets)
        .map_max_entries(maps::SIZE_ARGUMENTS, layout.targets)
        .map_max_entries(maps::FRAMES, frames)
        .map_max_entries(maps::KEYED, keys)
        .map_max_entries(maps::FUNCTIONS, addresses)
        .map_max_entries(maps::OPEN_BATCHES, batches)
        .map_max_entries(maps::BATCHES, ring_bytes)
        .map_max_entries(maps::SLOW_CALLS, if scope.slow_ns == 0 { 4096 } else { SLOW_BYTES })
        .map_max_entries(maps::FOLLOWED, if follow { FOLLOWED } else { 1 })
        .override_global(maps::PROCESS, &scope.process, true)
        .override_global(maps::THREAD, &scope.thread, true)
        .override_global(maps::EXCLUDED, &scope.excluded, true)
        .override_global(maps::FOLLOW, &set(follow), true)
        .override_global(maps::TASK_PROCESS, &task_process, true)
        .override_global(maps::COMM, &scope.comm_words(), true)
        .override_global(maps::CGROUP, &cgroup.id, true)
        .override_global(maps::CGROUP_LEVEL, &cgroup.level, true)
        .override_global(maps::BY_CPU, &set(scope.cpus.is_some()), true)
        .override_global(maps::SIZE_MIN, &size_min, true)
        .override_global(maps::SIZE_MAX, &size_max, true)
        .override_global(maps::DEPTH, &u64::from(scope.depth), true)
        .override_global(maps::BY, &scope.by.code(), true)
        .override_global(maps::COUNT_ONLY, &set(scope.count_only), true)
        .override_global(maps::SLOW_NS, &scope.slow_ns, true)
        .override_global(maps::CLASSES, &classes, true)
        .load(bytes)
        .map_err(|error| Refusal::from_error("creating the maps of the eBPF object", &error))?;
    fill(&mut ebpf, scope).map_err(|error| Refusal::from_error("saying whose calls are counted", &error))?;
    Ok(ebpf)
}

fn fill(ebpf: &mut Ebpf, scope: &Scope) -> Result<(), MapError> {
    for process in &scope.followed {
        map_mut::<HashMap<&mut MapData, u32, u32>>(ebpf, maps::FOLLOWED).insert(process, 1, 0)?;
    }
    let Some(cpus) = &scope.cpus else { return Ok(()) };
    let mut words = map_mut::<Array<&mut MapData, u64>>(ebpf, maps::CPUS);
    for word in 0..maps::CPU_WORDS {
        let bits = cpus.iter().filter(|cpu| *cpu / 64 == word).fold(0, |bits, cpu| bits | 1 << (cpu % 64));
        words.set(word, bits, 0)?;
    }
    Ok(())
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
