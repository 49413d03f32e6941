//! The two verdicts, never one.

use super::{
    number,
    paint::{Role, Style},
    words::{hanging, safe},
};
use crate::report::model::{ClaimVerdict, ExperimentReport, Mechanism, VerdictReport};

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    let verdict = &report.verdict;
    let (word, role) = match verdict.mechanism {
        Mechanism::Confirmed => ("confirmed", Role::Good),
        Mechanism::Contradicted => ("contradicted", Role::Bad),
        Mechanism::Inconclusive => ("inconclusive", Role::Doubtful),
    };
    let why = Why::of(&verdict.why);
    let mut parts = vec![word.to_owned()];
    parts.extend(measured(verdict, why.compared));
    let mut page = judged("  mechanism  ", word, role, &parts.join(" · "), style);

    let (word, role) = match verdict.claim {
        ClaimVerdict::Reproduced => ("reproduced", Role::Good),
        ClaimVerdict::NotReproduced => ("not reproduced", Role::Bad),
        ClaimVerdict::Inconclusive => ("inconclusive", Role::Doubtful),
        ClaimVerdict::NotTestableHere => ("not testable here", Role::Doubtful),
    };
    let mut parts = vec![word.to_owned(), format!("the mail: {}", claimed(report))];
    let share = verdict.implied_share.filter(|_| !verdict.why.contains("Implied share"));
    parts.extend(share.map(|share| format!("implied share {}", number::percent(share))));
    page += &judged("  claim      ", word, role, &parts.join(" · "), style);
    if !verdict.why.is_empty() {
        page += &hanging("  why        ", &safe(&why.reasons), style.width);
    }
    page
}

/// The ratio, and of what to what where that is told.
fn measured(verdict: &VerdictReport, compared: Option<(&str, &str)>) -> Option<String> {
    let ratio = number::short(verdict.measured_ratio?);
    let ci95 = verdict.ci95.map_or_else(String::new, |[lo, hi]| format!(" {}", number::interval(lo, hi)));
    Some(match compared {
        Some((candidate, baseline)) => {
            format!("{} takes {ratio}x{ci95} the time of {}", safe(candidate), safe(baseline))
        }
        None => format!("time after / before {ratio}{ci95}"),
    })
}

/// The mail's figures with what their rounding leaves open; its words where it has none.
fn claimed(report: &ExperimentReport) -> String {
    let claim = &report.claim;
    if claim.numbers.is_empty() {
        return safe(&claim.text);
    }
    let figures: Vec<String> = claim
        .numbers
        .iter()
        .map(|figure| {
            let [lo, hi] = figure.interval;
            format!("{} {}x {}", safe(&figure.what), number::short(figure.ratio), number::interval(lo, hi))
        })
        .collect();
    format!("{}, {}", safe(&claim.metric), figures.join(", "))
}

/// The words of both verdicts without what their lines say: the verdicts themselves, and the measured ratio.
struct Why<'a> {
    /// Candidate; baseline and case.
    compared: Option<(&'a str, &'a str)>,
    reasons: String,
}

impl<'a> Why<'a> {
    /// Takes `mechanism confirmed: a takes 2 times as long as b in c: reason. Claim inconclusive: reason.` apart;
    /// other words stay whole.
    fn of(why: &'a str) -> Self {
        let whole = || Self { compared: None, reasons: why.to_owned() };
        let Some((mechanism, claim)) = why.split_once(". Claim ") else { return whole() };
        let Some((_, mechanism)) =
            mechanism.strip_prefix("mechanism ").and_then(|text| text.split_once(": "))
        else {
            return whole();
        };
        let Some((_, claim)) = claim.split_once(": ") else { return whole() };
        let compared = mechanism.split_once(" takes ").and_then(|(candidate, rest)| {
            let (baseline, reason) = rest.split_once(" times as long as ")?.1.split_once(": ")?;
            Some(((candidate, baseline), reason))
        });
        let reason = compared.map_or(mechanism, |(_, reason)| reason);
        let reasons = format!("mechanism: {reason}. Claim: {claim}");
        Self { compared: compared.map(|(compared, _)| compared), reasons }
    }
}

/// A line that begins with a verdict, in its colour.
fn judged(label: &str, word: &str, role: Role, text: &str, style: Style) -> String {
    let mut line = hanging(label, text, style.width);
    line.replace_range(label.len()..label.len() + word.len(), &style.paint(role, word));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_leave_out_what_the_verdicts_say() {
        let why = Why::of(
            "mechanism confirmed: new takes 0.5 [0.4, 0.6] times as long as old in cold: as expected (a: b). Claim \
             not testable here: missing: 4 CPUs. It asks for: more.",
        );
        assert_eq!(why.compared, Some(("new", "old in cold")));
        assert_eq!(why.reasons, "mechanism: as expected (a: b). Claim: missing: 4 CPUs. It asks for: more.");
        let why = Why::of("mechanism inconclusive: missing: the case x. Claim inconclusive: y.");
        assert_eq!(why.compared, None);
        assert_eq!(why.reasons, "mechanism: missing: the case x. Claim: y.");
        for text in ["", "other words", "mechanism x. Claim y", "a. Claim b: c"] {
            assert_eq!(Why::of(text).reasons, text);
        }
    }
}
