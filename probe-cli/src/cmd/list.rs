//! `probe-cli list`: what there is to measure, and how it would be done here.

use std::{fmt::Write as _, io::Write, thread};

use clap::Args;
use serde::Serialize;

use super::{
    Words,
    kernel::{self, SiteRow, TargetRow},
    output::{Format, Output, document},
};
use crate::{
    error::Result,
    experiment::{self, Experiment},
    report::text::{
        Style,
        paint::Role,
        words::{columns, hanging, left, safe},
    },
    trace::pattern::glob,
};

/// List experiments, variants, kernel targets and probe sites
///
/// Targets are listed with the mechanism that would answer here, or the reason why none would.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli list
  probe-cli list pool              whatever has `pool` in its name
  probe-cli list 'call:*' --json   `*` and `?` as in a shell
  probe-cli list 'vfs_*'           kernel functions, and how each would be attached here
  probe-cli list '/usr/bin/program:*::new'   functions of a program")]
pub(super) struct List {
    /// Only what matches: a part of a name, or a pattern with * and ?
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    output: Output,
}

/// The document of `list --json`.
#[derive(Serialize)]
struct Listing {
    schema: &'static str,
    experiments: Vec<ExperimentRow>,
    targets: Vec<TargetRow>,
    sites: Vec<SiteRow>,
}

#[derive(Serialize)]
struct ExperimentRow {
    name: String,
    question: String,
    mail: String,
    cases: Vec<CaseRow>,
}

#[derive(Serialize)]
struct CaseRow {
    name: String,
    title: String,
    tasks: usize,
    variants: Vec<Variant>,
}

#[derive(PartialEq, Serialize)]
struct Variant {
    name: String,
    summary: String,
    named: bool,
    available: bool,
    unavailable: Option<String>,
}

impl List {
    pub(super) fn run(mut self, words: Words, out: &mut dyn Write) -> Result<()> {
        if self.json {
            self.output.format = Format::Json;
        }
        self.output.check()?;
        let listing = self.listing();
        let page = match self.output.format {
            Format::Json => document(&listing)?,
            Format::Text => text(&listing, self.output.style(words)).into_bytes(),
        };
        if listing.experiments.is_empty() && listing.targets.is_empty() && listing.sites.is_empty() {
            words.say("nothing matches; `probe-cli list` without a pattern shows everything");
        }
        self.output.deliver(&page, out)
    }

    fn listing(&self) -> Listing {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let wanted = |name: &str| self.pattern.as_deref().is_none_or(|pattern| matches(pattern, name));
        let all = experiment::ALL.iter().map(|experiment| row(*experiment, cpus));
        let mechanisms = kernel::mechanisms();
        Listing {
            schema: "probe-list/1",
            experiments: all.filter_map(|row| narrowed(row, &wanted)).collect(),
            targets: kernel::targets(&mechanisms, self.pattern.as_deref(), &wanted),
            sites: kernel::sites(&mechanisms).into_iter().filter(|row| wanted(&row.name)).collect(),
        }
    }
}

fn row(experiment: &dyn Experiment, cpus: usize) -> ExperimentRow {
    let claim = experiment.claim();
    let case = |case: experiment::Case| CaseRow {
        name: case.name,
        title: case.title,
        tasks: case.tasks,
        variants: case
            .variants
            .into_iter()
            .map(|variant| Variant {
                name: variant.name,
                summary: variant.summary,
                named: variant.named,
                available: variant.unavailable.is_none(),
                unavailable: variant.unavailable,
            })
            .collect(),
    };
    ExperimentRow {
        name: claim.experiment.clone(),
        question: claim.question.clone(),
        mail: format!("{}, {}, \"{}\"", claim.mail.from, claim.mail.date, claim.mail.subject),
        cases: experiment.cases(cpus).into_iter().map(case).collect(),
    }
}

