//! A session as a table: CSV for programs, Markdown for notes. Times are ns in both.

use super::document::{Interval, Session, SessionRow};

/// One column: its name, and what a row has there.
type Column = (&'static str, fn(&SessionRow) -> String);

fn told<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

const COLUMNS: &[Column] = &[
    ("target", |row| row.row.target.clone()),
    ("backend", |row| row.row.backend.clone()),
    ("pid", |row| told(row.key.pid)),
    ("comm", |row| told(row.key.comm.clone())),
    ("cgroup", |row| told(row.key.cgroup)),
    ("cpu", |row| told(row.key.cpu)),
    ("size_lo", |row| told(row.key.size_lo)),
    ("size_hi", |row| told(row.key.size_hi)),
    ("n", |row| row.row.n.to_string()),
    ("p50_ns", |row| told(row.row.p50_ns)),
    ("p90_ns", |row| told(row.row.p90_ns)),
    ("p99_ns", |row| told(row.row.p99_ns)),
    ("max_ns", |row| told(row.row.max_ns)),
    ("total_ns", |row| row.total_ns.to_string()),
    ("floor_ns", |row| told(row.row.floor_ns)),
    ("added_ns", |row| told(row.row.added_ns)),
    ("bystander_ns", |row| told(row.row.bystander_ns)),
    ("in_flight", |row| row.row.in_flight.to_string()),
    ("unmatched", |row| row.row.unmatched.to_string()),
    ("dropped", |row| row.row.dropped.to_string()),
    ("missed", |row| told(row.row.missed)),
    ("clock_regressions", |row| row.row.clock_regressions.to_string()),
    ("probe_bound", |row| row.row.probe_bound.to_string()),
];

/// The line with the names of the columns.
#[must_use]
pub fn csv_head() -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    format!("from_ns,to_ns,{}\n", names.join(","))
}

/// The lines of the rows counted between two times since the beginning.
#[must_use]
pub fn csv(rows: &[SessionRow], from_ns: u64, to_ns: u64) -> String {
    let line = |row: &SessionRow| {
        let cells: Vec<String> = COLUMNS.iter().map(|(_, cell)| quoted(&cell(row))).collect();
        format!("{from_ns},{to_ns},{}\n", cells.join(","))
    };
    rows.iter().map(line).collect()
}

/// RFC 4180: a cell with a comma, a quote or a line break stands in quotes. One that a spreadsheet would take for a
/// formula is marked as text.
fn quoted(cell: &str) -> String {
    let cell = match cell.chars().next() {
        Some('=' | '+' | '@') => format!("'{cell}"),
        Some('-') if cell.parse::<i64>().is_err() => format!("'{cell}"),
        _ => cell.to_owned(),
    };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// The whole session as Markdown; its intervals have been written while they passed.
#[must_use]
pub fn markdown(session: &Session) -> String {
    let mut page = markdown_rows(&session.targets);
    for warning in &session.warnings {
        page += &format!("\n* **{}**: {}", cell(&warning.code), cell(&warning.text));
    }
    if session.interrupted {
        page += "\n* interrupted: this is what had been counted by then";
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// One interval as Markdown.
#[must_use]
pub fn markdown_interval(interval: &Interval) -> String {
    format!("### {}\n\n{}\n", interval.ended, markdown_rows(&interval.targets))
}

fn markdown_rows(rows: &[SessionRow]) -> String {
    let mut page = String::from(
        "| target | by | n | p50 ns | p90 ns | p99 ns | max ns | floor | adds | bystanders | lost | unmatched | in flight |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        let key = super::text::key(row);
        let name = if key.is_empty() { row.row.target.clone() } else { format!("{}, {key}", row.row.target) };
        let lost = row.row.dropped.saturating_add(row.row.missed.unwrap_or(0));
        let bound = if row.row.probe_bound { " (probe-bound)" } else { "" };
        page += &format!(
            "| {} | {} | {} | {}{bound} | {} | {} | {} | {} | {} | {} | {lost} | {} | {} |\n",
            cell(&name),
            row.row.backend,
            row.row.n,
            told(row.row.p50_ns),
            told(row.row.p90_ns),
            told(row.row.p99_ns),
            told(row.row.max_ns),
            told(row.row.floor_ns),
            told(row.row.added_ns),
            told(row.row.bystander_ns),
            row.row.unmatched,
            row.row.in_flight,
        );
    }
    page
}

fn cell(text: &str) -> String {
    crate::report::text::safe(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (cell, quoted) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("=1+1", "'=1+1"),
            ("-12", "-12"),
            ("-x", "'-x"),
        ] {
            assert_eq!(super::quoted(cell), quoted);
        }
    }

    #[test]
    fn every_line_has_as_many_cells_as_the_head() {
        assert_eq!(csv_head().trim_end().split(',').count(), COLUMNS.len() + 2);
        assert_eq!(cell("a|b\n"), "a\\|b\\n");
    }
}
