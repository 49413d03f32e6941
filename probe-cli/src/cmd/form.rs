//! The forms of a report.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::{
    error::{Error, Result},
    report::{
        csv, html, json, markdown,
        model::Report,
        text::{self, Style},
    },
};

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum Form {
    /// For a terminal
    #[default]
    Text,
    /// Everything, for programs
    Json,
    /// A line a row, for spreadsheets
    Csv,
    /// Tables for a mail or a forge
    Md,
    /// One page with charts, for a browser
    Html,
}

impl Form {
    /// Whether a second document behind the first would spoil both.
    pub(super) fn stands_alone(self) -> bool {
        !matches!(self, Self::Text | Self::Md)
    }

    /// `report` in this form; text also says in which `files` it is.
    pub(super) fn write(self, report: &Report, files: &[PathBuf], style: Style) -> Result<Vec<u8>> {
        let mut page = Vec::new();
        match self {
            Self::Text => text::write(report, files, style, &mut page).map_err(Error::Stdout)?,
            Self::Json => json::write(report, &mut page)?,
            Self::Csv => page.extend(csv::page(report).bytes()),
            Self::Md => page.extend(markdown::page(report).bytes()),
            Self::Html => page.extend(html::page(report).bytes()),
        }
        Ok(page)
    }
}
