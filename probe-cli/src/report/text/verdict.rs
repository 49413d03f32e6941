//! The two verdicts, never one.

use super::{
    number,
    paint::{Role, Style},
    words::{hanging, safe},
};
use crate::report::model::{ClaimVerdict, ExperimentReport, Mechanism};

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    let verdict = &report.verdict;
    let (word, role) = match verdict.mechanism {
        Mechanism::Confirmed => ("confirmed", Role::Good),
        Mechanism::Contradicted => ("contradicted", Role::Bad),
        Mechanism::Inconclusive => ("inconclusive", Role::Doubtful),
    };
    let mut parts = vec![word.to_owned()];
    if let Some(ratio) = verdict.measured_ratio {
        let ci95 = verdict.ci95.map_or_else(String::new, |[lo, hi]| format!(" {}", number::interval(lo, hi)));
        parts.push(format!("time after / before {}{ci95}", number::short(ratio)));
    }
    let mut page = judged("  mechanism  ", word, role, &parts.join(" · "), style);

    let (word, role) = match verdict.claim {
        ClaimVerdict::Reproduced => ("reproduced", Role::Good),
        ClaimVerdict::NotReproduced => ("not reproduced", Role::Bad),
        ClaimVerdict::Inconclusive => ("inconclusive", Role::Doubtful),
        ClaimVerdict::NotTestableHere => ("not testable here", Role::Doubtful),
    };
    let mut parts = vec![word.to_owned(), format!("the mail: {}", safe(&report.claim.text))];
    let numbers: Vec<String> = report
        .claim
        .numbers
        .iter()
        .map(|figure| {
            let [lo, hi] = figure.interval;
            format!("{} {}x {}", safe(&figure.what), number::short(figure.ratio), number::interval(lo, hi))
        })
        .collect();
    if !numbers.is_empty() {
        parts.push(format!("its {}: {}", safe(&report.claim.metric), numbers.join(", ")));
    }
    parts.extend(verdict.implied_share.map(|share| format!("implied share {}", number::percent(share))));
    page += &judged("  claim      ", word, role, &parts.join(" · "), style);
    if !verdict.why.is_empty() {
        page += &hanging("  why        ", &safe(&verdict.why), style.width);
    }
    page
}

/// A line that begins with a verdict, in its colour.
fn judged(label: &str, word: &str, role: Role, text: &str, style: Style) -> String {
    let mut line = hanging(label, text, style.width);
    line.replace_range(label.len()..label.len() + word.len(), &style.paint(role, word));
    line
}
