//! What each factor does alone: a row a level, a column a case.

use super::{
    number,
    paint::Style,
    table::{Column, Table},
    words::{columns, safe},
};
use crate::report::model::{Effect, ExperimentReport};

const HEAD: &str = "one factor, all others averaged";
const INDENT: usize = 2;
const GAP: usize = 2;

/// A level and what it is compared with.
type Level<'a> = (&'a str, &'a str, &'a str);

fn level(effect: &Effect) -> Level<'_> {
    (&effect.factor, &effect.reference, &effect.level)
}

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    let (mut levels, mut cases) = (Vec::<Level<'_>>::new(), Vec::<&str>::new());
    for effect in &report.effects {
        if !levels.contains(&level(effect)) {
            levels.push(level(effect));
        }
        if !cases.contains(&effect.case.as_str()) {
            cases.push(&effect.case);
        }
    }
    let labels = labels(&levels);
    let name = labels.iter().map(|(label, _)| columns(label)).max().unwrap_or(0).max(HEAD.len());
    let cell = |(case, level): (&str, Level<'_>)| {
        let found = report.effects.iter().find(|effect| effect.case == case && self::level(effect) == level);
        found.map_or_else(|| number::NONE.to_owned(), |effect| number::bare_ratio(&effect.ratio))
    };
    let cells = levels.iter().flat_map(|&level| cases.iter().map(move |&case| (case, level))).map(cell);
    let heads = cases.iter().map(|case| safe(case));
    let column = cells.chain(heads).map(|text| columns(&text)).max().unwrap_or(0) + GAP;
    let fit = style.width.saturating_sub(INDENT + name) / column.max(1);
    let mut page = String::new();
    for cases in cases.chunks(fit.max(1)) {
        let mut table =
            Table::new([vec![Column::Left(INDENT)], vec![Column::Left(GAP); cases.len()]].concat());
        let heads = cases.iter().map(|case| safe(case));
        table.row([HEAD.to_owned()].into_iter().chain(heads).collect::<Vec<_>>());
        for (label, at) in &labels {
            let cells = cases.iter().map(|&case| at.map_or_else(String::new, |at| cell((case, levels[at]))));
            table.row([label.clone()].into_iter().chain(cells).collect::<Vec<_>>());
        }
        page += &table.write(style.width);
    }
    page
}

/// The first cells of the rows, and the level of each. A factor with several levels gets a row of its own, so that
/// what they are compared with is said once.
fn labels(levels: &[Level<'_>]) -> Vec<(String, Option<usize>)> {
    let mut labels = Vec::new();
    let mut at = 0;
    for group in levels.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (factor, reference) = (safe(group[0].0), safe(group[0].1));
        if let [(_, _, level)] = group {
            labels.push((format!("  {factor}: {} vs {reference}", safe(level)), Some(at)));
        } else {
            labels.push((format!("  {factor} vs {reference}:"), None));
            labels.extend(
                (at..).zip(group).map(|(at, (_, _, level))| (format!("    {}", safe(level)), Some(at))),
            );
        }
        at += group.len();
    }
    labels
}
