//! The targets, as data.

use probe_cli::experiment::Comparison;
use probe_cli::experiment::pool_mix::PoolMix;
use probe_cli::experiment::prng_noise::PrngNoise;
use probe_cli::experiment::route_flush::RouteFlush;

use super::copy::{self, CopySpeed};
use super::copy_regret::{self, CopyRegret};
use super::fast_pool::{self, FastPoolPath};
use super::generators::{self, Generators};
use super::marker::MarkerCost;
use super::route_cache::{self, RouteCache};
use super::tracer::{self, TracerCost};

/// What can be measured here.
pub(crate) const COMPARISONS: &[&dyn Comparison] = &[
    &Generators,
    &FastPoolPath,
    &PrngNoise,
    &PoolMix,
    &CopySpeed::EACH[0],
    &CopySpeed::EACH[1],
    &CopySpeed::EACH[2],
    &CopySpeed::EACH[3],
    &CopyRegret,
    &RouteFlush::OF_TWO_CPUS,
    &RouteCache,
    &MarkerCost,
    &TracerCost,
];

/// A ratio to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim {
    /// The peer's time over ours.
    AtLeast(f64),
    /// Our time over the peer's.
    AtMost(f64),
    /// Our time less the peer's, ns.
    NsMore(f64),
}

/// A row to come of one case.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the target is known by.
    pub(crate) id: &'static str,
    /// What is done.
    pub(crate) work: &'static str,
    /// Name of the comparison that has the case.
    pub(crate) comparison: &'static str,
    /// The case.
    pub(crate) case: &'static str,
    /// Our variant.
    pub(crate) ours: &'static str,
    /// What it is held against.
    pub(crate) peer: &'static str,
    /// What is aimed at.
    pub(crate) aim: Aim,
    /// What else a reader has to know, found out when the row is made.
    pub(crate) note: fn() -> String,
}

/// Which part of a row decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Judge {
    /// The worst, so that all have to hold.
    Worst,
    /// The one in the middle.
    Median,
}

/// A row to come. It is met if the part that decides is.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// As the target is known by.
    pub(crate) id: &'static str,
    /// What is done.
    pub(crate) work: &'static str,
    /// Name of the comparison that has the cases.
    pub(crate) comparison: &'static str,
    /// What has to hold, case by case.
    pub(crate) parts: Vec<Part>,
    /// Which of them decides.
    pub(crate) judged_by: Judge,
    /// What else a reader has to know, found out when the row is made.
    pub(crate) note: fn() -> String,
}

/// One case of a row.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The case.
    pub(crate) case: String,
    /// Our variant.
    pub(crate) ours: &'static str,
    /// What it is held against.
    pub(crate) peer: &'static str,
    /// What is aimed at.
    pub(crate) aim: Aim,
}

impl From<&Target> for Sweep {
    fn from(target: &Target) -> Self {
        let &Target { id, work, comparison, case, ours, peer, aim, note } = target;
        Self {
            id,
            work,
            comparison,
            parts: vec![Part { case: case.to_owned(), ours, peer, aim }],
            judged_by: Judge::Worst,
            note,
        }
    }
}

/// Every target.
pub(crate) fn all() -> Vec<Sweep> {
    let tables = [
        generators::sweeps(),
        fast_pool::sweeps(),
        copy::sweeps(),
        copy_regret::sweeps().into(),
        tracer::sweeps(),
    ];
    TARGETS.iter().map(Sweep::from).chain(tables.into_iter().flatten()).collect()
}

impl Sweep {
    /// Whether one of `filters` names it, or a word of what it does; no filter names all.
    pub(crate) fn matches(&self, filters: &[String]) -> bool {
        let named =
            |filter: &String| filter.eq_ignore_ascii_case(self.id) || self.work.contains(filter.as_str());
        filters.is_empty() || filters.iter().any(named)
    }
}

/// All but the prefetch is the same on both sides: split layout, state hoisted, input read ahead.
const EVERY_LINE: &str = "best";

/// A flush of the table of 2007, 256 locks: the best plan that walks, against the one that was.
const fn unlink(case: &'static str, work: &'static str, most: f64) -> Target {
    Target {
        id: "R2",
        work,
        comparison: "route-flush-two-cpus",
        case,
        ours: "skip-empty-per-lock",
        peer: "per-bucket",
        aim: Aim::AtMost(most),
        note: unlink_note,
    }
}

/// The cache against another map.
const fn cache(
    id: &'static str,
    case: &'static str,
    work: &'static str,
    peer: &'static str,
    most: f64,
) -> Target {
    Target {
        id,
        work,
        comparison: route_cache::NAME,
        case,
        ours: route_cache::OURS,
        peer,
        aim: Aim::AtMost(most),
        note: route_cache::note,
    }
}

