//! The copies of copy-engine against the C library's, case by case.

use copy_engine::fault::{self, Door};
use copy_engine::{Engine, NextUse, Policy};
use probe_cli::experiment::page_copy::OFFSETS_IN_A_LINE;
use probe_cli::experiment::page_copy::blocks::{Blocks, Lines, Mover, Shape};
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};
use probe_cli::harness::child::Launcher;
use probe_cli::harness::run_error::RunError;
use probe_cli::sys::arena::Pages;
use probe_cli::sys::libpmem;
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::copy_peers::{self, Library};
use super::target::{Aim, Judge, Part, Sweep};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

const SIZES: [usize; 16] = [
    64,
    128,
    256,
    512,
    KIB,
    2 * KIB,
    4 * KIB,
    8 * KIB,
    16 * KIB,
    64 * KIB,
    256 * KIB,
    MIB,
    4 * MIB,
    8 * MIB,
    16 * MIB,
    64 * MIB,
];

/// Sizes at which the page size could matter: one page, and more than the first, the second and any level holds.
const ON_BASE_PAGES: [usize; 4] = [4 * KIB, 64 * KIB, MIB, 16 * MIB];

/// Bytes of a batch where copies are short: long beside reading the clock.
const BATCH_BYTES: usize = MIB;
/// Most copies of a batch.
const MOST_COPIES: usize = 2000;

const PLATFORM: &str = "c-library";
const AUTOMATIC: &str = "automatic";
const NOT_READ: &str = "automatic-not-read";
const BATCHED: &str = "stream-batched";
const SURVIVING: &str = "surviving";
const LIBPMEM: &str = "libpmem";

/// What is done with the blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Work {
    /// From one place to another, over and over.
    Hot,
    /// Both sides in no cache, blocks in no order.
    Cold,
    /// The same by two tasks at a time, each with blocks of its own.
    ColdPair,
    /// A source in the cache, at every offset of a line in turn; destinations in none.
    Fill,
    /// As hot and as cold, on base pages.
    HotBase,
    ColdBase,
    /// As hot, and each block is read at once.
    Read,
    /// As fill, aligned pages in a batch that fences once.
    Pages,
    /// 2000 blocks into a ring that is used again.
    Ring,
    /// As hot, the destination 1 to 63 bytes past the source modulo 4096.
    Aliased,
}

/// Each work: its name in the cases, its sizes, and our variants.
const WORKS: [(Work, &str, &[usize], &[&str]); 10] = [
    (Work::Hot, "hot", &SIZES, &[AUTOMATIC, SURVIVING]),
    (Work::Cold, "cold", SIZES.as_slice(), &[NOT_READ, LIBPMEM]),
    (Work::ColdPair, "cold-pair", &[32 * MIB], &[NOT_READ]),
    (Work::Fill, "fill", &[4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB], &[NOT_READ, LIBPMEM]),
    (Work::Pages, "pages", &[4 * KIB], &[BATCHED]),
    (Work::HotBase, "hot-base", &ON_BASE_PAGES, &[AUTOMATIC]),
    (Work::ColdBase, "cold-base", &ON_BASE_PAGES, &[NOT_READ]),
    (Work::Read, "read", &SIZES, &[AUTOMATIC]),
    (Work::Ring, "ring", &[256, KIB, 4 * KIB], &[AUTOMATIC, BATCHED]),
    (Work::Aliased, "aliased", &SIZES, &[AUTOMATIC]),
];

/// Every offset of a line but none.
const PAST: &[usize] = OFFSETS_IN_A_LINE.split_at(1).1;
/// The same in small, for copies of which sixty-three would take minutes.
const PAST_OF_LONG: &[usize] = &[1, 33, 63];

