//! The cache against the maps that people use today: flushing, looking up, inserting.
//!
//! A flush with the refill after it is not here: it takes and gives back memory, and a batch that meets a page fault
//! does not count. Nor is scc with its reclamation: it cannot be asked to drop what it put off.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};
use probe_cli::stats::rng::Rng;

use super::route_map::{Map, OwningCache, Payload, Plain, PlainCache, Sharded};

pub(crate) const NAME: &str = "route-cache";

/// Entries of a full map.
const ENTRIES: usize = 64 * 1024;

/// Look-ups of one task in a batch.
const LOOKUPS: usize = 16 * 1024;

pub(crate) const OURS: &str = "flush-cache";
pub(crate) const DASHMAP: &str = "dashmap";
pub(crate) const PAPAYA: &str = "papaya";
pub(crate) const SCC: &str = "scc-index";
pub(crate) const SHARDED: &str = "sharded-hashbrown";

/// What a reader of every row has to know.
pub(crate) fn note() -> String {
    "one hasher for all; 256 shards where they can be chosen; wall time, and the worker is the only task at work but \
     for look-ups by two"
        .to_owned()
}

/// What one operation is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Job {
    /// The flush alone.
    Flush,
    /// The flush, and dropping what it put off.
    FlushAndReclaim,
    /// A look-up that finds.
    Lookup,
    /// An insertion into a map that has room.
    Insert,
}

struct Kind {
    case: &'static str,
    title: &'static str,
    job: Job,
    tasks: usize,
    owning: bool,
    maps: &'static [&'static str],
}

const ALL_MAPS: &[&str] = &[OURS, DASHMAP, PAPAYA, SCC, SHARDED];

const KINDS: [Kind; 6] = [
    Kind {
        case: "flush-owning",
        title: "flush of 64K values of 200 bytes, each an allocation",
        job: Job::Flush,
        tasks: 1,
        owning: true,
        maps: ALL_MAPS,
    },
    Kind {
        case: "flush-plain",
        title: "flush of 64K values of 32 bytes in the table",
        job: Job::Flush,
        tasks: 1,
        owning: false,
        maps: ALL_MAPS,
    },
    Kind {
        case: "reclaim-plain",
        title: "flush of 64K values of 32 bytes in the table, all places free again",
        job: Job::FlushAndReclaim,
        tasks: 1,
        owning: false,
        maps: &[OURS, DASHMAP, SHARDED],
    },
    Kind {
        case: "lookup-1",
        title: "look-ups that find one of 64K values of 32 bytes, 1 task",
        job: Job::Lookup,
        tasks: 1,
        owning: false,
        maps: ALL_MAPS,
    },
    Kind {
        case: "lookup-2",
        title: "look-ups that find one of 64K values of 32 bytes, 2 tasks",
        job: Job::Lookup,
        tasks: 2,
        owning: false,
        maps: ALL_MAPS,
    },
    Kind {
        case: "insert",
        title: "insertions of 64K values of 32 bytes into a flushed map",
        job: Job::Insert,
        tasks: 1,
        owning: false,
        maps: ALL_MAPS,
    },
];

/// Ours and its peers.
#[derive(Debug)]
pub(crate) struct RouteCache;

impl Comparison for RouteCache {
    fn name(&self) -> &str {
        NAME
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let variant = |name: &&str| VariantInfo {
            name: (*name).to_owned(),
            summary: String::new(),
            named: true,
            unavailable: None,
        };
        let case = |kind: &Kind| Case {
            name: kind.case.to_owned(),
            title: kind.title.to_owned(),
            tasks: kind.tasks,
            operation: match kind.job {
                Job::Flush | Job::FlushAndReclaim => "flush",
                Job::Lookup => "look-up",
                Job::Insert => "insertion",
            },
            variants: kind.maps.iter().map(variant).collect(),
        };
        KINDS.iter().map(case).collect()
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        let kind = kind_of(case);
        for &map in kind.maps {
            work(kind, map, 1).check().map_err(|what| format!("{map} {what}"))?;
        }
        Ok(format!(
            "{} maps of {ENTRIES} entries find every key before a flush and none after it",
            kind.maps.len()
        ))
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        let kind = kind_of(case);
        work(kind, kind.maps[variant], seed).into_workload()
    }
}

fn kind_of(case: &Case) -> &'static Kind {
    KINDS.iter().find(|kind| kind.case == case.name).unwrap_or(&KINDS[0])
}

