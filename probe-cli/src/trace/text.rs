//! A session for people: numbers first, then the shape.

use std::fmt::Write as _;

use super::document::{Interval, Session, SessionRow, SlowRow, merged};
use crate::report::refusal;
use crate::report::text::Style;
use crate::report::text::paint::Role;
use crate::report::text::words::{columns, gathered, hanging, left, right, safe};

/// The unit of times in text; files are always ns.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unit {
    /// What keeps each number short.
    #[default]
    Auto,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
}

impl Unit {
    /// A time in it, with its name.
    #[must_use]
    pub fn show(self, ns: u64) -> String {
        match self {
            Self::Ns => format!("{} ns", grouped(ns)),
            Self::Us => format!("{} us", decimals(ns, 1_000)),
            Self::Ms => format!("{} ms", decimals(ns, 1_000_000)),
            Self::Auto => match ns {
                0..10_000 => Self::Ns.show(ns),
                10_000..10_000_000 => Self::Us.show(ns),
                10_000_000..10_000_000_000 => Self::Ms.show(ns),
                _ => format!("{} s", decimals(ns, 1_000_000_000)),
            },
        }
    }
}

fn decimals(ns: u64, per: u64) -> String {
    let whole = ns / per;
    let share = (ns % per) as f64 / per as f64;
    match whole {
        0..10 => format!("{:.3}", whole as f64 + share),
        10..1000 => format!("{:.1}", whole as f64 + share),
        _ => grouped(whole),
    }
}

/// A whole number with its thousands apart.
#[must_use]
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// How a session is written.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// For this reader.
    pub style: Style,
    /// Unit of times.
    pub unit: Unit,
    /// Whether intervals say when they ended.
    pub timestamps: bool,
    /// Whether the shape is drawn.
    pub shape: bool,
}

/// The whole session. Its intervals have been written while they passed.
#[must_use]
pub fn session(session: &Session, look: Look) -> String {
    let mut page = String::new();
    if !session.intervals.is_empty() {
        let _ = writeln!(page, "{}", look.style.paint(Role::Name, "the whole session"));
    }
    page += &rows(&session.targets, look);
    page += &slow(&session.slow, look);
    for warning in &session.warnings {
        let label = format!("{}: ", safe(&warning.code));
        page += &hanging(&label, &safe(&warning.text), look.style.width);
    }
    if session.interrupted {
        page += &hanging("", "interrupted: this is what had been counted by then", look.style.width);
    }
    page
}

/// One interval.
#[must_use]
pub fn interval(interval: &Interval, look: Look) -> String {
    let mut head = String::new();
    if look.timestamps {
        let _ = write!(head, "{}  ", interval.ended);
    }
    let _ = write!(
        head,
        "{} to {} since the beginning",
        Unit::Auto.show(interval.from_ns),
        Unit::Auto.show(interval.to_ns)
    );
    format!("{}\n{}", look.style.paint(Role::Name, &head), rows(&interval.targets, look))
}

/// Rows of targets, those of one target below each other.
#[must_use]
pub fn rows(rows: &[SessionRow], look: Look) -> String {
    let mut page = String::new();
    for group in rows.chunk_by(|one, other| one.row.target == other.row.target) {
        page += &target(group, look);
    }
    page
}

fn target(group: &[SessionRow], look: Look) -> String {
    let row = &group[0].row;
    let name = safe(&row.target);
    let words = format!("{} · {}", row.backend, safe(&row.question));
    let mut page = hanging(&format!("{name}  "), &words, look.style.width);
    page.replace_range(..name.len(), &look.style.paint(Role::Name, &name));
    if row.backend == "none" {
        return page + &not_answered(&row.reason, look) + "\n";
    }
    for row in group {
        page += &numbers(row, group.len() > 1 || row.key != super::document::Key::default(), look);
        if look.shape && row.row.n > 0 {
            page += &shape(row, look);
        }
    }
    let count = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), grouped);
    let signed = |value: Option<i64>| {
        value.map_or_else(
            || "?".to_owned(),
            |ns| format!("{}{} ns", if ns < 0 { "-" } else { "" }, grouped(ns.unsigned_abs())),
        )
    };
    let quality = format!(
        "floor {} · adds {} · bystanders {} · in flight {} · unmatched {} · dropped {} · missed {} · clock back {}",
        row.floor_ns.map_or_else(|| "?".to_owned(), |ns| format!("{} ns", grouped(ns))),
        signed(row.added_ns),
        signed(row.bystander_ns),
        grouped(row.in_flight),
        grouped(row.unmatched),
        grouped(row.dropped),
        count(row.missed),
        grouped(row.clock_regressions),
    );
    page += &hanging("  ", &quality, look.style.width);
    page + "\n"
}