impl Work {
    fn shape(self, bytes: usize) -> Shape {
        let copies = (BATCH_BYTES / bytes).clamp(1, MOST_COPIES);
        let shape = |lines| Shape { pages: Pages::Huge, ..Shape::new(bytes, copies, lines) };
        match self {
            Self::Hot => Shape { one_place: true, ..shape(Lines::Hot) },
            Self::HotBase => Shape { pages: Pages::Base, ..Self::Hot.shape(bytes) },
            Self::ColdBase => Shape { pages: Pages::Base, ..Self::Cold.shape(bytes) },
            Self::Pages => Shape { blocks: OFFSETS_IN_A_LINE.len(), ..shape(Lines::DestinationCold) },
            Self::Read => Shape { one_place: true, read_at_once: true, ..shape(Lines::Hot) },
            Self::Aliased => {
                let past = if bytes < MIB { PAST } else { PAST_OF_LONG };
                Shape {
                    one_place: true,
                    blocks: copies.next_multiple_of(past.len()),
                    destination_at: past,
                    ..shape(Lines::Hot)
                }
            }
            Self::Cold | Self::ColdPair => Shape { shuffled: true, ..shape(Lines::Cold) },
            Self::Fill => Shape {
                shuffled: true,
                blocks: OFFSETS_IN_A_LINE.len(),
                source_at: OFFSETS_IN_A_LINE,
                ..shape(Lines::DestinationCold)
            },
            Self::Ring => Shape::new(bytes, 2000, Lines::Hot),
        }
    }

    const fn tasks(self) -> usize {
        if matches!(self, Self::ColdPair) { 2 } else { 1 }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Hot => "between two places, over and over",
            Self::Cold => "both sides in no cache",
            Self::ColdPair => "both sides in no cache, two tasks",
            Self::Fill => "source in the cache, 0 to 63 bytes past a line; destination in none",
            Self::HotBase => "between two places, over and over, on base pages",
            Self::ColdBase => "both sides in no cache, on base pages",
            Self::Pages => "aligned pages one after the other, source in the cache, destination in none",
            Self::Read => "between two places, read at once",
            Self::Ring => "into a ring of 2000 blocks that is used again",
            Self::Aliased => "destination 1 to 63 bytes past the source modulo 4096",
        }
    }
}

/// The name of a case.
fn case_name(name: &str, bytes: usize) -> String {
    match bytes {
        _ if bytes >= MIB => format!("{name}-{}M", bytes / MIB),
        _ if bytes >= KIB => format!("{name}-{}K", bytes / KIB),
        _ => format!("{name}-{bytes}"),
    }
}

fn find(case: &Case) -> Option<(Work, usize)> {
    WORKS.iter().find_map(|&(work, name, sizes, _)| {
        sizes.iter().find(|&&bytes| case_name(name, bytes) == case.name).map(|&bytes| (work, bytes))
    })
}

/// Our copies and those of a C library.
#[derive(Debug)]
pub(crate) struct CopySpeed(Library);

impl CopySpeed {
    /// Against each library.
    pub(crate) const EACH: [Self; 4] =
        [Self(Library::Box), Self(Library::Newest), Self(Library::Late), Self(Library::Early)];

    const fn called(library: Library) -> &'static str {
        match library {
            Library::Box => "copy-speed",
            Library::Newest => "copy-speed-newest",
            Library::Late => "copy-speed-late",
            Library::Early => "copy-speed-early",
        }
    }
}

/// How the launches of a comparison are started: as any other, unless it asks for a library.
pub(crate) fn launcher(comparison: &dyn Comparison) -> Result<Launcher, RunError> {
    let library = CopySpeed::EACH.into_iter().find(|known| known.name() == comparison.name());
    library.map_or_else(Launcher::this_program, |CopySpeed(library)| library.launcher())
}

fn mover(variant: &str) -> Result<Mover, String> {
    let engine = Engine::detect();
    Ok(match variant {
        PLATFORM => Mover::Platform,
        AUTOMATIC => Mover::Single(engine, NextUse::Unknown),
        NOT_READ => Mover::Single(engine, NextUse::NotRead),
        BATCHED => Mover::Batched(engine.with_policy(Policy::StreamAlways), NextUse::NotRead),
        SURVIVING => Mover::Surviving(door()?),
        LIBPMEM if libpmem::is_here() => Mover::Function(libpmem::copy),
        LIBPMEM => return Err("libpmem.so.1 is not installed".to_owned()),
        other => return Err(format!("there is no variant {other}")),
    })
}

fn door() -> Result<Door, String> {
    fault::install().map_err(|error| error.to_string())
}

impl Comparison for CopySpeed {
    fn name(&self) -> &str {
        Self::called(self.0)
    }

