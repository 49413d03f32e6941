//! The flags of every tracing command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cmd::output::Output;
use crate::host::cpu_list::CpuList;
use crate::probe::backend::Backend;
use crate::trace::text::Unit;

/// What to trace, whose calls, for how long, and in which form it is told.
#[derive(Args, Debug)]
pub(in crate::cmd) struct Arguments {
    /// random, copy, route; a kernel function or glob; syscall:NAME; timer:FUNCTION; call:PRIMITIVE;
    /// usdt:BINARY:PROVIDER:NAME; BINARY:FUNCTION or BINARY:+0xOFFSET
    #[arg(value_name = "TARGET", required = true)]
    pub(super) targets: Vec<String>,
    /// Names of functions are regular expressions
    #[arg(short, long)]
    pub(super) regex: bool,

    /// Only this process
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "command")]
    pub(super) pid: Option<u32>,
    /// Only this thread
    #[arg(short, long, value_name = "TID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) tid: Option<u32>,
    /// Only threads of this name (15 bytes at most)
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) comm: Option<String>,
    /// Only this cgroup (version 2) and those below it
    #[arg(short, long, value_name = "PATH")]
    pub(super) cgroup: Option<PathBuf>,
    /// Only calls that begin on these CPUs, as in 0-3,8
    #[arg(short = 'C', long, value_name = "LIST")]
    pub(super) cpu: Option<CpuList>,
    /// Only calls of such sizes: size>4k, size<=64, size=1M; twice for a range
    #[arg(long = "if", value_name = "CONDITION", value_parser = sizes)]
    pub(super) conditions: Vec<(u64, u64)>,

    /// Tell what each interval counted: 1s, 200ms; a bare number is seconds
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(super) interval: Option<Duration>,
    /// End after this time
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(super) duration: Option<Duration>,
    /// Say when each interval ended
    #[arg(short = 'T', long)]
    pub(super) timestamps: bool,

    /// Times in microseconds (text alone; files are always ns)
    #[arg(short = 'u', conflicts_with_all = ["milli", "unit"])]
    pub(super) micro: bool,
    /// Times in milliseconds
    #[arg(short = 'm', conflicts_with = "unit")]
    pub(super) milli: bool,
    /// Unit of times in text
    #[arg(long, value_enum, value_name = "UNIT", default_value_t = UnitName::Auto)]
    pub(super) unit: UnitName,

    /// All rows of a target as one
    #[arg(long)]
    pub(super) merge: bool,
    /// A row for each CPU that calls end on
    #[arg(long)]
    pub(super) per_cpu: bool,
    /// A row for each process, thread name, cgroup or size; several with commas
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub(super) by: Vec<Split>,
    /// Nested calls of one function that are timed; deeper ones are counted as dropped
    #[arg(short = 'l', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(super) depth: u32,

    /// Mechanism; by itself the best that this machine takes
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Mechanism::Auto)]
    pub(super) probe: Mechanism,
    /// The same as --probe kprobe
    #[arg(short = 'k', conflicts_with = "probe")]
    pub(super) kprobe: bool,

    /// Exit with 5 when more than PCT per cent of a target's calls were lost or unmatched
    #[arg(long, value_name = "PCT", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = percent)]
    pub(super) strict: Option<f64>,
    /// Stop with 5 at a target that is hit more often in a second. Without -p, -t or CMD it is 200k
    #[arg(long, value_name = "RATE", value_parser = size)]
    pub(super) max_rate: Option<u64>,
    /// Go on, however often a target is hit
    #[arg(long)]
    pub(super) yes: bool,
    /// Say what would be attached to, and attach to nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Mount tracefs for everybody where it cannot be mounted for one thread alone; nothing else is ever changed
    #[arg(long)]
    pub(super) allow_system_changes: bool,

    /// Form of the data
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    pub(super) format: Form,
    /// Put the data into this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Keep the session in this file as well, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,

    /// Trace this program and its children, and end with it
    #[arg(last = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

