//! The report for people: what was asked, what was found, and what stands between the two.
//!
//! A renderer computes nothing but words: it gets finished rows. Every text that came from outside this
//! program (names of the machine, of files, of a saved report) goes through [`safe`].

mod case;
mod effect;
mod live;
mod lock;
mod operation;
pub(crate) mod paint;
pub(crate) mod program;
mod table;
mod verdict;
pub(crate) mod words;

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

pub use paint::Style;
pub use words::safe;

use super::{
    model::{ExperimentReport, Host, MechanismRow, Report, Warning},
    number, refusal,
};
use paint::Role;
use words::{brief, gathered, hanging};

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
    let mut run = vec![format!("clock {}", safe(&report.clock.name)), format!("seed {}", report.seed)];
    run.extend(report.quick.then(|| "quick".to_owned()));
    let facts =
        [machine(&report.host), format!("kernel {}", or_unknown(&report.host.kernel)), run.join(", ")];
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

/// The machine in a few words. A container is not among them: it changes no time that is measured here.
pub(crate) fn machine(host: &Host) -> String {
    let mut parts = vec![host.cpu_model.as_deref().map_or_else(|| "unknown CPU".to_owned(), cpu)];
    parts.push(match host.cpus {
        0 => "unknown number of CPUs".to_owned(),
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    });
    if let Some(cache) = host.caches.iter().max_by_key(|cache| cache.level) {
        parts.push(format!("L{} {}", cache.level, number::bytes(cache.size_bytes)));
    }
    let around = host.virtualization.as_deref().unwrap_or_default().split(", ");
    parts.extend(around.filter(|what| !what.is_empty() && !what.starts_with("container")).map(safe));
    parts.join(", ")
}

/// A CPU's own name without its trade marks.
fn cpu(model: &str) -> String {
    let model = model.replace("(R)", "").replace("(TM)", "");
    safe(model.trim_end_matches(" Processor"))
}

fn mechanisms(rows: &[MechanismRow], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let name = |row: &MechanismRow| safe(&row.name).replace('-', " ");
    let working: Vec<String> = rows.iter().filter(|row| row.works).map(name).collect();
    // One cause often stops several.
    let refused = rows.iter().filter(|row| !row.works).map(|row| (refused(&row.reason), name(row)));
    let mut parts: Vec<String> =
        gathered(refused).iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect();
    parts.push(if working.is_empty() {
        "nothing that watches the kernel works here; `probe-cli doctor` says why".to_owned()
    } else {
        format!("{}: yes", working.join(", "))
    });
    hanging("live  ", &parts.join(" · "), style.width)
}

fn refused(reason: &str) -> String {
    match refusal::parse(reason) {
        Some(parts) if parts.denied => format!("refused ({})", parts.why),
        Some(parts) => parts.why,
        None => brief(reason, 120),
    }
}

fn experiment(report: &ExperimentReport, style: Style) -> String {
    let name = safe(&report.name);
    let label = format!("{name}   ");
    let mut page = hanging(&label, &safe(&report.question), style.width);
    page.replace_range(..name.len(), &style.paint(Role::Name, &name));
    let indent = " ".repeat(words::columns(&label));
    page += &hanging(&indent, &format!("(mail: {})", safe(&report.mail)), style.width);
    page += &case::write(report, style);
    page += &effect::write(report, style);
    page += &lock::write(report, style);
    page += &operation::write(report, style);
    page += &program::write(report, style);
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
        page +=
            &hanging(&format!("  {}: ", safe(&warning.code)), &refusal::short(&warning.text), style.width);
    }
    page
}
