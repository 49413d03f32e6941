//! One case: its variants against the baseline, what each factor does, what the lock cost.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    number,
    paint::{Role, Style},
    words::{columns, hanging, left, right, safe},
};
use crate::report::model::{CaseReport, ExperimentReport, LockRow, Quantiles, VariantRow};

/// Share of dropped pairs above which a case says nothing.
const TOO_MANY_DROPPED: f64 = 0.2;

/// Widest column of names; a longer name pushes its own line.
const WIDEST_NAME: usize = 44;

/// Columns of a ratio in words, as in `1.02x the time`.
const RATIO: usize = 14;

const NOISE: &str = "noise (A/A)";

pub(super) fn write(report: &ExperimentReport, case: &CaseReport, style: Style) -> String {
    let rows: Vec<&VariantRow> = report.variants.iter().filter(|row| row.case == case.name).collect();
    let shown: Vec<&VariantRow> = rows.iter().copied().filter(|row| row.named).collect();
    let mut page = hanging("  ", &title(case, rows.first().map_or("", |row| &row.unit)), style.width);
    page += &table(case, &rows, &shown, style);
    let hidden = rows.len() - shown.len();
    if hidden > 0 {
        let text = format!("and {hidden} more of the factorial, in the JSON report");
        let _ = writeln!(page, "    {}", style.paint(Role::Aside, &text));
    }
    page += &quality(case, &rows, style);
    page += &effects(report, case);
    page += &locks(report, case);
    page
}

/// A unit such as `ns per call`: what the numbers carry, and what is said once.
fn split(unit: &str) -> (&str, &str) {
    unit.split_once(' ').unwrap_or((unit, ""))
}

fn title(case: &CaseReport, unit: &str) -> String {
    let tasks = number::counted(case.threads as usize, "task", "tasks");
    let mut title = format!("{}: {} ({tasks})", safe(&case.name), safe(&case.title));
    let (symbol, rest) = split(unit);
    if !rest.is_empty() {
        title += &format!(" · {} {}", safe(symbol), safe(rest));
    }
    if case.oversubscribed {
        title += " · oversubscribed: more tasks than CPUs, feeds no verdict";
    }
    title
}

/// Widths of the columns of one table.
struct Columns {
    name: usize,
    median: usize,
    probe: Option<usize>,
}

fn table(case: &CaseReport, rows: &[&VariantRow], shown: &[&VariantRow], style: Style) -> String {
    let widest =
        |texts: &mut dyn Iterator<Item = String>| texts.map(|text| columns(&text)).max().unwrap_or(0);
    let probed = shown.iter().any(|row| row.kernel.is_some());
    let at = Columns {
        name: widest(&mut shown.iter().map(|row| safe(&row.name)).chain([NOISE.to_owned()])).min(WIDEST_NAME),
        median: widest(&mut shown.iter().map(|row| median(row)).chain(["median".to_owned()])),
        probe: probed.then(|| widest(&mut shown.iter().map(|row| probe(row)).chain(["by probe".to_owned()]))),
    };
    let launches = rows.iter().map(|row| row.samples.len()).max().unwrap_or(0);
    let blocks = rows.iter().flat_map(|row| &row.samples).map(Vec::len).max().unwrap_or(0);
    let replication = format!(
        "{} x {}",
        number::counted(launches, "launch", "launches"),
        number::counted(blocks, "block", "blocks")
    );
    let against = format!("vs {} (95 %, {replication})", safe(&case.baseline));
    let mut page = line(&at, "", "median", "by probe", &against, "");
    for row in shown {
        page += &variant(&at, case, row, style);
    }
    if let Some(noise) = case.noise_floor {
        let [lo, hi] = noise.ratio_ci95;
        page += &line(&at, NOISE, "", "", "", &number::interval(lo, hi));
    }
    page
}

fn line(at: &Columns, name: &str, median: &str, probe: &str, ratio: &str, interval: &str) -> String {
    let probe = at.probe.map(|width| format!("  {}", right(probe, width))).unwrap_or_default();
    let line = format!(
        "    {}  {}{probe}    {}  {interval}",
        left(name, at.name),
        right(median, at.median),
        left(ratio, RATIO)
    );
    format!("{}\n", line.trim_end())
}

fn median(row: &VariantRow) -> String {
    row.median
        .map_or_else(|| number::NONE.to_owned(), |median| number::time(median, &safe(split(&row.unit).0)))
}

fn probe(row: &VariantRow) -> String {
    number::by_probe(row.kernel.as_ref(), &safe(split(&row.unit).0))
}

