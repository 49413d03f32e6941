//! The two verdicts, never one.

use super::{
    number,
    paint::{Role, Style},
    words::{hanging, safe},
};
use crate::report::{
    model::{ClaimVerdict, ExperimentReport, Mechanism, VerdictReport},
    why::Why,
};

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    let verdict = &report.verdict;
    let (word, role) = match verdict.mechanism {
        Mechanism::Confirmed => ("confirmed", Role::Good),
        Mechanism::Contradicted => ("contradicted", Role::Bad),
        Mechanism::Inconclusive => ("inconclusive", Role::Doubtful),
    };
    let why = Why::of(&verdict.why);
    let mut parts = vec![word.to_owned()];
    parts.extend(measured(verdict, why.as_ref().and_then(|why| why.compared)));
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
        let reasons = why.map_or_else(
            || verdict.why.clone(),
            |why| format!("mechanism: {}. Claim: {}", why.mechanism, why.claim),
        );
        page += &hanging("  why        ", &safe(&reasons), style.width);
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

/// A line that begins with a verdict, in its colour.
fn judged(label: &str, word: &str, role: Role, text: &str, style: Style) -> String {
    let mut line = hanging(label, text, style.width);
    line.replace_range(label.len()..label.len() + word.len(), &style.paint(role, word));
    line
}
