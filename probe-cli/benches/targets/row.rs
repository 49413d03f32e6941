//! A target with what was measured.

use std::fmt;

use probe_cli::harness::pairs::Paired;
use probe_cli::report::model::Ratio;
use probe_cli::stats::bootstrap::Estimate;
use probe_cli::stats::rng::Rng;
use probe_cli::stats::verdict::MAX_DROP_RATE;
use probe_cli::stats::{bootstrap, fdr, ratio};
use serde::Serialize;

use super::target::{Aim, Judge, Part, Sweep};

/// Rows may hold one false discovery in twenty.
const FALSE_DISCOVERIES: f64 = 0.05;

/// One row of the table. Everything in it can be computed again from the pairs of its parts.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    id: &'static str,
    work: &'static str,
    /// What is aimed at, part by part where the parts differ.
    target: String,
    met: bool,
    note: String,
    /// Two-sided p-value of "the ratio is the target", of the part with the largest.
    p: Option<f64>,
    /// The same, corrected for the number of rows (Benjamini and Hochberg).
    q: Option<f64>,
    /// The part that decides, as the row's own fields: the one farthest from its aim, or the one in the middle.
    #[serde(flatten)]
    worst: Measurement,
    /// All parts, where there is more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Measurement>,
}

/// One case against its aim.
#[derive(Clone, Debug, Serialize)]
struct Measurement {
    /// The case.
    case: String,
    /// What is aimed at in it.
    aim: String,
    /// Null where nothing was measured; `missing` says why.
    measured: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    /// Whether the worse end of the interval reaches the aim, on pairs enough.
    reached: bool,
    /// Ours and the peer's, ns for one operation, launch after launch.
    pairs: Vec<[f64; 2]>,
    /// Pairs of each launch, in the order of `pairs`.
    launches: Vec<usize>,
    /// Share of the pairs that the rules dropped.
    drop_rate: Option<f64>,
    /// Dropped pairs, by the rule they broke first.
    drops: Vec<(&'static str, u64)>,
    /// Why there is no verdict.
    missing: Option<String>,
    #[serde(skip)]
    p: Option<f64>,
    /// How far inside the aim the worse end is; what was not measured is farthest out.
    #[serde(skip)]
    margin: f64,
}

impl Row {
    pub(crate) fn new(
        target: &Sweep,
        paired: impl Fn(&Part) -> Result<Paired, String>,
        quick: bool,
        rng: &mut Rng,
    ) -> Self {
        let mut parts: Vec<Measurement> =
            target.parts.iter().map(|part| Measurement::new(part, paired(part), rng)).collect();
        let mut by_margin: Vec<&Measurement> = parts.iter().collect();
        by_margin.sort_by(|a, b| a.margin.total_cmp(&b.margin));
        let (place, deciding) = match target.judged_by {
            Judge::Worst => ("the worst", 0),
            // Of an even number the worse of the two in the middle.
            Judge::Median => ("the median", (by_margin.len() - 1) / 2),
        };
        let worst = (*by_margin.get(deciding).expect("every target has a part")).clone();
        let mut note = (target.note)();
        if parts.len() == 1 {
            parts.clear();
        } else {
            note.push_str(&format!("; {} cases, shown is {place}, {}", parts.len(), worst.case));
        }
        if let Some(missing) = &worst.missing {
            note.push_str(&format!("; {missing}"));
        }
        if quick {
            note.push_str("; quick: a look, not a verdict");
        }
        // A row is a discovery only if every part is: the largest p-value stands for all.
        let one = parts.is_empty() || target.judged_by == Judge::Median;
        let every = if one { std::slice::from_ref(&worst) } else { &parts };
        let p = every.iter().map(|part| part.p).try_fold(0.0, |most: f64, p| Some(most.max(p?)));
        Self {
            id: target.id,
            work: target.work,
            target: aims(&target.parts),
            met: false,
            note,
            p,
            q: None,
            worst,
            parts,
        }
    }
}

/// The aims of all parts, each once, with the cases it holds in where there is more than one.
fn aims(parts: &[Part]) -> String {
    let mut aims: Vec<(String, Vec<&str>)> = Vec::new();
    for part in parts {
        let aim = part.aim.to_string();
        match aims.iter_mut().find(|(known, _)| *known == aim) {
            Some((_, cases)) => cases.push(&part.case),
            None => aims.push((aim, vec![&part.case])),
        }
    }
    if let [(aim, _)] = &aims[..] {
        return aim.clone();
    }
    aims.iter().map(|(aim, cases)| format!("{aim} in {}", cases.join(", "))).collect::<Vec<_>>().join("; ")
}

impl Measurement {
    fn new(part: &Part, paired: Result<Paired, String>, rng: &mut Rng) -> Self {
        let mut measurement = Self {
            case: part.case.clone(),
            aim: part.aim.to_string(),
            measured: None,
            lo: None,
            hi: None,
            reached: false,
            pairs: Vec::new(),
            launches: Vec::new(),
            drop_rate: None,
            drops: Vec::new(),
            missing: None,
            p: None,
            margin: f64::NEG_INFINITY,
        };
        match paired {
            Ok(paired) => measurement.fill(part.aim, &paired, rng),
            Err(reason) => measurement.missing = Some(reason),
        }
        measurement
    }