/// Why nothing answers, each cause once: the whole of it is in the files.
fn not_answered(reason: &str, look: Look) -> String {
    let refused = refusal::reasons(reason);
    if refused.is_empty() {
        return hanging("  ", &safe(reason), look.style.width);
    }
    gathered(refused)
        .iter()
        .map(|(why, what)| hanging("  not by ", &format!("{why} ({})", what.join(", ")), look.style.width))
        .collect()
}

/// What sets a row apart, in words.
#[must_use]
pub fn key(row: &SessionRow) -> String {
    let key = &row.key;
    let mut parts = Vec::new();
    parts.extend(key.pid.map(|pid| format!("pid {pid}")));
    parts.extend(key.comm.as_deref().map(|comm| format!("comm {}", safe(comm))));
    parts.extend(key.cgroup.map(|id| format!("cgroup {id}")));
    parts.extend(key.cpu.map(|cpu| format!("cpu {cpu}")));
    parts.extend(sizes(key.size_lo, key.size_hi));
    parts.join(", ")
}

/// A class of sizes in words.
#[must_use]
pub fn sizes(lo: Option<u64>, hi: Option<u64>) -> Option<String> {
    match (lo?, hi) {
        (lo, Some(hi)) if hi == lo + 1 => Some(format!("{lo} B")),
        (lo, Some(hi)) => Some(format!("{} to {} B", bytes(lo), bytes(hi - 1))),
        (lo, None) => Some(format!("{} B and more", bytes(lo))),
    }
}

fn bytes(value: u64) -> String {
    match value {
        0..10_240 => value.to_string(),
        _ if (value + 1).is_multiple_of(1024) => format!("{}k-1", grouped((value + 1) >> 10)),
        _ => format!("{}k", grouped(value >> 10)),
    }
}

fn numbers(row: &SessionRow, keyed: bool, look: Look) -> String {
    let label = if keyed { format!("  {}  ", key(row)) } else { "  ".to_owned() };
    let mut numbers = format!("n {}", grouped(row.row.n));
    if let (Some(p50), Some(p90), Some(p99), Some(max)) =
        (row.row.p50_ns, row.row.p90_ns, row.row.p99_ns, row.row.max_ns)
    {
        let show = |ns| look.unit.show(ns);
        let _ = write!(
            numbers,
            " · p50 {} · p90 {} · p99 {} · max {}",
            show(p50),
            show(p90),
            show(p99),
            show(max)
        );
    }
    if row.row.probe_bound {
        numbers += " · probe-bound: under three times the floor, no verdict";
    }
    hanging(&label, &numbers, look.style.width)
}

/// Most lines of a shape.
const LINES: usize = 16;

fn shape(row: &SessionRow, look: Look) -> String {
    let mut lines: Vec<(u64, u64, u64)> =
        row.row.buckets.iter().map(|bucket| (bucket.lo, bucket.hi, bucket.count)).collect();
    // Eighths of powers of two where they fit, else halves of their number until they do.
    let mut step = 1_u32;
    while lines.len() > LINES && step <= 64 {
        step *= 2;
        let mut coarse: Vec<(u64, u64, u64)> = Vec::new();
        for bucket in &row.row.buckets {
            let (lo, hi) = coarser(bucket.lo, step);
            match coarse.last_mut() {
                Some(last) if last.0 == lo => last.2 += bucket.count,
                _ => coarse.push((lo, hi.max(bucket.hi), bucket.count)),
            }
        }
        lines = coarse;
    }
    let most = lines.iter().map(|line| line.2).max().unwrap_or(1).max(1);
    let labels: Vec<(String, String)> = lines
        .iter()
        .map(|(lo, hi, count)| {
            (format!("[{}, {})", look.unit.show(*lo), look.unit.show(*hi)), grouped(*count))
        })
        .collect();
    let label = labels.iter().map(|(label, _)| columns(label)).max().unwrap_or(0);
    let number = labels.iter().map(|(_, count)| columns(count)).max().unwrap_or(0);
    let bar = look.style.width.saturating_sub(label + number + 10).clamp(10, 50);
    let mut page = String::new();
    for ((text, count), line) in labels.iter().zip(&lines) {
        // A bar for every count that is not 0, however short.
        let length = (line.2 as u128 * bar as u128).div_ceil(u128::from(most)) as usize;
        let _ = writeln!(page, "    {}  {}  {}", left(text, label), right(count, number), "#".repeat(length));
    }
    page
}

