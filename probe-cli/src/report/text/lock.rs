//! Lock waits and holds: a row a case and variant.

use super::{
    number,
    paint::Style,
    table::{Column, Table},
    words::safe,
};
use crate::report::model::{ExperimentReport, Quantiles};

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    if report.locks.is_empty() {
        return String::new();
    }
    let quantiles = [Column::Right(2); 3];
    let names = [Column::Left(2), Column::Left(2), Column::Right(2), Column::Right(2)];
    let mut table = Table::new([names.as_slice(), &quantiles, &quantiles].concat());
    let heads = ["lock", "", "tasks", "taken", "wait p50", "p99", "max", "hold p50", "p99", "max"];
    table.row(heads.map(str::to_owned));
    let mut last_case = None;
    for row in &report.locks {
        let case = if last_case.replace(&row.case) == Some(&row.case) { "" } else { &row.case };
        let names = [safe(case), safe(&row.variant), row.threads.to_string(), number::count(row.n)];
        let times = |q: &Quantiles| [q.p50_ns, q.p99_ns, q.max_ns].map(number::whole_ns);
        table.row([names.as_slice(), &times(&row.wait), &times(&row.hold)].concat());
    }
    table.write(style.width)
}
