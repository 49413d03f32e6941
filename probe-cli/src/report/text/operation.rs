//! Times of single operations: a row a case and variant.

use super::{
    number,
    paint::Style,
    table::{Column, Table},
    words::safe,
};
use crate::report::model::ExperimentReport;

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    if report.operations.is_empty() {
        return String::new();
    }
    let mut table = Table::new([[Column::Left(2); 2].as_slice(), &[Column::Right(2); 6]].concat());
    let heads = ["one by one", "", "timed", "p50", "p99", "p99.9", "max", "woken/million"];
    table.row(heads.map(str::to_owned));
    let mut last_case = None;
    for row in &report.operations {
        let case = if last_case.replace(&row.case) == Some(&row.case) { "" } else { &row.case };
        let times = [row.p50_ns, row.p99_ns, row.p99_9_ns, row.max_ns].map(number::whole_ns);
        let [p50, p99, p99_9, max] = times;
        let woken = number::count(row.wakeups_per_million.round() as u64);
        table.row([safe(case), safe(&row.variant), number::count(row.n), p50, p99, p99_9, max, woken]);
    }
    table.write(style.width)
}