/// The coarser bucket that `value` is in: `step` of the eighths of a power of two, or several powers.
fn coarser(value: u64, step: u32) -> (u64, u64) {
    if step <= 8 {
        let exponent = value.max(1).ilog2();
        if exponent < 3 {
            return (0, 8);
        }
        let width = (1_u64 << (exponent - 3)) * u64::from(step);
        let lo = (value - (1 << exponent)) / width * width + (1 << exponent);
        return (lo, lo.saturating_add(width));
    }
    let powers = step / 8;
    let exponent = value.max(1).ilog2() / powers * powers;
    let hi = 1_u64.checked_shl(exponent + powers).unwrap_or(u64::MAX);
    (if exponent == 0 { 0 } else { 1 << exponent }, hi)
}

/// Single slow calls, oldest first.
#[must_use]
pub fn slow(calls: &[SlowRow], look: Look) -> String {
    let mut page = String::new();
    for call in calls {
        let size = sizes(call.size_lo, call.size_hi).map(|size| format!(" · {size}")).unwrap_or_default();
        let head = format!(
            "{}  {} · {} pid {} tid {} · cpu {}{size} · ended at {}.{:09}",
            look.unit.show(call.elapsed_ns),
            safe(&call.target),
            safe(&call.comm),
            call.pid,
            call.tid,
            call.cpu,
            call.end_ns / 1_000_000_000,
            call.end_ns % 1_000_000_000,
        );
        page += &hanging("", &head, look.style.width);
        for (label, stack) in [("kernel", &call.kernel_stack), ("user", &call.user_stack)] {
            for (index, frame) in stack.iter().enumerate() {
                let label = if index == 0 { label } else { "" };
                page += &hanging(&format!("    {}  ", left(label, 6)), &safe(frame), look.style.width);
            }
        }
    }
    page
}

/// Calls per second: the table of `count`.
#[must_use]
pub fn counts(rows: &[SessionRow], duration_ns: u64, look: Look) -> String {
    let seconds = (duration_ns as f64 / 1e9).max(1e-9);
    let mut page = String::new();
    let lines: Vec<(String, String, String)> = rows
        .iter()
        .map(|row| {
            let key = key(row);
            let name = if key.is_empty() {
                safe(&row.row.target)
            } else {
                format!("{}, {key}", safe(&row.row.target))
            };
            if row.row.backend == "none" {
                (name, "-".to_owned(), "-".to_owned())
            } else {
                let rate = (row.row.n as f64 / seconds).round() as u64;
                (name, grouped(row.row.n), format!("{}/s", grouped(rate)))
            }
        })
        .collect();
    let width = |column: fn(&(String, String, String)) -> &String| {
        lines.iter().map(|line| columns(column(line))).max().unwrap_or(0)
    };
    let (name, count, rate) = (width(|line| &line.0), width(|line| &line.1), width(|line| &line.2));
    for (line, row) in lines.iter().zip(rows) {
        let _ = writeln!(
            page,
            "{}  {}  {}  {}",
            left(&line.0, name),
            right(&line.1, count),
            right(&line.2, rate),
            row.row.backend
        );
        if row.row.backend == "none" {
            page += &not_answered(&row.row.reason, look);
        }
    }
    page
}

