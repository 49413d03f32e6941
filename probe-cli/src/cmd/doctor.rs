//! `probe-cli doctor`: what can be measured here, each mechanism tried, and what to do about the rest.

use std::{borrow::Cow, fmt::Write as _, io::Write};

use clap::Args;
use nix::unistd::Uid;
use serde::Serialize;

use super::{
    Words, kernel,
    output::{Format, Output, document, tool},
};
use crate::{
    error::Result,
    host::{
        self, Tree,
        cpu::Cpu,
        privilege::{self, Capability},
        surroundings::{self, Finding},
    },
    report::{
        file::Owner,
        model::{Host, MechanismRow, Tool},
        text::{
            self, Style,
            paint::Role,
            words::{brief, columns, hanging, left, safe},
        },
    },
};

/// Say what this kernel, user, CPU and build can do, and what to do about what is missing
///
/// Each mechanism is tried, not guessed: programs are loaded, attached to harmless places, and let go again.
/// Nothing stays behind. Exits with 0 whatever is found.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli doctor
  probe-cli doctor --json | jq '.mechanisms[] | select(.works | not)'
  sudo probe-cli doctor          the same for root")]
pub(super) struct Doctor {
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    output: Output,
}

/// The document of `doctor --json`.
#[derive(Serialize)]
struct Diagnosis {
    schema: &'static str,
    summary: String,
    host: Host,
    tool: Tool,
    user: User,
    mechanisms: Vec<MechanismRow>,
    foundations: Vec<MechanismRow>,
    surroundings: Vec<Finding>,
    programs: Vec<Finding>,
}

#[derive(Serialize)]
struct User {
    uid: u32,
    /// Who is behind sudo, and owns the files that are written.
    invoking_uid: Option<u32>,
    /// Null where /proc does not tell.
    capabilities: Option<Vec<Capability>>,
}

impl Doctor {
    pub(super) fn run(mut self, words: Words, out: &mut dyn Write) -> Result<()> {
        if self.json {
            self.output.format = Format::Json;
        }
        self.output.check()?;
        let diagnosis = diagnose();
        let page = match self.output.format {
            Format::Json => document(&diagnosis)?,
            Format::Text => text(&diagnosis, self.output.style(words)).into_bytes(),
        };
        self.output.deliver(&page, out)
    }
}

fn diagnose() -> Diagnosis {
    let (tree, cpu) = (Tree::system(), Cpu::of_this_machine());
    let host = host::read(&tree, &cpu);
    let capabilities = privilege::capabilities(&tree);
    let (mechanisms, foundations) = kernel::trials();
    let surroundings = surroundings::look(&tree, &host, &cpu, capabilities.as_deref().unwrap_or_default());
    Diagnosis {
        schema: "probe-doctor/1",
        summary: summary(&mechanisms),
        host,
        tool: tool(),
        user: User {
            uid: Uid::effective().as_raw(),
            invoking_uid: Owner::invoking_user().map(Owner::uid),
            capabilities,
        },
        mechanisms,
        foundations,
        surroundings,
        programs: surroundings::programs(),
    }
}

fn summary(mechanisms: &[MechanismRow]) -> String {
    let working: Vec<&str> = mechanisms.iter().filter(|row| row.works).map(|row| row.name.as_str()).collect();
    if working.is_empty() {
        "the user-space lab works; nothing that watches the kernel does".to_owned()
    } else {
        format!("the user-space lab works, and beside it {}", working.join(", "))
    }
}

