//! The report for people: what was asked, what was found, and what stands between the two.
//!
//! A renderer computes nothing but words: it gets finished rows. Every text that came from outside this
//! program (names of the machine, of files, of a saved report) goes through [`safe`].

mod case;
mod live;
mod number;
pub(crate) mod paint;
mod verdict;
pub(crate) mod words;

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

pub use paint::Style;
pub use words::safe;

use super::model::{ExperimentReport, Host, MechanismRow, Report, Warning};
use paint::Role;
use words::{brief, hanging};

/// Writes `report`, and where it was put.
///
/// # Errors
///
/// Those of `out`.
pub fn write(report: &Report, files: &[PathBuf], style: Style, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(page(report, files, style).replace(number::GAP, " ").as_bytes())
}

fn page(report: &Report, files: &[PathBuf], style: Style) -> String {
    let mut page = head(report, style);
    page += &mechanisms(&report.mechanisms, style);
    if report.experiments.is_empty() {
        page += "\nnothing was measured\n";
    }
    for experiment in &report.experiments {
        page.push('\n');
        page += &self::experiment(experiment, style);
    }
    page += &warnings(&report.warnings, style);
    if !files.is_empty() {
        let files: Vec<String> = files.iter().map(|path| shown(path)).collect();
        page.push('\n');
        page += &hanging("report  ", &files.join("   "), style.width);
    }
    page
}

fn shown(path: &Path) -> String {
    safe(&path.to_string_lossy())
}

fn head(report: &Report, style: Style) -> String {
    let mut facts = vec![machine(&report.host), format!("kernel {}", or_unknown(&report.host.kernel))];
    facts.push(format!("clock {}", safe(&report.clock.name)));
    facts.push(format!("seed {}", report.seed));
    facts.extend(report.quick.then(|| "quick".to_owned()));
    let mut head = hanging("host  ", &facts.join(" · "), style.width);
    if report.interrupted {
        let text = hanging("      ", "interrupted: what had been measured by then follows", style.width);
        head += &style.paint(Role::Doubtful, text.trim_end_matches('\n'));
        head.push('\n');
    }
    head
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { safe(text) }
}

/// The machine in a few words.
pub(crate) fn machine(host: &Host) -> String {
    let mut parts = vec![safe(host.cpu_model.as_deref().unwrap_or("unknown CPU"))];
    parts.push(match host.cpus {
        0 => "unknown number of CPUs".to_owned(),
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    });
    if let Some(cache) = host.caches.iter().max_by_key(|cache| cache.level) {
        parts.push(format!("L{} {}", cache.level, number::bytes(cache.size_bytes)));
    }
    parts.extend(host.virtualization.as_deref().map(safe));
    parts.join(", ")
}

fn mechanisms(rows: &[MechanismRow], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let working: Vec<String> = rows.iter().filter(|row| row.works).map(|row| safe(&row.name)).collect();
    // One cause often stops several.
    let mut refused: Vec<(String, String)> = Vec::new();
    for row in rows.iter().filter(|row| !row.works) {
        let (name, reason) = (safe(&row.name), brief(&row.reason, 120));
        match refused.iter_mut().find(|(_, other)| *other == reason) {
            Some((names, _)) => *names = format!("{names}, {name}"),
            None => refused.push((name, reason)),
        }
    }
    let mut parts: Vec<String> = refused.iter().map(|(names, reason)| format!("{names}: {reason}")).collect();
    parts.push(if working.is_empty() {
        "nothing that watches the kernel works here; `probe-cli doctor` says why".to_owned()
    } else {
        format!("{}: yes", working.join(", "))
    });
    hanging("live  ", &parts.join(" · "), style.width)
}

fn experiment(report: &ExperimentReport, style: Style) -> String {
    let name = safe(&report.name);
    let label = format!("{name}   ");
    let mut page = hanging(&label, &safe(&report.question), style.width);
    page.replace_range(..name.len(), &style.paint(Role::Name, &name));
    let indent = " ".repeat(words::columns(&label));
    page += &hanging(&indent, &format!("(mail: {})", safe(&report.mail)), style.width);
    if report.cases.is_empty() {
        page += "  nothing of it was measured\n";
    }
    for case in &report.cases {
        page += &case::write(report, case, style);
    }
    page += &live::write(&report.live, style);
    page += &verdict::write(report, style);
    page
}

fn warnings(warnings: &[Warning], style: Style) -> String {
    let mut page = String::new();
    if warnings.is_empty() {
        return page;
    }
    let _ = writeln!(page, "\n{}", style.paint(Role::Doubtful, "warnings"));
    for warning in warnings {
        page += &hanging(&format!("  {}: ", safe(&warning.code)), &safe(&warning.text), style.width);
    }
    page
}
