//! Two commands, or two states of a machine, put against each other: launched in turn, one verdict a row.
//!
//! A comparison of two runs cannot know what else changed between them. Here both sides are launched in the order
//! A B B A, so that whatever drifts, drifts for both: [`plan`] says what is launched, [`state`] puts the machine into
//! the state of a side and back, [`launch`] does one launch with the live targets attached, [`judge`] pairs neighbours
//! and judges, [`table`] and [`html`] tell it. The noise is that of each side against itself, from the same launches.

pub mod html;
pub mod judge;
pub mod launch;
pub mod plan;
pub mod state;
pub mod table;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    compare::Verdict,
    report::model::{Host, LiveRow, ProbeCost, Ratio, Tool, Warning},
};

/// The value of [`Ab::schema`].
pub const SCHEMA: &str = "probe-ab/1";

/// What was found between two sides.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Ab {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The machine.
    pub host: Host,
    /// The program that measured.
    pub tool: Tool,
    /// When the first launch began, RFC 3339, UTC.
    pub started: String,
    /// Whether it was stopped before its end; the launches until then are here.
    pub interrupted: bool,
    /// The side that is compared with.
    pub a: SideReport,
    /// The side that is judged.
    pub b: SideReport,
    /// What ran beside the commands, or, without commands, what was launched on both sides.
    pub load: Option<String>,
    /// What put the machine back.
    pub undo: Option<String>,
    /// Pairs of launches that were made.
    pub pairs: usize,
    /// Smallest change of interest, as a share of one.
    pub threshold: f64,
    /// One row a metric.
    pub rows: Vec<Row>,
    /// One entry a live target.
    pub live: Vec<Live>,
    /// What each mechanism in use costs, by its name and `floor`.
    pub calibration: BTreeMap<String, ProbeCost>,
    /// Share of each side's time that the probes added by themselves: calls times what they add to one.
    pub probes_added: Option<[f64; 2]>,
    /// What a reader should know before believing a number.
    pub warnings: Vec<Warning>,
}

/// One side.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SideReport {
    /// The command that was launched; null where both sides launched the load.
    pub command: Option<String>,
    /// What put the machine into the state of this side.
    pub setup: Option<String>,
}

/// One metric.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Row {
    /// `wall time`, `CPU time`, the same of the load, or a target and its quantile.
    pub name: String,
    /// Always `ns`.
    pub unit: String,
    /// Median of A.
    pub a: Option<f64>,
    /// Median of B.
    pub b: Option<f64>,
    /// B over A, paired by neighbouring launches; above 1 where B takes longer.
    pub ratio: Option<Ratio>,
    /// Interval of each side against itself.
    pub noise: Option<[f64; 2]>,
    /// p-value, adjusted for the number of rows; null where the row is not judged.
    pub q: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
    /// One number a launch of A, in the order of the pairs; null where it gave none.
    pub samples_a: Vec<Option<f64>>,
    /// The same of B.
    pub samples_b: Vec<Option<f64>>,
}

/// A live target on both sides, all launches together.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Live {
    /// Side A.
    pub a: LiveRow,
    /// Side B.
    pub b: LiveRow,
}

impl Ab {
    /// How many rows have `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

/// The JSON Schema, the content of `schema/ab.schema.json`.
#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Ab);
    let mut text =
        serde_json::to_string_pretty(&schema).expect("a schema holds no map with keys that are not text");
    text.push('\n');
    text
}
