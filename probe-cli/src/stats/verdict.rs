//! From an interval to a verdict: METHOD's rules, and nothing else.

use std::fmt;

use crate::claim::Direction;
use crate::report::model::{ClaimVerdict, Mechanism, Ratio};

/// Rows that lost a larger share of their pairs feed no verdict.
pub const MAX_DROP_RATE: f64 = 0.2;

/// What is expected, written down before measuring.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// Which way the ratio moves if the mail is right.
    pub direction: Direction,
    /// Smallest effect of interest, as a share of one.
    pub smallest_effect: f64,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// Candidate over baseline; `None` without an interval.
    pub ratio: Option<Ratio>,
    /// The baseline over itself, in the same blocks and the same quantity.
    pub floor: Option<[f64; 2]>,
    /// Share of the pairs that rules dropped.
    pub drop_rate: f64,
    /// More tasks than CPUs.
    pub oversubscribed: bool,
    /// At least five launches of five blocks were asked for.
    pub replicated: bool,
    /// A batch lasts less than three times what the clock reads for nothing.
    pub clock_bound: bool,
}

/// What the evidence says about the expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// The interval lies beyond the smallest effect and beyond the noise floor, the expected way.
    AsExpected,
    /// The same, the other way.
    Opposite,
    /// The interval lies wholly inside plus or minus the smallest effect.
    Equivalent,
    /// None of these.
    Unclear(Doubt),
}

/// Why a row says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Spinners on too few CPUs measure the preemption of lock holders.
    Oversubscribed,
    /// More than [`MAX_DROP_RATE`] of the pairs were dropped.
    Dropped(f64),
    /// Too few launches or blocks.
    TooFew,
    /// Batches too short for the clock.
    ClockBound,
    /// No A/A pair to compare with.
    NoFloor,
    /// Beyond the smallest effect, but not beyond the noise floor.
    InsideFloor,
    /// The interval reaches over an edge of the smallest effect.
    Straddles,
}

/// Reads the evidence.
#[must_use]
pub fn read(expected: Expectation, evidence: Evidence) -> Reading {
    if evidence.oversubscribed {
        return Reading::Unclear(Doubt::Oversubscribed);
    }
    if evidence.drop_rate > MAX_DROP_RATE {
        return Reading::Unclear(Doubt::Dropped(evidence.drop_rate));
    }
    if evidence.clock_bound {
        return Reading::Unclear(Doubt::ClockBound);
    }
    let Some(Ratio { ci95: [lo, hi], .. }) = evidence.ratio.filter(|_| evidence.replicated) else {
        return Reading::Unclear(Doubt::TooFew);
    };
    let (least, most) = (1.0 - expected.smallest_effect, 1.0 + expected.smallest_effect);
    if least < lo && hi < most {
        return Reading::Equivalent;
    }
    let (below, above) = (hi < least, lo > most);
    if !below && !above {
        return Reading::Unclear(Doubt::Straddles);
    }
    let Some([floor_lo, floor_hi]) = evidence.floor else {
        return Reading::Unclear(Doubt::NoFloor);
    };
    if below && hi >= floor_lo || above && lo <= floor_hi {
        return Reading::Unclear(Doubt::InsideFloor);
    }
    if above == (expected.direction == Direction::Higher) { Reading::AsExpected } else { Reading::Opposite }
}

/// The verdict on a mechanism. No effect contradicts a mail that promises one, as the opposite does.
#[must_use]
pub const fn mechanism(reading: Reading) -> Mechanism {
    match reading {
        Reading::AsExpected => Mechanism::Confirmed,
        Reading::Opposite | Reading::Equivalent => Mechanism::Contradicted,
        Reading::Unclear(_) => Mechanism::Inconclusive,
    }
}

/// The verdict on a claim that was measured at its own level. *Not reproduced* is kept for equivalence.
#[must_use]
pub const fn claim(reading: Reading) -> ClaimVerdict {
    match reading {
        Reading::AsExpected => ClaimVerdict::Reproduced,
        Reading::Equivalent => ClaimVerdict::NotReproduced,
        Reading::Opposite | Reading::Unclear(_) => ClaimVerdict::Inconclusive,
    }
}

