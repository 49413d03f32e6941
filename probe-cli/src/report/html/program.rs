//! What programs of others printed.

use maud::{Markup, html};

use crate::report::{
    model::ExperimentReport,
    text::{program::printed, safe},
};

pub(super) fn write(report: &ExperimentReport) -> Markup {
    html! {
        @if !report.programs.is_empty() { h3 { "The mail's own program beside it" } }
        @for row in &report.programs {
            p { code { (safe(&row.command)) } }
            p { (printed(row)) "." }
            p.aside { (safe(&row.what)) "." }
        }
    }
}
