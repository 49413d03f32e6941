//! What a mail claims, as data written before measuring: one file an experiment, in `claims/`.

use serde::Deserialize;

use crate::report::model::ClaimNumber;
use crate::stats::quantile::{median, median_in_place, quantile};
use crate::stats::rng::Rng;

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
    /// Whether the metric counts work in a time, or time for a work.
    #[serde(default)]
    pub quantity: Quantity,
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
    /// Which rows measure the mail's metric at the mail's level; none if the lab only has the mechanism.
    pub test: Option<ClaimTest>,
}

/// Rows at the mail's own level.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimTest {
    /// Name of the case.
    pub case: String,
    /// Variant before.
    pub baseline: String,
    /// Variant after.
    pub candidate: String,
}

/// What a metric counts.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Work done in a time.
    #[default]
    Rate,
    /// Time taken by a work.
    Time,
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
    /// What the pair is the medians of, where the mail prints every sample.
    pub samples: Option<Samples>,
}

/// All samples of a pair of figures, in the same unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// Without the patch.
    pub before: Vec<f64>,
    /// With it.
    pub after: Vec<f64>,
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

/// Why a file of `claims/` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It is not TOML, or a field is missing, unknown or of another type.
    #[error("a claim file cannot be read")]
    Syntax(#[from] toml::de::Error),
    /// A number cannot be what it is said to be.
    #[error("the claim of {experiment} cannot be used: {field} is {value}, and must be {must}")]
    Value {
        /// Which claim.
        experiment: String,
        /// Which field.
        field: String,
        /// Its value.
        value: f64,
        /// What is allowed.
        must: &'static str,
    },
}

