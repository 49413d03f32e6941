//! A comparison as text, as Markdown and as CSV.

use std::fmt::Write as _;

use super::{Comparison, Quantity, Row, Scatter, Verdict};
use crate::report::{
    csv::{self, known, line},
    markdown, number,
    text::{
        Style,
        paint::Role,
        safe,
        words::{columns, hanging, left, right},
    },
};

/// Rows that are shown each; the others are counted.
fn shown(row: &Row) -> bool {
    !matches!(row.verdict, Verdict::Inconclusive | Verdict::NotComparable) || row.ratio.is_some()
}

fn cells(row: &Row) -> [String; 6] {
    let symbol = safe(row.unit.split(' ').next().unwrap_or_default());
    let time = |value: Option<f64>| {
        value.map_or_else(|| number::NONE.to_owned(), |value| number::time(value, &symbol))
    };
    [
        format!("{}: {}", safe(&row.case), safe(&row.name)),
        time(row.base),
        time(row.new),
        row.ratio.map_or_else(|| number::NONE.to_owned(), |ratio| number::short(ratio.value)),
        row.ratio.map_or_else(String::new, |ratio| number::interval(ratio.ci95[0], ratio.ci95[1])),
        row.verdict.name().to_owned(),
    ]
}

const HEADS: [&str; 6] = ["", "base", "new", "new/base", "95 %", "verdict"];

/// For a terminal.
#[must_use]
pub fn text(found: &Comparison, style: Style) -> String {
    let mut page = String::new();
    for (label, side) in [("base  ", &found.base), ("new   ", &found.new)] {
        let words =
            format!("{} · {} · kernel {}", safe(&side.file), safe(&side.started), safe(&side.host.kernel));
        page += &hanging(label, &words, style.width);
    }
    for why in &found.not_comparable {
        page += &style.paint(Role::Doubtful, &hanging("not comparable  ", &safe(why), style.width));
    }
    for difference in &found.differences {
        page += &hanging("differs  ", &safe(difference), style.width);
    }
    let rows: Vec<&Row> = found.rows.iter().filter(|row| shown(row)).collect();
    let body: Vec<[String; 6]> = rows.iter().map(|row| cells(row)).collect();
    let mut widths = HEADS.map(columns);
    for row in &body {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    let write = |cells: [&str; 6], role: Option<Role>| {
        let verdict = role.map_or_else(|| cells[5].to_owned(), |role| style.paint(role, cells[5]));
        let numbers: Vec<String> = (1..5).map(|at| right(cells[at], widths[at])).collect();
        format!("  {}  {}  {verdict}", left(cells[0], widths[0]), numbers.join("  ")).trim_end().to_owned()
            + "\n"
    };
    let mut last = "";
    for (row, cells) in rows.iter().zip(&body) {
        if row.experiment != last {
            last = &row.experiment;
            page += &format!("\n{}\n", style.paint(Role::Name, &safe(last)));
            page += &write(HEADS, None);
        }
        let role = match row.verdict {
            Verdict::Regression => Role::Bad,
            Verdict::Improvement => Role::Good,
            Verdict::NoDifference | Verdict::Inconclusive | Verdict::NotComparable => Role::Aside,
        };
        page += &write(cells.each_ref().map(String::as_str), Some(role));
    }
    let hidden = found.rows.len() - rows.len();
    page.push('\n');
    if hidden > 0 {
        let words = format!("{hidden} rows without an interval are in the other forms (-f json, csv, html)");
        page += &hanging("and   ", &words, style.width);
    }
    page += &hanging("so    ", &format!("{}; {}", found.summary(), method(found)), style.width);
    page.replace(number::GAP, " ")
}

/// How the verdicts were made, in a line.
pub(super) fn method(found: &Comparison) -> String {
    let traced = found.rows.iter().any(|row| row.quantity == Quantity::Quantile);
    let compared = if traced {
        "quantiles, by stretches of neighbouring intervals"
    } else {
        "variants by their ratio to the baseline, baselines by their time"
    };
    let scatter: String = found.scatter.iter().map(|scatter| format!("; {}", scattered(scatter))).collect();
    format!(
        "{compared}{scatter}; smallest change of interest {} %, false discoveries held at {} % over all judged rows",
        (found.threshold * 1000.0).round() / 10.0,
        super::FALSE_DISCOVERY_RATE * 100.0
    )
}

fn scattered(Scatter { quantity, rows, factor }: &Scatter) -> String {
    let name = quantity.name();
    match factor {
        Some(1.0) => format!("{rows} {name} scatter no more than their launches explain"),
        Some(factor) => format!(
            "{rows} {name} scatter {factor:.1} times as far as their launches explain, and their intervals are as much wider"
        ),
        None => format!("{rows} {name} are too few to tell how much changes between any two runs"),
    }
}

/// For a mail or a forge.
#[must_use]
pub fn markdown(found: &Comparison) -> String {
    let mut page = format!(
        "Base: {} ({}), new: {} ({}).\n",
        markdown::word(&found.base.file),
        markdown::word(&found.base.started),
        markdown::word(&found.new.file),
        markdown::word(&found.new.started)
    );
    for why in &found.not_comparable {
        let _ = writeln!(page, "\n**Not comparable**: {}", markdown::word(why));
    }
    for difference in &found.differences {
        let _ = writeln!(page, "\nDiffers: {}", markdown::word(difference));
    }
    let rows: Vec<&Row> = found.rows.iter().filter(|row| shown(row)).collect();
    for rows in rows.chunk_by(|one, other| one.experiment == other.experiment) {
        let _ = writeln!(page, "\n## {}\n", markdown::word(&rows[0].experiment));
        let mut lines = vec![HEADS.map(str::to_owned).to_vec()];
        lines.extend(rows.iter().map(|row| cells(row).map(|cell| markdown::word(&cell)).to_vec()));
        page += &markdown::table(&lines);
    }
    let _ = writeln!(page, "\n**{}**; {}.", found.summary(), method(found));
    page.replace(number::GAP, " ")
}

/// For a spreadsheet: every row.
#[must_use]
pub fn csv(found: &Comparison) -> String {
    let heads = [
        "experiment",
        "case",
        "name",
        "quantity",
        "against",
        "unit",
        "base",
        "new",
        "ratio",
        "ratio_lo",
        "ratio_hi",
        "q",
        "verdict",
        "why",
    ];
    let mut page = line(heads.map(str::to_owned));
    for row in &found.rows {
        let value = |value: Option<f64>| known("", value).1;
        page += &line([
            csv::word(&row.experiment),
            csv::word(&row.case),
            csv::word(&row.name),
            row.quantity.name().to_owned(),
            row.against.as_deref().map_or_else(String::new, csv::word),
            csv::word(&row.unit),
            value(row.base),
            value(row.new),
            value(row.ratio.map(|ratio| ratio.value)),
            value(row.ratio.map(|ratio| ratio.ci95[0])),
            value(row.ratio.map(|ratio| ratio.ci95[1])),
            value(row.q),
            row.verdict.name().to_owned(),
            csv::word(&row.why),
        ]);
    }
    page
}
