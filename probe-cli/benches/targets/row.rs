//! A target with what was measured.

use std::fmt;

use probe_cli::harness::pairs::Paired;
use probe_cli::report::model::Ratio;
use probe_cli::stats::rng::Rng;
use probe_cli::stats::verdict::MAX_DROP_RATE;
use probe_cli::stats::{bootstrap, fdr, ratio};
use serde::Serialize;

use super::target::{Aim, Target};

/// Rows may hold one false discovery in twenty.
const FALSE_DISCOVERIES: f64 = 0.05;

/// One row of the table. Everything in it can be computed again from `pairs`.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    id: &'static str,
    work: &'static str,
    target: String,
    /// Null where nothing was measured; `note` says why.
    measured: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    met: bool,
    note: String,
    /// Ours and the peer's, ns for one operation, launch after launch.
    pairs: Vec<[f64; 2]>,
    /// Pairs of each launch, in the order of `pairs`.
    launches: Vec<usize>,
    /// Share of the pairs that the rules dropped.
    drop_rate: Option<f64>,
    /// Two-sided p-value of "the ratio is the target".
    p: Option<f64>,
    /// The same, corrected for the number of rows (Benjamini and Hochberg).
    q: Option<f64>,
    #[serde(skip)]
    aim: Aim,
}

impl Row {
    pub(crate) fn new(target: &Target, paired: Result<Paired, String>, quick: bool, rng: &mut Rng) -> Self {
        let (aim, goal) = match target.aim {
            Aim::AtLeast(goal) => (format!(">= {goal}x as fast"), goal),
            Aim::AtMost(goal) => (format!("<= {goal}x the time"), goal),
        };
        let mut row = Self {
            id: target.id,
            work: target.work,
            target: aim,
            measured: None,
            lo: None,
            hi: None,
            met: false,
            note: (target.note)(),
            pairs: Vec::new(),
            launches: Vec::new(),
            drop_rate: None,
            p: None,
            q: None,
            aim: target.aim,
        };
        match paired {
            Ok(paired) => row.fill(&paired, goal, rng),
            Err(reason) => row.note = reason,
        }
        if quick {
            row.note.push_str("; quick: a look, not a verdict");
        }
        row
    }

    fn fill(&mut self, paired: &Paired, goal: f64, rng: &mut Rng) {
        let launches = paired.ours.iter().zip(&paired.theirs).map(|(ours, theirs)| {
            let pairs = ours.iter().zip(theirs).filter_map(|(&ours, &theirs)| Some([ours?, theirs?]));
            pairs.collect::<Vec<_>>()
        });
        for launch in launches {
            self.launches.push(launch.len());
            self.pairs.extend(launch);
        }
        self.drop_rate = Some(paired.drop_rate);
        let logs = match self.aim {
            Aim::AtLeast(_) => ratio::paired_logs(&paired.theirs, &paired.ours),
            Aim::AtMost(_) => ratio::paired_logs(&paired.ours, &paired.theirs),
        };
        match ratio::ratio(&logs, rng) {
            Some(Ratio { value, ci95: [lo, hi] }) => {
                (self.measured, self.lo, self.hi) = (Some(value), Some(lo), Some(hi));
            }
            None => self.note.push_str("; too few launches with a pair for an interval"),
        }
        let from_goal: Vec<Vec<f64>> =
            logs.iter().map(|launch| launch.iter().map(|log| log - goal.ln()).collect()).collect();
        self.p = bootstrap::p_value(&from_goal);
        if paired.drop_rate > MAX_DROP_RATE {
            self.note.push_str("; more than a fifth of the pairs were dropped: not a verdict");
        }
    }

    /// Whether the worse end of the interval reaches the target, on pairs enough, and not by the number of rows.
    fn is_met(&self) -> bool {
        let reached = match self.aim {
            Aim::AtLeast(goal) => self.lo.is_some_and(|lo| lo >= goal),
            Aim::AtMost(goal) => self.hi.is_some_and(|hi| hi <= goal),
        };
        reached
            && self.q.is_some_and(|q| q <= FALSE_DISCOVERIES)
            && self.drop_rate.is_some_and(|rate| rate <= MAX_DROP_RATE)
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
        row.met = row.is_met();
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}\n    target {}", self.id, self.work, self.target)?;
        match (self.measured, self.lo, self.hi) {
            (Some(measured), Some(lo), Some(hi)) => {
                write!(f, ", measured {measured:.3} [{lo:.3}, {hi:.3}]")?;
                write!(f, ", {} pairs", self.pairs.len())?;
                if let Some(rate) = self.drop_rate {
                    write!(f, ", {:.1} % dropped", rate * 100.0)?;
                }
                f.write_str(if self.met { ": met" } else { ": not met" })?;
            }
            _ => f.write_str(": not measured")?,
        }
        write!(f, "\n    {}", self.note)
    }
}
