//! Two saved reports, row by row: what got slower, and what can be said at all.
//!
//! A variant is compared by its ratio to the baseline of its case, paired by block inside each run: what made the whole
//! machine slower in one of the runs leaves that ratio alone. The baseline itself has only its time. Over all rows that
//! may be judged, the false discovery rate is held at 5 % (Benjamini and Hochberg).

mod html;
mod judge;
mod same;
mod table;

pub use html::page as html;
pub use judge::compare;
pub use table::{csv, markdown, text};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::model::{Host, Ratio, Tool};

/// The value of [`Comparison::schema`].
pub const SCHEMA: &str = "probe-compare/1";
/// A row is called different where this share of such calls would be false, or fewer.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// What was found between two reports.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The run that is compared with.
    pub base: Side,
    /// The run that is judged.
    pub new: Side,
    /// Smallest change of interest, as a share of one.
    pub threshold: f64,
    /// Why no row of these two can be compared; empty where they can.
    pub not_comparable: Vec<String>,
    /// What differs and does not forbid comparing.
    pub differences: Vec<String>,
    /// One a variant, and one a question to the live kernel.
    pub rows: Vec<Row>,
}

/// One of the two runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Side {
    /// File, as it was named.
    pub file: String,
    /// When it began.
    pub started: String,
    /// Where it ran.
    pub host: Host,
    /// What measured it.
    pub tool: Tool,
}

/// One row of both.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Row {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the case, or size and tasks of a question to the live kernel.
    pub case: String,
    /// Name of the variant, or target.
    pub name: String,
    /// The variant whose ratio is compared; null where it is the time itself.
    pub against: Option<String>,
    /// Unit of both medians.
    pub unit: String,
    /// Median of the base run.
    pub base: Option<f64>,
    /// Median of the new run.
    pub new: Option<f64>,
    /// New over base, above 1 where it got slower.
    pub ratio: Option<Ratio>,
    /// p-value, adjusted for the number of rows; null where the row is not judged.
    pub q: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// What a row says.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Slower, by the threshold or more.
    Regression,
    /// Faster, by the threshold or more.
    Improvement,
    /// The interval lies inside the threshold.
    NoDifference,
    /// The interval does not say.
    Inconclusive,
    /// The two rows do not measure the same.
    NotComparable,
}

impl Verdict {
    /// Every verdict, worst first.
    pub const ALL: [Self; 5] =
        [Self::Regression, Self::Improvement, Self::NoDifference, Self::Inconclusive, Self::NotComparable];

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
            Self::NoDifference => "no difference",
            Self::Inconclusive => "inconclusive",
            Self::NotComparable => "not comparable",
        }
    }
}

impl Comparison {
    /// How many rows have `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// All verdicts that occur, counted, in a line.
    pub(crate) fn summary(&self) -> String {
        let counted = Verdict::ALL.map(|verdict| (self.count(verdict), verdict.name()));
        let counted: Vec<String> =
            counted.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        if counted.is_empty() { "no rows".to_owned() } else { counted.join(", ") }
    }
}