/// Form of the data.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Form {
    Text,
    Json,
    Ndjson,
    Csv,
    Md,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum UnitName {
    Auto,
    Ns,
    Us,
    Ms,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Split {
    Pid,
    Comm,
    Cgroup,
    Size,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Mechanism {
    Auto,
    Fentry,
    Kprobe,
    Tracepoint,
    RawTracepoint,
    Uprobe,
}

impl Arguments {
    pub(super) fn unit(&self) -> Unit {
        match self.unit {
            _ if self.micro => Unit::Us,
            _ if self.milli => Unit::Ms,
            UnitName::Auto => Unit::Auto,
            UnitName::Ns => Unit::Ns,
            UnitName::Us => Unit::Us,
            UnitName::Ms => Unit::Ms,
        }
    }

    pub(super) fn only(&self) -> Option<Backend> {
        match self.probe {
            _ if self.kprobe => Some(Backend::Kprobe),
            Mechanism::Auto => None,
            Mechanism::Fentry => Some(Backend::Fentry),
            Mechanism::Kprobe => Some(Backend::Kprobe),
            Mechanism::Tracepoint => Some(Backend::Tracepoint),
            Mechanism::RawTracepoint => Some(Backend::RawTracepoint),
            Mechanism::Uprobe => Some(Backend::Uprobe),
        }
    }

    /// Where text and documents go.
    pub(super) fn place(&self) -> Output {
        Output { format: crate::cmd::output::Format::Text, output: self.output.clone() }
    }
}

/// A time as people write it; a bare number is seconds.
pub(in crate::cmd) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().map(Duration::try_from_secs_f64);
    let duration = match seconds {
        Some(Ok(duration)) => duration,
        Some(Err(_)) => return Err("that is no time; write one like 1s, 200ms or 0.5".to_owned()),
        None => {
            humantime::parse_duration(text).map_err(|error| format!("{error}; write one like 1s or 200ms"))?
        }
    };
    if duration < Duration::from_nanos(1) {
        return Err("a time must be longer than nothing".to_owned());
    }
    Ok(duration)
}

/// A number with k, M or G, each a thousand, or Ki, Mi, Gi.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no number; write one like 4k, 4Ki or 4096");
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" | "KiB" => 1 << 10,
        "Mi" | "MiB" => 1 << 20,
        "Gi" | "GiB" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

/// A size of memory: k, M and G are powers of 1024, as everybody means there.
fn bytes(text: &str) -> Result<u64, String> {
    match text.strip_suffix(['k', 'K', 'M', 'G']) {
        Some(number) => size(&format!("{number}{}i", text[number.len()..].to_uppercase())),
        None => size(text),
    }
}

/// `size>4k`: smallest and largest that it lets through.
fn sizes(text: &str) -> Result<(u64, u64), String> {
    let wrong = || format!("`{text}` is no condition; write one like size>4k, size<=64 or size=4096");
    let rest = text.trim().strip_prefix("size").ok_or_else(wrong)?.trim_start();
    let end = rest.find(|character| !matches!(character, '<' | '>' | '=')).ok_or_else(wrong)?;
    let (sign, number) = rest.split_at(end);
    let number = bytes(number.trim())?;
    let range = match sign {
        ">" => number.checked_add(1).map(|least| (least, u64::MAX)),
        ">=" => Some((number, u64::MAX)),
        "<" => number.checked_sub(1).map(|most| (0, most)),
        "<=" => Some((0, number)),
        "=" | "==" => Some((number, number)),
        _ => None,
    };
    range.ok_or_else(wrong)
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("that is no share; write one from 0 to 100".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration("1m 1s"), Ok(Duration::from_secs(61)));
        for wrong in ["", "0", "-1", "x", "1parsec", "1e99", "nan"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn conditions_are_ranges() {
        for (text, range) in [
            ("size>4k", (4097, u64::MAX)),
            ("size>=4096", (4096, u64::MAX)),
            ("size < 64", (0, 63)),
            ("size<=1M", (0, 1 << 20)),
            ("size=16", (16, 16)),
        ] {
            assert_eq!(sizes(text), Ok(range), "{text}");
        }
        for wrong in
            ["", "size", "size>", "size<0", "size!4", "length>4", "size>4q", "size>99999999999999999999"]
        {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("200k"), Ok(200_000));
    }
}