    fn cases(&self, cpus: usize) -> Vec<Case> {
        let variant = |name: &'static str| VariantInfo {
            name: name.to_owned(),
            summary: name.replace('-', " "),
            named: true,
            unavailable: mover(name).err(),
        };
        let cases = WORKS.iter().filter(|(work, ..)| work.tasks() <= cpus);
        cases
            .flat_map(|&(work, name, sizes, ours)| {
                sizes.iter().map(move |&bytes| Case {
                    name: case_name(name, bytes),
                    title: format!("{bytes} bytes, {}", work.title()),
                    tasks: work.tasks(),
                    operation: "copy",
                    variants: [PLATFORM].iter().chain(ours).map(|&name| variant(name)).collect(),
                })
            })
            .collect()
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        let (work, bytes) = find(case).ok_or_else(|| format!("there is no case {}", case.name))?;
        let mut expected: Option<Vec<u8>> = None;
        let mut words = Vec::new();
        for VariantInfo { name, .. } in case.variants.iter().filter(|known| known.unavailable.is_none()) {
            let (found, tally) = Blocks::new(work.shape(bytes), mover(name)?, 1, 2009).outcome();
            if expected.get_or_insert_with(|| found.clone()) != &found {
                return Err(format!("{name} leaves other bytes than {PLATFORM}"));
            }
            if work == Work::Ring && name == AUTOMATIC && tally.fences > 0 {
                return Err(format!("{name} fences {} times, and is not to fence in a ring", tally.fences));
            }
            words.push(format!("{name} {}", tally.fences));
        }
        Ok(format!("the same bytes by all; fences: {}", words.join(", ")))
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        let (work, bytes) = find(case).expect("the cases are made from the works");
        let mover = mover(&case.variants[variant].name).unwrap_or_else(|missing| panic!("{missing}"));
        Box::new(Blocks::new(work.shape(bytes), mover, work.tasks(), seed))
    }
}

fn name_of(work: Work) -> &'static str {
    WORKS.iter().find(|(known, ..)| *known == work).map_or("", |(_, name, ..)| name)
}

/// Whether this is the end of a case's name that tells the size.
fn is_size(end: &str) -> bool {
    end.starts_with(|first: char| first.is_ascii_digit())
}

/// A row's part for each of `sizes`.
fn parts(
    work: Work,
    sizes: impl IntoIterator<Item = usize>,
    ours: &'static str,
    aim: impl Fn(usize) -> Aim,
) -> Vec<Part> {
    let name = name_of(work);
    let part = |bytes| Part { case: case_name(name, bytes), ours, peer: PLATFORM, aim: aim(bytes) };
    sizes.into_iter().map(part).collect()
}

