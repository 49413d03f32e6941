//! How much is lost by what the policy decides: its time against the best path of each cell, chosen by hindsight.
//!
//! The best path for one half of the launches is chosen on the other: the winner of a race of equals is lucky, and its
//! luck must not count against the policy.

use copy_engine::{Engine, NextUse, Policy, Selection};
use probe_cli::experiment::page_copy::blocks::{Blocks, Lines, Mover, Shape};
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};
use probe_cli::harness::pairs::{self, Paired};
use probe_cli::harness::run::Measured;
use probe_cli::stats::quantile::median;
use probe_cli::sys::arena::Pages;

use super::target::{Aim, Judge, Part, Sweep};

const NAME: &str = "copy-regret";
const POLICY: &str = "policy";
/// Every path that a policy may take, by the routine that the engine has for it.
const PATHS: [&str; 4] = ["cached", "long", "ahead", "stream"];
/// Stands for the path that was best in the other launches.
pub(crate) const BEST: &str = "best-path";

const SIZES: [(usize, &str); 10] = [
    (64, "64"),
    (256, "256"),
    (1 << 10, "1K"),
    (4 << 10, "4K"),
    (16 << 10, "16K"),
    (64 << 10, "64K"),
    (256 << 10, "256K"),
    (1 << 20, "1M"),
    (4 << 20, "4M"),
    (16 << 20, "16M"),
];

/// The state before, what happens after, and what a caller who knows both says.
const SITUATIONS: [(&str, Lines, bool, NextUse); 4] = [
    ("hot-left", Lines::Hot, false, NextUse::ReadSoon),
    ("hot-read", Lines::Hot, true, NextUse::ReadSoon),
    ("cold-left", Lines::Cold, false, NextUse::NotRead),
    ("cold-read", Lines::Cold, true, NextUse::ReadSoon),
];

/// The policy against each path, cell by cell.
#[derive(Debug)]
pub(crate) struct CopyRegret;

