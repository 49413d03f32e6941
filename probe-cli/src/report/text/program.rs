//! What programs of others printed, in a line each.

use super::{number, paint::Style, words::hanging, words::safe};
use crate::report::model::{ExperimentReport, ProgramRow};

pub(super) fn write(report: &ExperimentReport, style: Style) -> String {
    let line = |row: &ProgramRow| {
        hanging(
            "  beside  ",
            &format!("{} · {} · {}", safe(&row.command), safe(&row.what), printed(row)),
            style.width,
        )
    };
    report.programs.iter().map(line).collect()
}

/// Its numbers, or why there are none.
pub(crate) fn printed(row: &ProgramRow) -> String {
    if let Some(reason) = &row.reason {
        return format!("nothing: {}", safe(reason));
    }
    let values = row
        .values
        .iter()
        .map(|value| format!("{}: {}", safe(&value.name), number::time(value.value, &safe(&value.unit))));
    values.collect::<Vec<_>>().join(", ")
}