impl Claim {
    /// Reads one file of `claims/`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ClaimError> {
        let claim: Self = toml::from_str(text)?;
        claim.validate()?;
        Ok(claim)
    }

    /// The claim in a file that was compiled into this program.
    ///
    /// # Panics
    ///
    /// If it cannot be used: then the program was built from a broken file, which the tests refuse.
    #[must_use]
    pub fn embedded(text: &str) -> Self {
        match Self::parse(text) {
            Ok(claim) => claim,
            Err(ClaimError::Syntax(error)) => panic!("a claim file cannot be read: {error}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Whether the numbers can be computed with: no figure divides by zero or leaves its sign open.
    fn validate(&self) -> Result<(), ClaimError> {
        let check = |good: bool, field: &str, value, must| {
            let field = field.to_owned();
            let experiment = self.experiment.clone();
            if good { Ok(()) } else { Err(ClaimError::Value { experiment, field, value, must }) }
        };
        let share = "more than 0 and less than 1";
        for (field, effect) in [
            ("claim.smallest_effect", self.claim.smallest_effect),
            ("mechanism.smallest_effect", self.mechanism.smallest_effect),
        ] {
            check(effect > 0.0 && effect < 1.0, field, effect, share)?;
        }
        for (field, cpus) in
            [("claim.min_cpus", self.claim.min_cpus), ("mechanism.min_cpus", self.mechanism.min_cpus)]
        {
            check(cpus > 0, field, f64::from(cpus), "at least 1")?;
        }
        for figure in &self.claim.numbers {
            let Figure { what, before, after, rounding, .. } = figure;
            let finite = before.is_finite() && after.is_finite() && rounding.is_finite();
            let field = format!("rounding of the figure for {what}");
            check(*rounding >= 0.0 && finite, &field, *rounding, "a finite number, at least 0")?;
            for (name, value) in [("before", *before), ("after", *after)] {
                check(value > *rounding, &format!("{name} of {what}"), value, "larger than its rounding")?;
            }
            let Some(Samples { before: befores, after: afters }) = &figure.samples else { continue };
            for (name, value, samples) in [("before", *before, befores), ("after", *after, afters)] {
                let good = samples.iter().all(|sample| sample.is_finite() && *sample > 0.0);
                let field = format!("{name} of {what}");
                check(
                    good && median(samples) == Some(value),
                    &field,
                    value,
                    "the median of its samples, all above 0",
                )?;
            }
        }
        Ok(())
    }
}

impl Figure {
    /// After over before, with the interval that the samples leave, or where there are none the printed digits.
    #[must_use]
    pub fn ratio(&self) -> ClaimNumber {
        let Self { what, before, after, rounding, samples, .. } = self;
        let interval = samples.as_ref().map_or_else(
            || [(after - rounding) / (before + rounding), (after + rounding) / (before - rounding)],
            Samples::interval,
        );
        ClaimNumber { what: what.clone(), ratio: after / before, interval }
    }
}

impl Samples {
    /// Draws of the bootstrap: the third digit of the interval stands still.
    const RESAMPLES: usize = 20_000;

    /// 95 % of the ratios of medians, both sides drawn anew; the same on every call.
    fn interval(&self) -> [f64; 2] {
        let mut rng = Rng::new(0);
        let mut draw = Vec::new();
        let mut redrawn = |samples: &[f64]| {
            draw.clear();
            draw.extend(samples.iter().map(|_| samples[rng.below(samples.len())]));
            median_in_place(&mut draw)
        };
        let mut ratios: Vec<f64> = (0..Self::RESAMPLES)
            .filter_map(|_| {
                let before = redrawn(&self.before)?;
                Some(redrawn(&self.after)? / before)
            })
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        [0.025, 0.975].map(|level| quantile(&ratios, level).unwrap_or(f64::NAN))
    }
}

impl Direction {
    /// The other way.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Higher => Self::Lower,
            Self::Lower => Self::Higher,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL_MIX: &str = include_str!("../claims/pool-mix.toml");

    #[test]
    fn every_claim_file_can_be_used() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/claims");
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let claim = Claim::parse(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
            assert_eq!(Some(claim.experiment.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
            files += 1;
        }
        assert!(files > 0);
    }

    #[test]
    fn a_figure_is_as_wide_as_its_rounding() {
        let claim = Claim::embedded(POOL_MIX);
        let four = claim.claim.numbers[1].ratio();
        // 1.9 / 0.4; 1.85 / 0.45; 1.95 / 0.35.
        for (found, expected) in
            [(four.ratio, 4.75), (four.interval[0], 4.111_111), (four.interval[1], 5.571_429)]
        {
            assert!((found - expected).abs() < 1e-6, "{four:?}");
        }
        assert_eq!(claim.claim.quantity, Quantity::Rate);
        assert_eq!(claim.claim.test.map(|test| test.case), Some("read-4".to_owned()));
    }

    #[test]
    fn figures_with_samples_are_as_wide_as_their_samples() {
        let samples = Samples { before: vec![1.0, 1.0, 1.0], after: vec![2.0, 2.0, 2.0] };
        assert_eq!(samples.interval(), [2.0, 2.0]);
        // A median of one of two values each: the ratios are 1/2, 1 and 2, each far more often than 1 in 40.
        let samples = Samples { before: vec![1.0, 1.0, 2.0], after: vec![1.0, 1.0, 2.0] };
        assert_eq!(samples.interval(), [0.5, 2.0]);
    }

    #[test]
    fn a_figure_is_the_median_of_its_samples() {
        let with = |samples: &str| {
            let number = "[[claim.numbers]]\nwhat = \"x\"\nbefore = 1\nafter = 2\nunit = \"u\"\nrounding = 0";
            Claim::parse(&POOL_MIX.replacen(
                "[[claim.numbers]]",
                &format!("{number}\nsamples = {samples}\n\n[[claim.numbers]]"),
                1,
            ))
        };
        with("{ before = [1, 1, 2], after = [1, 2, 3] }").unwrap();
        for samples in [
            "{ before = [1, 2], after = [2] }",
            "{ before = [], after = [2] }",
            "{ before = [1, 1, -1], after = [2] }",
        ] {
            let error = with(samples).unwrap_err();
            assert!(error.to_string().contains("before of x"), "{error}");
        }
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_by_name() {
        for (from, to, field) in [
            ("before = 0.4", "before = 0.05", "before of 4 tasks"),
            ("after = 1.9", "after = nan", "rounding of the figure for 4 tasks"),
            (
                "smallest_effect = 0.05\nmin_cpus = 4",
                "smallest_effect = 0\nmin_cpus = 4",
                "claim.smallest_effect",
            ),
            ("min_cpus = 2", "min_cpus = 0", "mechanism.min_cpus"),
        ] {
            assert!(POOL_MIX.contains(from), "{from}");
            let error = Claim::parse(&POOL_MIX.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
        }
        assert!(matches!(Claim::parse("experiment = 1"), Err(ClaimError::Syntax(_))));
        assert!(matches!(Claim::parse(&format!("{POOL_MIX}\nextra = 1")), Err(ClaimError::Syntax(_))));
    }
}