/// The targets of copying.
pub(crate) fn sweeps() -> Vec<Sweep> {
    use Aim::{AtLeast, AtMost, NsMore};

    let sweep = |id, work: &str, library: Library, parts| Sweep {
        id,
        work: format!("{work}, against {}", library.words()).leak(),
        comparison: CopySpeed::called(library),
        parts,
        judged_by: Judge::Worst,
        note,
    };
    let mut all = Vec::new();
    // What has to hold against the best of several has to hold against each.
    for library in
        [Library::Box, Library::Newest, Library::Late].into_iter().filter(|library| library.is_here())
    {
        let of_the_box = library == Library::Box;
        let mut hot = parts(Work::Hot, SIZES, AUTOMATIC, |bytes| {
            AtLeast(if of_the_box && (KIB..=4 * KIB).contains(&bytes) { 1.2 } else { 0.95 })
        });
        if of_the_box {
            hot.extend(parts(Work::HotBase, ON_BASE_PAGES, AUTOMATIC, |bytes| {
                AtLeast(if bytes == 4 * KIB { 1.2 } else { 0.95 })
            }));
        }
        all.push(sweep("C1", "copy, automatic policy, hot, every size", library, hot));
        all.push(sweep(
            "C4",
            "copy, automatic policy, destination read at once, every size",
            library,
            parts(Work::Read, SIZES, AUTOMATIC, |bytes| AtLeast(if bytes >= 16 * MIB { 1.1 } else { 0.95 })),
        ));
        let collapses = of_the_box && collapses();
        all.push(sweep(
            "C6",
            "copy to 1 to 63 bytes past the source modulo 4096",
            library,
            parts(Work::Aliased, SIZES, AUTOMATIC, |bytes| {
                // Where this library's `rep movsb` collapses, if it does; from a megabyte on memory is the limit.
                AtLeast(if collapses && (4 * KIB..MIB).contains(&bytes) { 10.0 } else { 0.95 })
            }),
        ));
    }
    for library in
        [Library::Box, Library::Newest, Library::Early].into_iter().filter(|library| library.is_here())
    {
        let streaming = |bytes| {
            AtLeast(match bytes {
                _ if bytes <= 4 * KIB => 1.2,
                _ if bytes < MIB => 1.4,
                _ => 1.5,
            })
        };
        let cold = [KIB, 2 * KIB, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB];
        let mut cold = parts(Work::Cold, cold, NOT_READ, streaming);
        if library == Library::Box {
            cold.extend(parts(Work::ColdBase, ON_BASE_PAGES, NOT_READ, streaming));
        }
        all.push(sweep("C2", "copy, told that it is not read, both sides cold", library, cold.clone()));
        let pages = |bytes| AtLeast(if bytes == 4 * KIB { 2.0 } else { 2.5 });
        let mut fill = parts(Work::Fill, [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB], NOT_READ, pages);
        fill.extend(parts(Work::Pages, [4 * KIB], BATCHED, pages));
        all.push(sweep(
            "C3",
            "copy of pages, source hot at offsets 0 to 63, destination cold",
            library,
            fill.clone(),
        ));
        if library == Library::Box && libpmem::is_here() {
            // It has no batch, and the box's own launches have it beside the C library.
            let against = |parts: Vec<Part>, work: Work| {
                let name = name_of(work).to_owned() + "-";
                let theirs =
                    parts.into_iter().filter(|part| part.case.strip_prefix(&name).is_some_and(is_size));
                theirs.map(|part| Part { peer: LIBPMEM, ..part }).collect()
            };
            let row = |id, work: &str, parts| Sweep {
                id,
                work: format!("{work}, against libpmem around the cache").leak(),
                comparison: CopySpeed::called(library),
                parts,
                judged_by: Judge::Worst,
                note,
            };
            all.push(row("C2", "copy, told that it is not read, both sides cold", against(cold, Work::Cold)));
            let fill = against(fill, Work::Fill);
            all.push(row("C3", "copy of pages, source hot at offsets 0 to 63, destination cold", fill));
        }
    }
    all.push(sweep("C5", "copy of 2000 blocks into a ring that is used again", Library::Box, {
        let mut all = parts(Work::Ring, [256, KIB, 4 * KIB], AUTOMATIC, |_| AtMost(1.05));
        all.extend(parts(Work::Ring, [256], BATCHED, |_| AtMost(1.2)));
        all.extend(parts(Work::Ring, [4 * KIB], BATCHED, |_| AtLeast(1.3)));
        all
    }));
    all.push(sweep("C7", "copy that survives faults, without a fault", Library::Box, {
        let mut all = parts(Work::Hot, [64], SURVIVING, |_| NsMore(2.0));
        let from_a_page = SIZES.into_iter().filter(|&bytes| bytes >= 4 * KIB);
        all.extend(parts(Work::Hot, from_a_page, SURVIVING, |_| AtMost(1.05)));
        all
    }));
    all.push(sweep(
        "C8",
        "copy of 32 MiB by each of two threads, cold, told that it is not read",
        Library::Box,
        parts(Work::ColdPair, [32 * MIB], NOT_READ, |_| AtLeast(1.5)),
    ));
    all
}

/// Whether this library's copy collapses for a destination just past the source modulo 4096: some processors' microcode
/// does, and then a copy takes ten times as long. A look at the best of a few, to know what to aim at.
fn collapses() -> bool {
    const BYTES: usize = 16 * KIB;
    let mut memory = vec![1_u8; 4 * BYTES];
    let mut best = |past: usize| {
        let (from, to) = memory.split_at_mut(2 * BYTES);
        let (from, to) = (&from[..BYTES], &mut to[past..][..BYTES]);
        let mut best = Duration::MAX;
        for _ in 0..100 {
            let start = Instant::now();
            black_box(&mut *to).copy_from_slice(black_box(from));
            best = best.min(start.elapsed());
        }
        best
    };
    best(33) > 4 * best(128)
}

/// What was held against, and what could have been.
fn note() -> String {
    format!(
        "huge pages where the kernel has them, base pages in the ring and where the case says so{}",
        copy_peers::missing()
    )
}
