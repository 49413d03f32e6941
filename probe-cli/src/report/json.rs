//! The report for programs: exactly one document.

use std::io;

use super::model::Report;
use crate::error::{Error, Result};

/// `report` as one indented document with a newline at its end.
///
/// # Errors
///
/// [`Error::NotANumber`] when a number that a reader relies on is not finite: JSON has none, and a null in its
/// place would not be a report.
pub fn to_string(report: &Report) -> Result<String> {
    let mut text = serde_json::to_string_pretty(report).map_err(Error::NotANumber)?;
    serde_json::from_str::<Report>(&text).map_err(Error::NotANumber)?;
    text.push('\n');
    Ok(text)
}

/// Writes [`to_string`].
///
/// # Errors
///
/// Those of [`to_string`], and [`Error::Stdout`].
pub fn write(report: &Report, out: &mut dyn io::Write) -> Result<()> {
    out.write_all(to_string(report)?.as_bytes()).map_err(Error::Stdout)
}
