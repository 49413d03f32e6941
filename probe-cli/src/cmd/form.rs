//! The forms of a report.

use std::path::PathBuf;

use clap::ValueEnum;

use super::output::document;
use crate::{
    error::{Error, Result},
    report::{
        csv, html, json, markdown,
        model::Report,
        text::{self, Style},
    },
    trace::{
        self,
        document::Session,
        table,
        text::{Look, Unit},
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

    /// The same for a traced session, its intervals before the whole.
    pub(super) fn write_session(self, session: &Session, style: Style) -> Result<Vec<u8>> {
        let look = Look { style, unit: Unit::Auto, timestamps: false, shape: true };
        let page = match self {
            Self::Text => {
                let mut page: String = session
                    .intervals
                    .iter()
                    .map(|interval| trace::text::interval(interval, look) + "\n")
                    .collect();
                page += &trace::text::session(session, look);
                page
            }
            Self::Json => return document(session),
            Self::Csv => {
                let mut page = table::csv_head();
                for interval in &session.intervals {
                    page += &table::csv(&interval.targets, interval.from_ns, interval.to_ns);
                }
                page += &table::csv(&session.targets, 0, session.clock.duration_ns);
                page
            }
            Self::Md => {
                let intervals: String = session
                    .intervals
                    .iter()
                    .map(|interval| table::markdown_interval(interval) + "\n")
                    .collect();
                intervals + &table::markdown(session)
            }
            Self::Html => {
                let why = "a session has no page; -f text, json, csv or md shows it, and `compare -f html` shows two";
                return Err(Error::Usage(why.to_owned()));
            }
        };
        Ok(page.into_bytes())
    }
}
