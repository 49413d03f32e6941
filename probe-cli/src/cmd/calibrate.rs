//! `probe-cli calibrate`: what probes cost on this machine.

use std::fmt::Write as _;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::Words;
use super::output::{Format, Output, document, tool};
use crate::error::{Error, Result};
use crate::host;
use crate::probe::backend::Backend;
use crate::probe::refusal::Circumstances;
use crate::report::model::{Host, Tool};
use crate::report::text::words::{hanging, safe};
use crate::trace::cost::{self, Cost, Effort, KINDS};

/// What a probe costs on this machine, by kind
///
/// Each kind is attached to a call of our own that does next to nothing (getppid, an empty function), with the programs
/// that `trace` uses, and the call is timed with the probe and without in turn.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli calibrate
  probe-cli calibrate --quick
  probe-cli calibrate -f json | jq '.kinds[] | {kind, floor_ns, added_ns}'")]
pub(super) struct Calibrate {
    /// Measure briefly, as a session does
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    output: Output,
}

/// The document of `calibrate -f json`.
#[derive(Serialize)]
struct Calibration {
    schema: &'static str,
    host: Host,
    tool: Tool,
    calls: u32,
    kinds: Vec<KindRow>,
}

/// One kind of probe.
#[derive(Serialize)]
struct KindRow {
    kind: &'static str,
    works: bool,
    /// Why it was not measured; null where it was.
    reason: Option<String>,
    /// What an interval reads when nothing happens in it.
    floor_ns: Option<u64>,
    floor_p99_ns: Option<u64>,
    /// What a traced call takes longer.
    added_ns: Option<i64>,
    /// What a call takes longer that is not traced.
    bystander_ns: Option<i64>,
}

impl Calibrate {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        self.output.check()?;
        let missing = Circumstances::read(std::path::Path::new("/")).missing_capabilities();
        if !missing.is_empty() {
            return Err(Error::Capabilities(missing));
        }
        let effort = if self.quick { Effort::BRIEF } else { Effort::LONG };
        let kinds: Vec<KindRow> = KINDS.into_iter().map(|backend| measured(backend, effort)).collect();
        let page = match self.output.format {
            Format::Text => text(&kinds, self.output.style(words).width).into_bytes(),
            Format::Json => document(&Calibration {
                schema: "probe-calibration/1",
                host: host::this_machine(),
                tool: tool(),
                calls: effort.calls * effort.rounds,
                kinds,
            })?,
        };
        self.output.deliver(&page, out)
    }
}

fn measured(backend: Backend, effort: Effort) -> KindRow {
    let (cost, reason) = match cost::of(backend, effort) {
        Ok(cost) => (cost, None),
        Err(refusal) => (Cost::default(), Some(refusal.to_string())),
    };
    let Cost { floor_ns, floor_p99_ns, added_ns, bystander_ns } = cost;
    KindRow {
        kind: backend.name(),
        works: reason.is_none(),
        reason,
        floor_ns,
        floor_p99_ns,
        added_ns,
        bystander_ns,
    }
}

fn text(kinds: &[KindRow], width: usize) -> String {
    fn told<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.to_string())
    }
    let mut page = String::new();
    let _ = writeln!(
        page,
        "{:<15} {:>8} {:>10} {:>8} {:>12}   (ns)",
        "kind", "floor", "floor p99", "adds", "bystanders"
    );
    for row in kinds {
        match &row.reason {
            None => {
                let _ = writeln!(
                    page,
                    "{:<15} {:>8} {:>10} {:>8} {:>12}",
                    row.kind,
                    told(row.floor_ns),
                    told(row.floor_p99_ns),
                    told(row.added_ns),
                    told(row.bystander_ns)
                );
            }
            Some(reason) => page += &hanging(&format!("{:<15} ", row.kind), &safe(reason), width),
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_was_refused_says_why_in_its_place() {
        let row = |kind, reason: Option<&str>, floor_ns| KindRow {
            kind,
            works: reason.is_none(),
            reason: reason.map(str::to_owned),
            floor_ns,
            floor_p99_ns: None,
            added_ns: Some(-3),
            bystander_ns: Some(0),
        };
        let page = text(&[row("fentry", Some("EPERM"), None), row("uprobe", None, Some(12))], 80);
        assert_eq!(
            page,
            "kind               floor  floor p99     adds   bystanders   (ns)\n\
             fentry          EPERM\n\
             uprobe                12          -       -3            0\n"
        );
    }
}
