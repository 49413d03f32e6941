//! `probe-cli call`: kernel primitives, timed by calling them.

use std::{fmt::Write as _, io::Write};

use clap::Args;
use serde::Serialize;

use super::{
    Words,
    kernel::{self, CallRow},
    output::{Format, Output, document, tool},
};
use crate::{
    error::{Error, Result},
    host, nearest,
    report::{
        model::{Host, Tool},
        text::words::{hanging, safe},
    },
};

/// Time kernel primitives by calling them from an eBPF program
///
/// No probe and no system call: a program that is run by request calls the primitive in a loop, and the time of
/// the same loop without a call is subtracted. Needs CAP_BPF and CAP_PERFMON.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli call bpf_get_prandom_u32
  probe-cli call bpf_probe_read_user           every size there is of it
  probe-cli call bpf_probe_read_user:64 bpf_probe_read_kernel:64
  probe-cli call bpf_ktime_get_ns -f json")]
pub(super) struct Call {
    /// Primitives, as `probe-cli list call` names them
    #[arg(value_name = "PRIMITIVE", required = true)]
    primitives: Vec<String>,
    /// Samples of each; a sample is many calls
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    #[command(flatten)]
    output: Output,
}

/// The document of `call -f json`.
#[derive(Serialize)]
struct Calls {
    schema: &'static str,
    host: Host,
    tool: Tool,
    primitives: Vec<CallRow>,
}

impl Call {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        // All names before any time is spent.
        let mut names = Vec::new();
        for name in &self.primitives {
            let found = meant(plain(name));
            if found.is_empty() {
                let candidates = nearest::to(plain(name), kernel::primitives().map(|(name, _)| name));
                return Err(Error::UnknownTarget { name: name.clone(), how: "called", candidates });
            }
            names.extend(found);
        }
        self.output.check()?;
        let rows = names.into_iter().map(|name| kernel::call(name, self.samples));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let page = match self.output.format {
            Format::Text => text(&rows, self.output.style(words).width).into_bytes(),
            Format::Json => document(&Calls {
                schema: "probe-calls/1",
                host: host::this_machine(),
                tool: tool(),
                primitives: rows,
            })?,
        };
        self.output.deliver(&page, out)
    }
}

/// The primitive of this name, or all sizes of it.
fn meant(name: &str) -> Vec<&'static str> {
    let sized = |known: &str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    let names = || kernel::primitives().map(|(known, _)| known);
    match names().find(|known| *known == name) {
        Some(exact) => vec![exact],
        None => names().filter(|known| sized(known)).collect(),
    }
}

/// `call:NAME` is how a target is written; the subcommand has said the first half.
fn plain(name: &str) -> &str {
    name.strip_prefix("call:").unwrap_or(name)
}

fn text(rows: &[CallRow], width: usize) -> String {
    let mut page = String::new();
    for row in rows {
        let ns = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ns| format!("{ns:.1}"));
        let mut numbers = format!(
            "{} ns p50, {} p90, {} p99, n {} samples of {} calls · floor {} (subtracted)",
            ns(row.p50_ns),
            ns(row.p90_ns),
            ns(row.p99_ns),
            row.n,
            row.calls_per_sample,
            ns(row.floor_ns),
        );
        if row.probe_bound {
            let _ = write!(numbers, " · probe-bound: under three times the floor");
        }
        page += &hanging(&format!("{}  ", safe(&row.target)), &numbers, width);
        page += &hanging("  ", &safe(&row.question), width);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_size_is_all_its_sizes() {
        assert_eq!(meant("bpf_probe_read_user"), ["bpf_probe_read_user:64", "bpf_probe_read_user:4096"]);
        assert_eq!(meant("bpf_probe_read_user:64"), ["bpf_probe_read_user:64"]);
        assert_eq!(meant("bpf_probe_read"), [""; 0]);
    }

    #[test]
    fn a_row_says_what_was_called_and_what_was_subtracted() {
        let row = CallRow {
            target: "call:x".into(),
            question: "one number".into(),
            calls_per_sample: 1000,
            n: 200,
            p50_ns: Some(14.04),
            p90_ns: Some(15.0),
            p99_ns: None,
            floor_ns: Some(5.5),
            probe_bound: true,
        };
        assert_eq!(
            text(&[row], 100),
            "\
call:x  14.0 ns p50, 15.0 p90, - p99, n 200 samples of 1000 calls · floor 5.5 (subtracted) ·
        probe-bound: under three times the floor
  one number
"
        );
    }
}
