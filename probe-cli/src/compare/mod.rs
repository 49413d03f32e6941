//! Two saved reports or sessions, row by row: what got slower, and what can be said at all.
//!
//! A variant is compared by its ratio to the baseline of its case, paired by block inside each run: what made the whole
//! machine slower in one of the runs leaves that ratio alone. The baseline itself has only its time, and a traced row
//! its quantiles. What changes between runs and not inside them is estimated from how far the rows scatter, and widens
//! every interval. Over all rows that may be judged, the false discovery rate is held at 5 % (Benjamini and Hochberg).

mod html;
mod judge;
mod reports;
mod same;
mod sessions;
mod table;

pub use html::page as html;
pub(crate) use judge::read;
pub use table::{csv, markdown, text};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{judge::Found, same::Facts};
use crate::{
    report::model::{Host, Ratio, Report, Tool},
    stats::rng::Rng,
    trace::document::Session,
};

/// The value of [`Comparison::schema`].
pub const SCHEMA: &str = "probe-compare/1";
/// A row is called different where this share of such calls would be false, or fewer.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Where the bootstrap begins: one comparison gives one answer.
const SEED: u64 = 1995;

/// Compares `new` with `base`, both with the name of their file; `threshold` is the smallest change of interest, as a
/// share of one.
#[must_use]
pub fn reports(base: (&str, &Report), new: (&str, &Report), threshold: f64) -> Comparison {
    let rows = reports::rows(base.1, new.1, &mut Rng::new(SEED));
    compare((base.0, base.1.into()), (new.0, new.1.into()), threshold, rows)
}

/// The same for sessions. A change under an eighth may hide inside a bucket, so no smaller one is of interest.
#[must_use]
pub fn sessions(base: (&str, &Session), new: (&str, &Session), threshold: f64) -> Comparison {
    let rows = sessions::rows(base.1, new.1, &mut Rng::new(SEED));
    let threshold = threshold.max(sessions::RESOLUTION);
    compare((base.0, base.1.into()), (new.0, new.1.into()), threshold, rows)
}

fn compare(
    base: (&str, Facts<'_>),
    new: (&str, Facts<'_>),
    threshold: f64,
    mut found: Vec<Found>,
) -> Comparison {
    let (not_comparable, differences) = same::differences(&base.1, &new.1);
    if let Some(why) = not_comparable.first() {
        for found in &mut found {
            found.doubt = Some((Verdict::NotComparable, why.clone()));
        }
    }
    let (rows, scatter) = judge::judge(found, threshold);
    let side = |(file, facts): (&str, Facts<'_>)| Side {
        file: file.to_owned(),
        started: facts.started.to_owned(),
        host: facts.host.clone(),
        tool: facts.tool.clone(),
    };
    Comparison {
        schema: SCHEMA.to_owned(),
        base: side(base),
        new: side(new),
        threshold,
        not_comparable,
        differences,
        scatter,
        rows,
    }
}

/// The JSON Schema of a comparison, the content of `schema/compare.schema.json`.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Comparison);
    let mut text =
        serde_json::to_string_pretty(&schema).expect("a schema holds no map with keys that are not text");
    text.push('\n');
    text
}

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
    /// How far rows of a kind scatter, and what was made of it.
    pub scatter: Vec<Scatter>,
    /// One a variant and one a question to the live kernel, or one a quantile of a traced row.
    pub rows: Vec<Row>,
}

/// How far the rows of a kind scatter between the runs, beyond what their launches explain.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Scatter {
    /// The kind.
    pub quantity: Quantity,
    /// Rows that it was estimated from.
    pub rows: usize,
    /// By how much the intervals were widened, at least 1; null where there were too few rows to tell.
    pub factor: Option<f64>,
}

/// What of a row is compared.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Its ratio to the baseline of its case.
    Ratio,
    /// Its time.
    Time,
    /// A quantile of a traced row.
    Quantile,
}

impl Quantity {
    /// Every quantity.
    pub const ALL: [Self; 3] = [Self::Ratio, Self::Time, Self::Quantile];

    /// In words, many of them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratios",
            Self::Time => "times",
            Self::Quantile => "quantiles",
        }
    }
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
    /// Name of the experiment, or the target of a session.
    pub experiment: String,
    /// Name of the case, size and tasks of a question to the live kernel, or what sets a traced row apart.
    pub case: String,
    /// Name of the variant, target, or quantile.
    pub name: String,
    /// What of it is compared.
    pub quantity: Quantity,
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

    /// Whether no row of one side may be held against one of the other.
    #[must_use]
    pub fn nothing_comparable(&self) -> bool {
        self.rows.iter().all(|row| row.verdict == Verdict::NotComparable)
    }

    /// All verdicts that occur, counted, in a line.
    pub(crate) fn summary(&self) -> String {
        let counted = Verdict::ALL.map(|verdict| (self.count(verdict), verdict.name()));
        let counted: Vec<String> =
            counted.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        if counted.is_empty() { "no rows".to_owned() } else { counted.join(", ") }
    }
}
