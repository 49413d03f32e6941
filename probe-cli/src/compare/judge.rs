//! From the shifts of all rows to verdicts.

use super::{FALSE_DISCOVERY_RATE, Quantity, Row, Scatter, Verdict};
use crate::{
    report::model::Ratio,
    stats::{
        fdr::benjamini_hochberg,
        shift::{self, Shift},
    },
};

/// A row before the others are known.
pub(super) struct Found {
    pub(super) row: Row,
    /// How far apart the two runs are; none where too few launches tell.
    pub(super) shift: Option<Shift>,
    /// The larger noise of the two runs, the baseline against itself, as a logarithm; 0 where there is none.
    pub(super) noise: f64,
    /// Why it may not be judged.
    pub(super) doubt: Option<(Verdict, String)>,
}

impl Found {
    /// A row that there is on one side alone.
    pub(super) fn alone(row: Row, side: &str) -> Self {
        Self {
            row,
            shift: None,
            noise: 0.0,
            doubt: Some((Verdict::NotComparable, format!("only in the {side} run"))),
        }
    }

    fn judged(&self) -> Option<Shift> {
        self.shift.filter(|_| self.doubt.is_none())
    }
}

/// Gives every row its verdict; says how far the rows scatter.
pub(super) fn judge(mut found: Vec<Found>, threshold: f64) -> (Vec<Row>, Vec<Scatter>) {
    let mut scatters = Vec::new();
    for quantity in Quantity::ALL {
        let of = |found: &&mut Found| found.row.quantity == quantity;
        let shifts: Vec<Shift> = found.iter_mut().filter(of).filter_map(|found| found.judged()).collect();
        if shifts.is_empty() {
            continue;
        }
        let inflation = shift::inflation(&shifts);
        let factor = inflation.map(|inflation| inflation.factor);
        scatters.push(Scatter { quantity, rows: shifts.len(), factor });
        for found in found.iter_mut().filter(of) {
            match inflation {
                Some(inflation) => found.shift = found.shift.map(|shift| shift.widened(&inflation)),
                // One ratio is paired inside its run; of a time nobody knows what else changed.
                None if quantity == Quantity::Time && found.doubt.is_none() => {
                    let why = format!(
                        "fewer than {} times to compare: a slower machine cannot be told from a slower variant",
                        shift::MIN_ROWS
                    );
                    found.doubt = Some((Verdict::Inconclusive, why));
                }
                None => {}
            }
        }
    }
    let p_values: Vec<f64> = found.iter().filter_map(|found| Some(found.judged()?.p())).collect();
    let mut q_values = benjamini_hochberg(&p_values).into_iter();
    let rows = found
        .into_iter()
        .map(|found| {
            let q = found.judged().and_then(|_| q_values.next());
            verdict(found, q, threshold)
        })
        .collect();
    (rows, scatters)
}

fn verdict(found: Found, q: Option<f64>, threshold: f64) -> Row {
    let Found { mut row, shift, noise, doubt } = found;
    row.ratio = shift.and_then(as_ratio);
    row.q = q;
    (row.verdict, row.why) = match (doubt, q, row.ratio) {
        (Some(doubt), _, _) => doubt,
        (None, Some(q), Some(ratio)) => read(ratio, q, noise.exp(), threshold),
        _ => (Verdict::Inconclusive, "fewer than five launches on a side, so no interval".to_owned()),
    };
    row
}

fn as_ratio(shift: Shift) -> Option<Ratio> {
    let ratio = Ratio { value: shift.value.exp(), ci95: shift.ci95.map(f64::exp) };
    let holds = |value: &f64| value.is_finite() && *value > 0.0;
    [ratio.value, ratio.ci95[0], ratio.ci95[1]].iter().all(holds).then_some(ratio)
}

/// A row differs if it does so by the threshold and by more than a baseline from itself, its interval leaves out no
/// change, and it is no chance find among the others.
pub(crate) fn read(ratio: Ratio, q: f64, noise: f64, threshold: f64) -> (Verdict, String) {
    let (least, most) = (1.0 / (1.0 + threshold), 1.0 + threshold);
    let percent = (threshold * 1000.0).round() / 10.0;
    let [lo, hi] = ratio.ci95;
    let differs = q <= FALSE_DISCOVERY_RATE && (lo > 1.0 || hi < 1.0);
    let certain = differs && (ratio.value > noise || ratio.value < 1.0 / noise);
    if certain && ratio.value >= most {
        (Verdict::Regression, format!("slower by {percent} % or more, and no chance find (q {q:.2e})"))
    } else if certain && ratio.value <= least {
        (Verdict::Improvement, format!("faster by {percent} % or more, and no chance find (q {q:.2e})"))
    } else if least < lo && hi < most {
        (Verdict::NoDifference, format!("the interval lies inside {percent} % either way"))
    } else if certain {
        (Verdict::Inconclusive, format!("a difference (q {q:.2e}), that may be smaller than {percent} %"))
    } else if differs {
        (
            Verdict::Inconclusive,
            format!(
                "a difference (q {q:.2e}), but inside the noise of a baseline against itself ({noise:.3})"
            ),
        )
    } else {
        (
            Verdict::Inconclusive,
            format!("the interval reaches beyond {percent} %, and may be chance (q {q:.2})"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(value: f64, ci95: [f64; 2], q: f64, noise: f64) -> Verdict {
        read(Ratio { value, ci95 }, q, noise, 0.05).0
    }

    #[test]
    fn each_verdict_has_all_its_conditions() {
        assert_eq!(verdict_of(1.10, [1.06, 1.14], 0.01, 1.02), Verdict::Regression);
        assert_eq!(verdict_of(0.90, [0.86, 0.94], 0.01, 1.02), Verdict::Improvement);
        // A chance find; inside the noise; too small.
        assert_eq!(verdict_of(1.10, [1.06, 1.14], 0.06, 1.02), Verdict::Inconclusive);
        assert_eq!(verdict_of(1.10, [1.06, 1.14], 0.01, 1.11), Verdict::Inconclusive);
        assert_eq!(verdict_of(1.04, [1.03, 1.06], 0.01, 1.02), Verdict::Inconclusive);
        assert_eq!(verdict_of(1.03, [1.02, 1.04], 0.01, 1.01), Verdict::NoDifference);
        assert_eq!(verdict_of(1.00, [0.90, 1.10], 0.90, 1.01), Verdict::Inconclusive);
    }
}