/// The whole experiment when its name matches; else what matches inside it.
fn narrowed(mut row: ExperimentRow, wanted: &dyn Fn(&str) -> bool) -> Option<ExperimentRow> {
    if wanted(&row.name) {
        return Some(row);
    }
    for case in row.cases.iter_mut().filter(|case| !wanted(&case.name)) {
        case.variants.retain(|variant| wanted(&variant.name));
    }
    row.cases.retain(|case| wanted(&case.name) || !case.variants.is_empty());
    (!row.cases.is_empty()).then_some(row)
}

/// Whether `name` holds `pattern`, or, where that has wildcards, is matched by it as a whole.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    if pattern.contains(['*', '?']) {
        glob(pattern.as_bytes(), name.as_bytes())
    } else {
        name.contains(&pattern)
    }
}

fn text(listing: &Listing, style: Style) -> String {
    let mut page = String::new();
    let heading = |page: &mut String, title: &str| {
        if !page.is_empty() {
            page.push('\n');
        }
        let _ = writeln!(page, "{}", style.paint(Role::Name, title));
    };
    if !listing.experiments.is_empty() {
        heading(&mut page, "experiments");
    }
    for experiment in &listing.experiments {
        page +=
            &hanging(&format!("  {}  ", safe(&experiment.name)), &safe(&experiment.question), style.width);
        page += &hanging("    ", &format!("(mail: {})", safe(&experiment.mail)), style.width);
        page += &cases(&experiment.cases, style);
    }
    if !listing.targets.is_empty() {
        heading(&mut page, "kernel targets, and what would answer here");
    }
    let width = listing.targets.iter().map(|row| columns(&safe(&row.name))).max().unwrap_or(0);
    for row in &listing.targets {
        let backend = row.backend.as_deref().unwrap_or("none");
        let label = format!("  {}  {}  ", left(&safe(&row.name), width), left(&safe(backend), 14));
        page += &hanging(&label, &safe(&row.reason), style.width);
        page += &hanging("      ", &safe(&row.question), style.width);
    }
    if !listing.sites.is_empty() {
        heading(&mut page, "probe sites of this program");
    }
    for row in &listing.sites {
        page += &hanging("  ", &safe(&row.name), style.width);
        let detail =
            format!("offset {:#x}, argument {}; {}", row.offset, safe(&row.arguments), safe(&row.reason));
        page += &hanging("      ", &detail, style.width);
    }
    page
}

fn cases(cases: &[CaseRow], style: Style) -> String {
    let mut page = String::new();
    for (number, case) in cases.iter().enumerate() {
        let tasks = if case.tasks == 1 { "1 task".to_owned() } else { format!("{} tasks", case.tasks) };
        page += &hanging(
            &format!("    {}  ", safe(&case.name)),
            &format!("{} ({tasks})", safe(&case.title)),
            style.width,
        );
        let like = number.checked_sub(1).map(|before| &cases[before]);
        if let Some(like) = like.filter(|like| like.variants == case.variants) {
            page += &hanging("      ", &format!("variants as in {}", safe(&like.name)), style.width);
            continue;
        }
        let named: Vec<&Variant> = case.variants.iter().filter(|variant| variant.named).collect();
        let width = named.iter().map(|variant| columns(&safe(&variant.name))).max().unwrap_or(0);
        for variant in &named {
            let mut summary = safe(&variant.summary);
            if let Some(why) = &variant.unavailable {
                let _ = write!(summary, " (not on this machine: {})", safe(why));
            }
            page +=
                &hanging(&format!("      {}  ", left(&safe(&variant.name), width)), &summary, style.width);
        }
        let rest = case.variants.len() - named.len();
        if rest > 0 {
            let _ = writeln!(page, "      and {rest} more of the factorial (`--json` names them)");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parts_or_globs() {
        for (pattern, name, expected) in [
            ("pool", "pool-mix", true),
            ("MIX", "pool-mix", true),
            ("", "pool-mix", true),
            ("flush", "pool-mix", false),
            ("pool*", "pool-mix", true),
            ("*mix", "pool-mix", true),
            ("*o*l*", "pool-mix", true),
            ("pool", "pool", true),
            ("p??l-mix", "pool-mix", true),
            ("pool?", "pool-mix", false),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} against {name}");
        }
    }
}