/// The share of the whole that a component must have had for its measured time ratio `component` to explain
/// the claimed time ratio `whole`: `(1 - T) / (1 - c)`. `None` where the component did not change.
#[must_use]
pub fn implied_share(component: f64, whole: f64) -> Option<f64> {
    let share = (1.0 - whole) / (1.0 - component);
    share.is_finite().then_some(share)
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsExpected => {
                f.write_str("beyond the smallest effect and the noise floor, as the mail says")
            }
            Self::Opposite => f.write_str("beyond the smallest effect and the noise floor, the other way"),
            Self::Equivalent => f.write_str("wholly inside the smallest effect: no difference of interest"),
            Self::Unclear(doubt) => doubt.fmt(f),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oversubscribed => f.write_str("more tasks than CPUs, which feeds no verdict"),
            Self::Dropped(rate) => write!(
                f,
                "{:.0} % of the pairs were dropped, and a row may lose {:.0} %",
                rate * 100.0,
                MAX_DROP_RATE * 100.0
            ),
            Self::TooFew => f.write_str("fewer than five launches of five blocks"),
            Self::ClockBound => {
                f.write_str("a batch lasts less than three times what the clock reads for nothing")
            }
            Self::NoFloor => f.write_str("no noise floor to compare with"),
            Self::InsideFloor => f.write_str("not beyond the noise floor of this run"),
            Self::Straddles => f.write_str("the interval reaches over the edge of the smallest effect"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(ci95: [f64; 2]) -> Evidence {
        let ratio = Ratio { value: f64::midpoint(ci95[0], ci95[1]), ci95 };
        Evidence {
            ratio: Some(ratio),
            floor: Some([0.98, 1.03]),
            drop_rate: 0.0,
            oversubscribed: false,
            replicated: true,
            clock_bound: false,
        }
    }

    const LOWER: Expectation = Expectation { direction: Direction::Lower, smallest_effect: 0.05 };
    const HIGHER: Expectation = Expectation { direction: Direction::Higher, smallest_effect: 0.05 };

    #[test]
    fn every_place_an_interval_can_lie() {
        for (ci95, lower, higher) in [
            ([0.80, 0.90], Reading::AsExpected, Reading::Opposite),
            ([1.10, 1.30], Reading::Opposite, Reading::AsExpected),
            ([0.96, 1.04], Reading::Equivalent, Reading::Equivalent),
            ([0.90, 0.97], Reading::Unclear(Doubt::Straddles), Reading::Unclear(Doubt::Straddles)),
            ([0.90, 1.10], Reading::Unclear(Doubt::Straddles), Reading::Unclear(Doubt::Straddles)),
            // Exactly on the edge is not beyond it, and not inside it.
            ([0.90, 0.95], Reading::Unclear(Doubt::Straddles), Reading::Unclear(Doubt::Straddles)),
        ] {
            assert_eq!(read(LOWER, evidence(ci95)), lower, "{ci95:?} expected lower");
            assert_eq!(read(HIGHER, evidence(ci95)), higher, "{ci95:?} expected higher");
        }
    }

    #[test]
    fn a_wide_noise_floor_swallows_an_effect() {
        let noisy = Evidence { floor: Some([0.85, 1.25]), ..evidence([0.80, 0.90]) };
        assert_eq!(read(LOWER, noisy), Reading::Unclear(Doubt::InsideFloor));
        let noisy = Evidence { floor: Some([0.85, 1.25]), ..evidence([1.2, 1.3]) };
        assert_eq!(read(HIGHER, noisy), Reading::Unclear(Doubt::InsideFloor));
        assert_eq!(
            read(LOWER, Evidence { floor: None, ..evidence([0.8, 0.9]) }),
            Reading::Unclear(Doubt::NoFloor)
        );
    }

    #[test]
    fn rows_that_may_not_judge_do_not() {
        let good = evidence([0.8, 0.9]);
        let too_many = Evidence { oversubscribed: true, ..good };
        assert_eq!(read(LOWER, too_many), Reading::Unclear(Doubt::Oversubscribed));
        let lossy = Evidence { drop_rate: 0.21, ..good };
        assert_eq!(read(LOWER, lossy), Reading::Unclear(Doubt::Dropped(0.21)));
        assert_eq!(read(LOWER, Evidence { drop_rate: 0.2, ..good }), Reading::AsExpected);
        assert_eq!(read(LOWER, Evidence { ratio: None, ..good }), Reading::Unclear(Doubt::TooFew));
        assert_eq!(read(LOWER, Evidence { replicated: false, ..good }), Reading::Unclear(Doubt::TooFew));
        assert_eq!(read(LOWER, Evidence { clock_bound: true, ..good }), Reading::Unclear(Doubt::ClockBound));
    }

    #[test]
    fn the_implied_share_by_hand() {
        // A component that takes half its time explains a whole at 0.9 if it was a fifth of it.
        assert!((implied_share(0.5, 0.9).unwrap() - 0.2).abs() < 1e-12);
        // A component that got slower cannot explain a whole that got faster.
        assert!(implied_share(1.5, 0.9).unwrap() < 0.0);
        assert_eq!(implied_share(1.0, 0.9), None);
        assert_eq!(implied_share(1.0, 1.0), None);
    }
}
