//! The report as one flat table (RFC 4180): a line a variant, a line a variant whose operations were timed one by one,
//! a line a number of somebody else's program, and a line a question to the live kernel.

use super::{
    model::{ExperimentReport, LiveRow, OperationRow, ProgramRow, ProgramValue, Report, VariantRow},
    text::safe,
};

/// Names of the columns, in order. Columns may be added at the end; none may be renamed.
pub const COLUMNS: [&str; 35] = [
    "experiment",
    "kind",
    "case",
    "name",
    "threads",
    "oversubscribed",
    "unit",
    "median",
    "mad",
    "ci_lo",
    "ci_hi",
    "ratio",
    "ratio_lo",
    "ratio_hi",
    "noise_lo",
    "noise_hi",
    "drop_rate",
    "n",
    "p90_ns",
    "p99_ns",
    "max_ns",
    "floor_ns",
    "added_ns",
    "bystander_ns",
    "in_flight",
    "unmatched",
    "dropped",
    "missed",
    "clock_regressions",
    "probe_bound",
    "mechanism",
    "claim",
    "reason",
    "p99_9_ns",
    "wakeups_per_million",
];

/// `report` as text with a line of names at its head. What is not known is an empty cell.
#[must_use]
pub fn page(report: &Report) -> String {
    let mut page = line(COLUMNS.map(str::to_owned));
    for experiment in &report.experiments {
        page.extend(experiment.variants.iter().map(|row| variant(experiment, row)));
        page.extend(experiment.operations.iter().map(|row| operation(experiment, row)));
        for row in &experiment.programs {
            page.extend(row.values.iter().map(|value| program(experiment, row, value)));
        }
        page.extend(experiment.live.iter().map(|row| live(experiment, row)));
    }
    page
}

/// Cells by the name of their column.
pub(crate) type Cell = (&'static str, String);

/// A cell that may be unknown.
pub(crate) fn known(name: &'static str, value: Option<impl ToString>) -> Cell {
    (name, value.map_or_else(String::new, |value| value.to_string()))
}

fn variant(experiment: &ExperimentReport, row: &VariantRow) -> String {
    let case = experiment.cases.iter().find(|case| case.name == row.case);
    let floor = case.and_then(|case| case.noise_floor).map(|floor| floor.ratio_ci95);
    let ratio = row.ratio_to_baseline;
    by_name(
        experiment,
        &[
            ("kind", "variant".to_owned()),
            ("case", word(&row.case)),
            ("name", word(&row.name)),
            ("threads", row.threads.to_string()),
            ("oversubscribed", row.oversubscribed.to_string()),
            ("unit", word(&row.unit)),
            known("median", row.median),
            known("mad", row.mad),
            known("ci_lo", row.ci95.map(|ends| ends[0])),
            known("ci_hi", row.ci95.map(|ends| ends[1])),
            known("ratio", ratio.map(|ratio| ratio.value)),
            known("ratio_lo", ratio.map(|ratio| ratio.ci95[0])),
            known("ratio_hi", ratio.map(|ratio| ratio.ci95[1])),
            known("noise_lo", floor.map(|ends| ends[0])),
            known("noise_hi", floor.map(|ends| ends[1])),
            known("drop_rate", case.map(|case| case.drop_rate)),
            known("n", Some(row.samples.iter().flatten().flatten().count())),
            ("dropped", row.dropped_pairs.to_string()),
            known("reason", row.unavailable.as_deref().or(row.reason.as_deref()).map(word)),
        ],
    )
}

fn operation(experiment: &ExperimentReport, row: &OperationRow) -> String {
    by_name(
        experiment,
        &[
            ("kind", "operation".to_owned()),
            ("case", word(&row.case)),
            ("name", word(&row.variant)),
            ("threads", row.threads.to_string()),
            ("unit", "ns".to_owned()),
            ("median", row.p50_ns.to_string()),
            ("n", row.n.to_string()),
            ("p99_ns", row.p99_ns.to_string()),
            ("max_ns", row.max_ns.to_string()),
            ("p99_9_ns", row.p99_9_ns.to_string()),
            ("wakeups_per_million", row.wakeups_per_million.to_string()),
        ],
    )
}

fn program(experiment: &ExperimentReport, row: &ProgramRow, value: &ProgramValue) -> String {
    by_name(
        experiment,
        &[
            ("kind", "program".to_owned()),
            ("case", word(&row.command)),
            ("name", word(&value.name)),
            ("unit", word(&value.unit)),
            ("median", value.value.to_string()),
            ("reason", word(&row.what)),
        ],
    )
}

fn live(experiment: &ExperimentReport, row: &LiveRow) -> String {
    let size = row.size_lo.map_or_else(String::new, |lo| format!("size {lo}"));
    by_name(
        experiment,
        &[
            ("kind", "live".to_owned()),
            ("case", size),
            ("name", word(&row.target)),
            ("threads", row.threads.to_string()),
            ("oversubscribed", row.oversubscribed.to_string()),
            ("unit", "ns".to_owned()),
            known("median", row.p50_ns),
            ("n", row.n.to_string()),
            known("p90_ns", row.p90_ns),
            known("p99_ns", row.p99_ns),
            known("max_ns", row.max_ns),
            known("floor_ns", row.floor_ns),
            known("added_ns", row.added_ns),
            known("bystander_ns", row.bystander_ns),
            ("in_flight", row.in_flight.to_string()),
            ("unmatched", row.unmatched.to_string()),
            ("dropped", row.dropped.to_string()),
            known("missed", row.missed),
            ("clock_regressions", row.clock_regressions.to_string()),
            ("probe_bound", row.probe_bound.to_string()),
            ("reason", word(&row.reason)),
        ],
    )
}

/// The verdicts stand in every line of their experiment, so that a line can stand alone.
fn by_name(experiment: &ExperimentReport, cells: &[Cell]) -> String {
    let verdict = |value: Result<serde_json::Value, _>| -> String {
        value.ok().and_then(|value: serde_json::Value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let shared: [Cell; 3] = [
        ("experiment", word(&experiment.name)),
        ("mechanism", verdict(serde_json::to_value(experiment.verdict.mechanism))),
        ("claim", verdict(serde_json::to_value(experiment.verdict.claim))),
    ];
    let find = |name| shared.iter().chain(cells).find(|(known, _)| *known == name);
    line(COLUMNS.map(|name| find(name).map_or_else(String::new, |(_, value)| value.clone())))
}

/// Words from outside: what begins like a formula is made text, since spreadsheets would run it.
pub(crate) fn word(text: &str) -> String {
    let text = safe(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// One line, each cell quoted where it must be.
pub(crate) fn line<const N: usize>(cells: [String; N]) -> String {
    let quoted = cells.map(|cell| {
        if cell.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    });
    quoted.join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let cells = ["a", "b,c", "say \"x\"", "-"].map(str::to_owned);
        assert_eq!(line(cells), "a,\"b,c\",\"say \"\"x\"\"\",-\r\n");
    }

    #[test]
    fn no_name_is_a_formula() {
        for name in ["=1+1", "+1", "-1", "@SUM(A1)"] {
            assert_eq!(word(name), format!("'{name}"));
        }
        assert_eq!(word("plain\n=1"), "plain\\n=1");
    }
}