fn cells() -> impl Iterator<Item = (String, usize, (&'static str, Lines, bool, NextUse))> {
    SIZES.iter().flat_map(|&(bytes, size)| {
        SITUATIONS.iter().map(move |&situation| (format!("{}-{size}", situation.0), bytes, situation))
    })
}

fn mover(variant: &str, next: NextUse) -> Option<Mover> {
    let engine = Engine::detect();
    let Selection { cached, long, ahead, stream, .. } = engine.selection();
    let routine = match variant {
        POLICY => return Some(Mover::Single(engine, next)),
        "cached" => cached,
        "long" => long,
        "ahead" => ahead,
        "stream" => stream,
        _ => return None,
    };
    let forced = engine.with_policy(Policy::CachedAlways).with_cached(routine.on_this_cpu()?);
    Some(Mover::Single(forced, next))
}

fn shape(bytes: usize, lines: Lines, read_at_once: bool) -> Shape {
    const BATCH_BYTES: usize = 1 << 20;
    let copies = (BATCH_BYTES / bytes).clamp(1, 1000);
    let hot = lines == Lines::Hot;
    Shape {
        one_place: hot,
        shuffled: !hot,
        read_at_once,
        pages: Pages::Huge,
        ..Shape::new(bytes, copies, lines)
    }
}

impl Comparison for CopyRegret {
    fn name(&self) -> &str {
        NAME
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let case = |(name, bytes, (situation, _, _, next)): (String, usize, _)| Case {
            name,
            title: format!("{bytes} bytes, {situation}, told {next}"),
            tasks: 1,
            operation: "copy",
            variants: [POLICY]
                .into_iter()
                .chain(PATHS)
                .map(|variant| VariantInfo {
                    name: variant.to_owned(),
                    summary: variant.to_owned(),
                    named: true,
                    unavailable: mover(variant, next).is_none().then(|| "not on this processor".to_owned()),
                })
                .collect(),
        };
        cells().map(case).collect()
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        let (bytes, lines, read, next) =
            find(case).ok_or_else(|| format!("there is no case {}", case.name))?;
        let outcome = |variant: &VariantInfo| {
            Some(Blocks::new(shape(bytes, lines, read), mover(&variant.name, next)?, 1, 2009).outcome().0)
        };
        let mut outcomes = case.variants.iter().filter_map(outcome);
        let first = outcomes.next();
        match outcomes.all(|other| Some(&other) == first.as_ref()) {
            true => Ok("the same bytes by the policy and by every path".to_owned()),
            false => Err("a path leaves other bytes than the policy".to_owned()),
        }
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        let (bytes, lines, read, next) = find(case).expect("the cases are made from the cells");
        let mover = mover(&case.variants[variant].name, next).expect("only what is available is prepared");
        Box::new(Blocks::new(shape(bytes, lines, read), mover, 1, seed))
    }
}

fn find(case: &Case) -> Option<(usize, Lines, bool, NextUse)> {
    let (_, bytes, (_, lines, read, next)) = cells().find(|(name, ..)| *name == case.name)?;
    Some((bytes, lines, read, next))
}

/// The policy against the path that was best in the other half of the launches: those of even number are scored by the
/// choice of the odd ones, and the other way round, so that every launch counts and none chooses for itself.
///
/// # Errors
///
/// As [`pairs::paired`].
pub(crate) fn paired(measured: &Measured, cpus: usize, case: &str) -> Result<Paired, String> {
    let paths = PATHS.iter().map(|path| pairs::paired(&CopyRegret, measured, cpus, case, POLICY, path));
    let paths: Vec<Paired> = paths.filter_map(Result::ok).collect();
    let chosen = [best_in(&paths, 0), best_in(&paths, 1)];
    let [Some(by_even), Some(by_odd)] = chosen else {
        return Err(format!("no path was measured in both halves of the launches of {case}"));
    };
    let of_the_other_half = |launch: usize| if launch.is_multiple_of(2) { by_odd } else { by_even };
    let launches = 0..by_even.ours.len();
    Ok(Paired {
        ours: launches.clone().map(|launch| of_the_other_half(launch).ours[launch].clone()).collect(),
        theirs: launches.map(|launch| of_the_other_half(launch).theirs[launch].clone()).collect(),
        drop_rate: by_even.drop_rate.max(by_odd.drop_rate),
        drops: Vec::new(),
    })
}

/// The path against which the policy looks worst in every second launch from `half` on.
fn best_in(paths: &[Paired], half: usize) -> Option<&Paired> {
    let regret = |paired: &Paired| {
        let launches = paired.ours.iter().zip(&paired.theirs).skip(half).step_by(2);
        let pairs = launches.flat_map(|(ours, theirs)| ours.iter().zip(theirs));
        median(&pairs.filter_map(|(&ours, &theirs)| Some(ours? / theirs?)).collect::<Vec<f64>>())
    };
    let scored = paths.iter().filter_map(|paired| Some((regret(paired)?, paired)));
    scored.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, paired)| paired)
}

/// The targets: the worst cell, and the one in the middle.
pub(crate) fn sweeps() -> [Sweep; 2] {
    let sweep = |work, most, judged_by| Sweep {
        id: "C9",
        work,
        comparison: NAME,
        parts: cells()
            .map(|(case, ..)| Part { case, ours: POLICY, peer: BEST, aim: Aim::AtMost(most) })
            .collect(),
        judged_by,
        note,
    };
    [
        sweep(
            "copy policy's regret, worst cell of size, hot or cold, read at once or left",
            1.15,
            Judge::Worst,
        ),
        sweep(
            "copy policy's regret, median cell of size, hot or cold, read at once or left",
            1.05,
            Judge::Median,
        ),
    ]
}

fn note() -> String {
    "the best path of each cell was chosen on one half of the launches for the other half".to_owned()
}