fn variant(at: &Columns, case: &CaseReport, row: &VariantRow, style: Style) -> String {
    let name = safe(&row.name);
    if !row.available {
        let why = row.unavailable.as_deref().map_or_else(String::new, |why| format!(": {}", safe(why)));
        return hanging(
            &format!("    {}  ", left(&name, at.name)),
            &format!("not on this machine{why}"),
            style.width,
        );
    }
    if row.median.is_none() {
        let label = format!("    {}  ", left(&name, at.name));
        let why = row.reason.as_deref().unwrap_or(&row.work_check);
        return hanging(&label, &format!("no median: {}", safe(why)), style.width);
    }
    let (ratio, interval) = match &row.ratio_to_baseline {
        _ if row.name == case.baseline => ("1.00".to_owned(), String::new()),
        Some(ratio) => number::ratio(ratio),
        None => (number::NONE.to_owned(), String::new()),
    };
    let mut page = line(at, &name, &median(row), &probe(row), &ratio, &interval);
    if let Some(reason) = &row.reason {
        page += &hanging("      ", &safe(reason), style.width);
    }
    page
}

/// What stands behind the numbers: equal work, dropped pairs, a steady clock.
fn quality(case: &CaseReport, rows: &[&VariantRow], style: Style) -> String {
    let mut page = String::new();
    // Where a row was not timed, its own line says why.
    let checks: BTreeSet<String> =
        rows.iter().filter(|row| row.median.is_some()).map(|row| safe(&row.work_check)).collect();
    for check in checks.iter().filter(|check| !check.is_empty()) {
        page += &hanging("    equal work: ", check, style.width);
    }
    if case.drop_rate > 0.0 || !case.drops.is_empty() {
        let reasons: Vec<String> =
            case.drops.iter().map(|(reason, n)| format!("{} {}", safe(reason), number::count(*n))).collect();
        let mut text = format!("{} of the pairs", number::percent(case.drop_rate));
        if !reasons.is_empty() {
            text += &format!(" ({})", reasons.join(", "));
        }
        if case.drop_rate > TOO_MANY_DROPPED {
            text += ": more than a fifth, so this case is inconclusive";
        }
        page += &hanging("    dropped: ", &text, style.width);
    }
    if let Some(obtained) = case.huge_page_bytes.filter(|&bytes| bytes > 0) {
        let _ = writeln!(page, "    huge pages: {} obtained", number::bytes(obtained));
    }
    if let Some([fastest, slowest]) = case.witness_ns {
        let text = format!(
            "a step of the dependent chain took {} to {} from launch to launch",
            number::time(fastest, "ns"),
            number::time(slowest, "ns")
        );
        page += &hanging("    frequency: ", &text, style.width);
    }
    page
}

fn effects(report: &ExperimentReport, case: &CaseReport) -> String {
    let effects: Vec<_> = report.effects.iter().filter(|effect| effect.case == case.name).collect();
    let mut page = String::new();
    if effects.is_empty() {
        return page;
    }
    page += "    effect of one factor, averaged over all others\n";
    let names: Vec<String> = effects
        .iter()
        .map(|effect| {
            format!("{}: {} against {}", safe(&effect.factor), safe(&effect.level), safe(&effect.reference))
        })
        .collect();
    let width = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    for (effect, name) in effects.iter().zip(&names) {
        let (ratio, interval) = number::ratio(&effect.ratio);
        let _ = writeln!(page, "      {}  {}  {interval}", left(name, width), left(&ratio, RATIO));
    }
    page
}

fn locks(report: &ExperimentReport, case: &CaseReport) -> String {
    let rows: Vec<&LockRow> = report.locks.iter().filter(|row| row.case == case.name).collect();
    let mut page = String::new();
    if rows.is_empty() {
        return page;
    }
    let name = rows.iter().map(|row| columns(&safe(&row.variant))).max().unwrap_or(0);
    let cells = |texts: [&str; 3]| texts.map(|text| right(text, 10)).concat();
    let head = cells(["p50", "p99", "max"]);
    let _ = writeln!(
        page,
        "    {}  tasks  {}   wait{}   hold{}",
        left("lock", name + 2),
        right("taken", 11),
        &head[4..],
        &head[4..]
    );
    let quantiles = |q: &Quantiles| {
        let times = [q.p50_ns, q.p99_ns, q.max_ns].map(number::whole_ns);
        cells([&times[0], &times[1], &times[2]])
    };
    for row in rows {
        let _ = writeln!(
            page,
            "      {}  {}  {}   {}   {}",
            left(&safe(&row.variant), name),
            right(&row.threads.to_string(), 5),
            right(&number::count(row.n), 11),
            quantiles(&row.wait),
            quantiles(&row.hold),
        );
    }
    page
}