/// Sizes against latencies, one map a target: the darker, the more of a size's calls took that long.
#[must_use]
pub fn heatmap(rows: &[SessionRow], look: Look) -> String {
    const SHADES: [char; 8] = [' ', '.', ':', '-', '=', '+', '#', '@'];
    let mut page = String::new();
    for group in rows.chunk_by(|one, other| one.row.target == other.row.target) {
        let some: Vec<&SessionRow> = group.iter().filter(|row| row.row.n > 0).collect();
        if some.is_empty() {
            page += &self::rows(group, look);
            continue;
        }
        let head = format!("{} · {}", group[0].row.backend, safe(&group[0].row.question));
        page += &hanging(&format!("{}  ", safe(&group[0].row.target)), &head, look.style.width);
        // A column for each half of a power of two.
        let column = |ns: u64| {
            let exponent = ns.max(1).ilog2();
            let upper_half = exponent > 0 && ns >> (exponent - 1) & 1 == 1;
            2 * exponent + u32::from(upper_half)
        };
        let all = || some.iter().flat_map(|row| &row.row.buckets);
        let first = all().map(|bucket| column(bucket.lo)).min().unwrap_or(0);
        let last = all().map(|bucket| column(bucket.lo)).max().unwrap_or(first);
        let label = |row: &SessionRow| {
            sizes(row.key.size_lo, row.key.size_hi).unwrap_or_else(|| "size not known".to_owned())
        };
        let width = some.iter().map(|row| columns(&label(row))).max().unwrap_or(0);
        for row in &some {
            let mut cells = vec![0_u64; (last - first + 1) as usize];
            for bucket in &row.row.buckets {
                cells[(column(bucket.lo) - first) as usize] += bucket.count;
            }
            let most = cells.iter().copied().max().unwrap_or(1).max(1);
            let shade = |count: u64| match count {
                0 => SHADES[0],
                _ => SHADES[1 + (u128::from(count) * 6).div_ceil(u128::from(most)) as usize],
            };
            let line: String = cells.into_iter().map(|count| shade(count).to_string().repeat(2)).collect();
            let p50 = row.row.p50_ns.map(|ns| look.unit.show(ns)).unwrap_or_default();
            let _ =
                writeln!(page, "  {} |{line}| n {}, p50 {p50}", left(&label(row), width), grouped(row.row.n));
        }
        let edge = |column: u32| {
            let whole = 1_u64 << (column / 2);
            if column % 2 == 1 { whole + whole / 2 } else { whole }
        };
        let (from, to) = (look.unit.show(edge(first)), look.unit.show(edge(last)));
        let _ = writeln!(
            page,
            "  {} {from} to {to} and above, each column half a power of two\n",
            left("", width)
        );
    }
    page
}

/// The lines that `--merge` gives: all rows of a target as one.
#[must_use]
pub fn merge(rows: &[SessionRow]) -> Vec<SessionRow> {
    merged(rows)
        .into_iter()
        .filter_map(|(row, histogram)| {
            let first = rows.iter().find(|known| known.row.target == row.target)?;
            Some(first.with(&histogram))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_the_unit_that_was_asked_for() {
        for (unit, ns, text) in [
            (Unit::Ns, 1_234_567, "1 234 567 ns"),
            (Unit::Us, 0, "0.000 us"),
            (Unit::Us, 1_500, "1.500 us"),
            (Unit::Ms, 2_000_000, "2.000 ms"),
            (Unit::Auto, 0, "0 ns"),
            (Unit::Auto, 9_999, "9 999 ns"),
            (Unit::Auto, 23_026, "23.0 us"),
            (Unit::Auto, 25_000_000, "25.0 ms"),
            (Unit::Auto, 30_000_000_000, "30.0 s"),
        ] {
            assert_eq!(unit.show(ns), text);
        }
    }

    #[test]
    fn coarser_buckets_hold_the_finer_ones() {
        for value in [0_u64, 1, 7, 8, 9, 100, 1000, 1 << 20, (1 << 20) + 7, 1 << 40] {
            for step in [2, 4, 8, 16, 32] {
                let (lo, hi) = coarser(value, step);
                assert!(lo <= value && value < hi, "{value} in [{lo}, {hi}) at {step}");
            }
        }
        assert_eq!(coarser(300, 8), (256, 512));
        assert_eq!(coarser(300, 4), (256, 384));
    }

    #[test]
    fn classes_of_sizes_are_said_with_their_ends() {
        assert_eq!(sizes(Some(0), Some(1)).unwrap(), "0 B");
        assert_eq!(sizes(Some(64), Some(128)).unwrap(), "64 to 127 B");
        assert_eq!(sizes(Some(1 << 24), None).unwrap(), "16 384k B and more");
        assert_eq!(sizes(None, None), None);
    }
}