/// A draw of the generator of 2020 with a reading of the clock at every eighth, against another.
const fn noise(work: &'static str, peer: &'static str, most: f64) -> Target {
    Target {
        id: "E6",
        work,
        comparison: "prng-noise",
        case: "draw",
        ours: "count-up",
        peer,
        aim: Aim::AtMost(most),
        note: noise_note,
    }
}

/// Every target of one case of which all parts exist.
pub(crate) const TARGETS: &[Target] = &[
    noise("SipHash prandom, clock at every 8th draw, against no clock", "plain", 1.15),
    noise("SipHash prandom, clock at every 8th draw, against clock at every draw", "every-draw", 0.35),
    Target {
        id: "E7",
        work: "2004 pool of 512 bytes, cold, 16 words a call: every line prefetched, against none",
        comparison: "pool-mix",
        case: "mix-cold",
        ours: EVERY_LINE,
        peer: "split+hoisted+ahead",
        aim: Aim::AtLeast(2.5),
        note: pool_note,
    },
    Target {
        id: "E7",
        work: "2004 pool of 512 bytes, cold, 16 words a call: every line prefetched, against as posted",
        comparison: "pool-mix",
        case: "mix-cold",
        ours: EVERY_LINE,
        peer: "as-posted",
        aim: Aim::AtLeast(1.5),
        note: pool_note,
    },
    unlink("empty-alone", "unlink phase, empty table, against per bucket", 0.4),
    unlink("sparse-alone", "unlink phase, 640 entries, against per bucket", 0.4),
    unlink("empty-reader", "unlink phase, empty table, a reader there, against per bucket", 0.15),
    unlink("sparse-reader", "unlink phase, 640 entries, a reader there, against per bucket", 0.15),
    unlink("full-reader", "unlink phase, 64K entries, a reader there, against per bucket", 0.5),
    cache(
        "R3",
        "flush-owning",
        "flush of 64K owning entries, foreground, against scc",
        route_cache::SCC,
        1.0,
    ),
    cache(
        "R4",
        "flush-plain",
        "flush of 64K plain entries, foreground, against sharded hashbrown",
        route_cache::SHARDED,
        1.0,
    ),
    cache(
        "R4",
        "reclaim-plain",
        "flush of 64K plain entries, all places free again, against sharded hashbrown",
        route_cache::SHARDED,
        1.0,
    ),
    cache(
        "R5",
        "lookup-1",
        "look-ups, 64K plain entries, 1 thread, against dashmap",
        route_cache::DASHMAP,
        1.0,
    ),
    cache(
        "R5",
        "lookup-1",
        "look-ups, 64K plain entries, 1 thread, against papaya",
        route_cache::PAPAYA,
        1.0,
    ),
    cache("R5", "lookup-1", "look-ups, 64K plain entries, 1 thread, against scc", route_cache::SCC, 1.0),
    cache(
        "R5",
        "lookup-1",
        "look-ups, 64K plain entries, 1 thread, against sharded hashbrown",
        route_cache::SHARDED,
        1.0,
    ),
    cache(
        "R5",
        "lookup-2",
        "look-ups, 64K plain entries, 2 threads, against dashmap",
        route_cache::DASHMAP,
        1.0,
    ),
    cache(
        "R5",
        "lookup-2",
        "look-ups, 64K plain entries, 2 threads, against papaya",
        route_cache::PAPAYA,
        1.0,
    ),
    cache("R5", "lookup-2", "look-ups, 64K plain entries, 2 threads, against scc", route_cache::SCC, 1.0),
    cache(
        "R5",
        "lookup-2",
        "look-ups, 64K plain entries, 2 threads, against sharded hashbrown",
        route_cache::SHARDED,
        1.0,
    ),
    cache(
        "R5",
        "insert",
        "insertions of 64K plain entries, 1 thread, against dashmap",
        route_cache::DASHMAP,
        1.2,
    ),
    Target {
        id: "T2",
        work: "one marker site of our own code, every second hit an event, against uprobe + uretprobe on a function \
               that saves registers",
        comparison: super::marker::NAME,
        case: super::marker::CASE,
        ours: super::marker::MARKER,
        peer: super::marker::FUNCTION,
        aim: Aim::AtMost(0.15),
        note: super::marker::saving_note,
    },
    Target {
        id: "T2",
        work: "one marker site of our own code, every second hit an event, against uprobe + uretprobe on a leaf \
               function",
        comparison: super::marker::NAME,
        case: super::marker::CASE,
        ours: super::marker::MARKER,
        peer: super::marker::LEAF,
        aim: Aim::AtMost(0.15),
        note: super::marker::leaf_note,
    },
];

fn noise_note() -> String {
    "draws one after the other, each a call; two rounds of SipHash and a counter that counts up".to_owned()
}

fn pool_note() -> String {
    "lock, counters, taps and words in no cache before each call".to_owned()
}

fn unlink_note() -> String {
    "16K buckets, 256 locks; entries are queued and not freed; wall time of the flush, which is CPU time but for what \
     it waits for a lock"
        .to_owned()
}
