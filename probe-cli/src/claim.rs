//! What a mail claims, as data written before measuring: one file an experiment, in `claims/`.

use serde::Deserialize;

/// One file of `claims/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Name of the experiment.
    pub experiment: String,
    /// What is asked, in one line.
    pub question: String,
    /// Where it was said.
    pub mail: Mail,
    /// What was said.
    pub claim: Statement,
    /// What of it can be judged at the routine's own level.
    pub mechanism: MechanismTest,
}

/// A mail to a kernel list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// Author.
    pub from: String,
    /// ISO date.
    pub date: String,
    /// Subject, without tags.
    pub subject: String,
}

/// The claim at the mail's own level.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// In a sentence.
    pub text: String,
    /// What was measured.
    pub metric: String,
    /// A routine, a system call, a whole operation.
    pub level: String,
    /// Which way the metric should move.
    pub direction: Direction,
    /// As a share of one.
    pub smallest_effect: f64,
    /// Fewest CPUs.
    pub min_cpus: u32,
    /// What else it needs.
    pub hardware: String,
    /// What is not believed, and why.
    pub doubt: Option<String>,
    /// The mail's figures.
    pub numbers: Vec<Figure>,
}

/// A pair of figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The condition.
    pub what: String,
    /// Without the patch.
    pub before: f64,
    /// With it.
    pub after: f64,
    /// As printed.
    pub unit: String,
    /// Half a unit of the last printed digit.
    pub rounding: f64,
}

/// Which rows judge the mechanism.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanismTest {
    /// In a sentence.
    pub text: String,
    /// The level of it.
    pub level: String,
    /// Name of the case.
    pub case: String,
    /// Variant before.
    pub baseline: String,
    /// Variant after.
    pub candidate: String,
    /// Which way the time should move.
    pub direction: Direction,
    /// As a share of one.
    pub smallest_effect: f64,
    /// Fewest CPUs.
    pub min_cpus: u32,
}

/// Which way a number moves when the mail is right.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// It grows.
    Higher,
    /// It shrinks.
    Lower,
}