fn text(diagnosis: &Diagnosis, style: Style) -> String {
    let Diagnosis { host, tool, user, .. } = diagnosis;
    let mut page =
        hanging("host  ", &format!("{} · kernel {}", text::machine(host), safe(&host.kernel)), style.width);
    let commit = tool.commit.as_deref().unwrap_or("commit unknown");
    let tool = format!("probe-cli {}, {}, {}", safe(&tool.version), safe(commit), safe(&tool.rustc));
    page += &hanging("tool  ", &tool, style.width);
    page += &hanging("user  ", &self::user(user), style.width);
    page += &hanging("so    ", &diagnosis.summary, style.width);
    let sections: [(&str, Vec<Line<'_>>); 4] = [
        ("mechanisms, each tried just now", diagnosis.mechanisms.iter().map(Line::of_mechanism).collect()),
        ("what they stand on, tried as well", diagnosis.foundations.iter().map(Line::of_mechanism).collect()),
        ("this machine", diagnosis.surroundings.iter().map(Line::of_finding).collect()),
        (
            "programs beside this one, none of them needed",
            diagnosis.programs.iter().map(Line::of_finding).collect(),
        ),
    ];
    for (title, lines) in sections {
        if !lines.is_empty() {
            page += &section(title, &lines, style);
        }
    }
    if !host.unknown.is_empty() {
        let _ = writeln!(page, "\n{}", style.paint(Role::Name, "not told by this kernel"));
        for (field, why) in &host.unknown {
            page += &hanging(&format!("  {field}: "), &safe(why), style.width);
        }
    }
    page
}

fn user(user: &User) -> String {
    let mut text = format!("uid {}", user.uid);
    if let Some(uid) = user.invoking_uid {
        let _ = write!(text, ", started by uid {uid}, who owns the files that are written");
    }
    match &user.capabilities {
        None => text += "; capabilities are not told",
        Some(capabilities) => {
            let held = |held| {
                let names: Vec<&str> = capabilities
                    .iter()
                    .filter(|capability| capability.held == held)
                    .map(|c| c.name)
                    .collect();
                names.join(", ")
            };
            let (there, missing) = (held(true), held(false));
            if !there.is_empty() {
                let _ = write!(text, "; holds {there}");
            }
            if !missing.is_empty() {
                let _ = write!(text, "; lacks {missing}");
            }
        }
    }
    text
}

/// A line of a section.
struct Line<'a> {
    name: &'a str,
    good: Option<bool>,
    /// What it is for, where it is not plain.
    what: &'a str,
    detail: Cow<'a, str>,
    remedy: Option<&'a str>,
}

/// Longest answer that is shown whole.
const LONGEST: usize = 400;

impl<'a> Line<'a> {
    fn says(&self) -> (&str, Option<&str>) {
        (&self.detail, self.remedy)
    }

    fn of_finding(finding: &'a Finding) -> Self {
        let Finding { name, good, detail, remedy } = finding;
        Self { name, good: *good, what: "", detail: detail.into(), remedy: remedy.as_deref() }
    }

    fn of_mechanism(row: &'a MechanismRow) -> Self {
        let tried = row.tried.as_ref().map_or_else(String::new, |tried| format!("{tried}: "));
        let detail = format!("{tried}{}", row.reason).into();
        Self {
            name: &row.name,
            good: Some(row.works),
            what: &row.what,
            detail,
            remedy: row.remedy.as_deref(),
        }
    }
}

fn section(title: &str, lines: &[Line<'_>], style: Style) -> String {
    let mut page = format!("\n{}\n", style.paint(Role::Name, title));
    let width = lines.iter().map(|line| columns(&safe(line.name))).max().unwrap_or(0);
    for (index, line) in lines.iter().enumerate() {
        let (word, role) = match line.good {
            Some(true) => ("yes", Role::Good),
            Some(false) => ("no ", Role::Doubtful),
            None => ("?  ", Role::Aside),
        };
        let name = left(&safe(line.name), width);
        let label = format!("  {name}  {word}  ");
        // One cause often stops several.
        let before = index.checked_sub(1).map(|before| &lines[before]);
        let same = before.is_some_and(|before| before.remedy.is_some() && before.says() == line.says());
        let mut words = vec![safe(line.what)];
        words.push(if same { "the same".to_owned() } else { brief(&line.detail, LONGEST) });
        words.retain(|words| !words.is_empty());
        let mut text = hanging(&label, &words.join(" · "), style.width);
        let at = 2 + name.len() + 2;
        text.replace_range(at..at + word.len(), &style.paint(role, word));
        page += &text;
        if let Some(remedy) = line.remedy.filter(|_| !same) {
            let below = format!("{}next: ", " ".repeat(columns(&label)));
            page += &hanging(&below, &safe(remedy), style.width);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_aligns_its_words_and_says_what_to_do() {
        let line = |name, good, what, detail: &'static str, remedy| Line {
            name,
            good,
            what,
            detail: detail.into(),
            remedy,
        };
        let lines = [
            line("fentry", Some(false), "functions", "refused", Some("use another")),
            line("kprobe", Some(false), "breakpoints", "refused", Some("use another")),
            line("call", Some(true), "", "ran", None),
            line("x", None, "", "not\ntold", None),
        ];
        assert_eq!(
            section("tried", &lines, Style::PLAIN),
            "
tried
  fentry  no   functions · refused
               next: use another
  kprobe  no   breakpoints · the same
  call    yes  ran
  x       ?    not / told
"
        );
    }
}