type Dash<V> = dashmap::DashMap<u64, V, DefaultHashBuilder>;
type Papaya<V> = papaya::HashMap<u64, V, DefaultHashBuilder>;
type Index<V> = scc::HashIndex<u64, V, DefaultHashBuilder>;

/// A map at its job. Peers hold an owning value by an `Arc`, as ours does by itself.
fn work(kind: &Kind, map: &str, seed: u64) -> Box<dyn Checked> {
    match (map, kind.owning) {
        (DASHMAP, true) => Work::<Dash<Arc<Payload>>>::boxed(kind, seed),
        (DASHMAP, false) => Work::<Dash<Plain>>::boxed(kind, seed),
        (PAPAYA, true) => Work::<Papaya<Arc<Payload>>>::boxed(kind, seed),
        (PAPAYA, false) => Work::<Papaya<Plain>>::boxed(kind, seed),
        (SCC, true) => Work::<Index<Arc<Payload>>>::boxed(kind, seed),
        (SCC, false) => Work::<Index<Plain>>::boxed(kind, seed),
        (SHARDED, true) => Work::<Sharded<Arc<Payload>>>::boxed(kind, seed),
        (SHARDED, false) => Work::<Sharded<Plain>>::boxed(kind, seed),
        (_, true) => Work::<OwningCache>::boxed(kind, seed),
        (_, false) => Work::<PlainCache>::boxed(kind, seed),
    }
}

/// Something that can prove what it does before it is timed.
trait Checked {
    fn check(&self) -> Result<(), String>;
    fn into_workload(self: Box<Self>) -> Box<dyn Workload>;
}

/// A map, and the keys of its entries in the order of insertion and of look-up.
struct Work<M> {
    map: M,
    job: Job,
    keys: Vec<u64>,
    asked: Vec<u64>,
}

impl<M: Map + 'static> Work<M> {
    fn boxed(kind: &Kind, seed: u64) -> Box<dyn Checked> {
        let mut rng = Rng::new(seed);
        let distinct: BTreeSet<u64> = std::iter::repeat_with(|| rng.next_u64()).take(ENTRIES).collect();
        let mut keys: Vec<u64> = distinct.into_iter().collect();
        rng.shuffle(&mut keys);
        let asked = (0..2 * LOOKUPS).map(|_| keys[rng.below(keys.len())]).collect();
        let map = M::with_room(ENTRIES);
        keys.iter().for_each(|&key| map.insert(key));
        Box::new(Self { map, job: kind.job, keys, asked })
    }

    fn fill(&self) {
        self.keys.iter().for_each(|&key| self.map.insert(key));
    }

    fn found(&self) -> usize {
        self.keys.iter().filter(|&&key| self.map.read(key) == Some(key)).count()
    }

    /// Empties the map and drops what was in it, as far as the map lets us.
    fn empty(&self) {
        self.map.flush();
        self.map.reclaim();
    }
}

impl<M: Map + 'static> Checked for Work<M> {
    fn check(&self) -> Result<(), String> {
        let present = self.found();
        if present != self.keys.len() {
            return Err(format!("finds {present} of {} keys", self.keys.len()));
        }
        self.map.flush();
        let left = self.found();
        if left > 0 {
            return Err(format!("finds {left} keys after the flush"));
        }
        self.map.reclaim();
        match self.map.waiting() {
            0 => Ok(()),
            waiting => Err(format!("keeps {waiting} flushed entries though asked to drop them")),
        }
    }

    fn into_workload(self: Box<Self>) -> Box<dyn Workload> {
        self
    }
}

impl<M: Map + 'static> Workload for Work<M> {
    fn reset(&mut self) {
        match self.job {
            Job::Flush | Job::FlushAndReclaim => {
                self.empty();
                self.fill();
            }
            Job::Insert => self.empty(),
            // What is there is what the last batch left: all of it.
            Job::Lookup => {}
        }
    }

    fn run(&self, task: usize) -> u64 {
        match self.job {
            Job::Flush => {
                self.map.flush();
                1
            }
            Job::FlushAndReclaim => {
                self.empty();
                1
            }
            Job::Lookup => {
                let start = task % 2 * LOOKUPS;
                let asked = &self.asked[start..start + LOOKUPS];
                let found = asked.iter().filter(|&&key| black_box(self.map.read(key)).is_some()).count();
                found as u64
            }
            Job::Insert => {
                self.fill();
                self.keys.len() as u64
            }
        }
    }
}