    fn fill(&mut self, aim: Aim, paired: &Paired, rng: &mut Rng) {
        for (ours, theirs) in paired.ours.iter().zip(&paired.theirs) {
            let pairs = ours.iter().zip(theirs).filter_map(|(&ours, &theirs)| Some([ours?, theirs?]));
            let before = self.pairs.len();
            self.pairs.extend(pairs);
            self.launches.push(self.pairs.len() - before);
        }
        self.drop_rate = Some(paired.drop_rate);
        self.drops.clone_from(&paired.drops);
        // What is estimated, launch by launch, and where the aim lies on that scale.
        let (samples, goal) = match aim {
            Aim::AtLeast(goal) => (ratio::paired_logs(&paired.theirs, &paired.ours), goal.ln()),
            Aim::AtMost(goal) => (ratio::paired_logs(&paired.ours, &paired.theirs), goal.ln()),
            Aim::NsMore(goal) => (differences(paired), goal),
        };
        let interval = match aim {
            Aim::AtLeast(_) | Aim::AtMost(_) => {
                ratio::ratio(&samples, rng).map(|Ratio { value, ci95: [lo, hi] }| [value, lo, hi])
            }
            Aim::NsMore(_) => bootstrap::estimate(&samples, rng)
                .and_then(|Estimate { value, ci95, .. }| ci95.map(|[lo, hi]| [value, lo, hi])),
        };
        let from_goal: Vec<Vec<f64>> =
            samples.iter().map(|launch| launch.iter().map(|sample| sample - goal).collect()).collect();
        self.p = bootstrap::p_value(&from_goal);
        let Some([value, lo, hi]) = interval else {
            self.missing = Some("too few launches with a pair for an interval".to_owned());
            return;
        };
        (self.measured, self.lo, self.hi) = (Some(value), Some(lo), Some(hi));
        self.margin = aim.margin(lo, hi);
        if paired.drop_rate > MAX_DROP_RATE {
            self.missing = Some("more than a fifth of the pairs were dropped: not a verdict".to_owned());
            self.margin = f64::NEG_INFINITY;
        }
        self.reached = self.margin >= 0.0;
    }
}

/// Ours less theirs, ns, of every pair.
fn differences(paired: &Paired) -> Vec<Vec<f64>> {
    let launch = |(ours, theirs): (&Vec<Option<f64>>, &Vec<Option<f64>>)| {
        ours.iter().zip(theirs).filter_map(|(&ours, &theirs)| Some(ours? - theirs?)).collect()
    };
    paired.ours.iter().zip(&paired.theirs).map(launch).collect()
}

impl Aim {
    /// How far the worse end of an interval is inside the aim, in shares of it; negative outside.
    fn margin(self, lo: f64, hi: f64) -> f64 {
        match self {
            Self::AtLeast(goal) => (lo / goal).ln(),
            Self::AtMost(goal) => (goal / hi).ln(),
            Self::NsMore(goal) => (goal - hi) / goal,
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(goal) => write!(f, ">= {goal}x as fast"),
            Self::AtMost(goal) => write!(f, "<= {goal}x the time"),
            Self::NsMore(goal) => write!(f, "<= {goal} ns more"),
        }
    }
}

/// Corrects for the number of rows, and decides which targets are met.
pub(crate) fn control_false_discovery(rows: &mut [Row]) {
    let p_values: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let q_values = fdr::benjamini_hochberg(&p_values);
    for (row, q) in rows.iter_mut().filter(|row| row.p.is_some()).zip(q_values) {
        row.q = Some(q);
    }
    for row in rows {
        // The worst part is inside its aim only if all are; and not by the number of rows.
        row.met = row.worst.reached && row.q.is_some_and(|q| q <= FALSE_DISCOVERIES);
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}\n    target {}: ", self.id, self.work, self.target)?;
        f.write_str(if self.met { "met" } else { "not met" })?;
        let parts = if self.parts.is_empty() { std::slice::from_ref(&self.worst) } else { &self.parts };
        for part in parts {
            write!(f, "\n    {part}")?;
        }
        write!(f, "\n    {}", self.note)
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16} {}", self.case, self.aim)?;
        match (self.measured, self.lo, self.hi) {
            (Some(measured), Some(lo), Some(hi)) => {
                write!(f, ", measured {measured:.3} [{lo:.3}, {hi:.3}], {} pairs", self.pairs.len())?;
                if let Some(rate) = self.drop_rate {
                    write!(f, ", {:.1} % dropped", rate * 100.0)?;
                }
                f.write_str(if self.reached { "" } else { "  <-" })
            }
            _ => f.write_str(": not measured"),
        }?;
        if self.drop_rate.is_some_and(|rate| rate > MAX_DROP_RATE) {
            let drops: Vec<String> = self.drops.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
            write!(f, " (dropped: {})", drops.join(", "))?;
        }
        Ok(())
    }
}
