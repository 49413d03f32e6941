//! `probe-cli report`: saved reports, printed again.

use std::{fs, io::Write, path::PathBuf};

use clap::Args;

use super::{
    Words,
    output::{Format, Output},
};
use crate::{
    error::{Error, Result},
    report::{json, model, text},
};

/// Print saved reports again
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli report report.json
  probe-cli report report.json -f json | jq .host
  probe-cli report monday.json tuesday.json")]
pub(super) struct Report {
    /// Reports that `run --json` has written
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Report {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        if let (Format::Json, [_, second, ..]) = (self.output.format, &self.files[..]) {
            // Two documents on one stream are none.
            return Err(Error::OneDocument { second: second.clone() });
        }
        let reports = self.files.iter().map(read).collect::<Result<Vec<_>>>()?;
        let mut page = Vec::new();
        for (index, (path, report)) in self.files.iter().zip(&reports).enumerate() {
            match self.output.format {
                Format::Json => json::write(report, &mut page)?,
                Format::Text => {
                    if index > 0 {
                        page.extend(b"\n");
                    }
                    text::write(report, std::slice::from_ref(path), self.output.style(words), &mut page)
                        .map_err(Error::Stdout)?;
                }
            }
        }
        self.output.deliver(&page, out)
    }
}

fn read(path: &PathBuf) -> Result<model::Report> {
    let content = fs::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
    let report: model::Report = serde_json::from_slice(&content)
        .map_err(|source| Error::NotAReport { path: path.clone(), source: Some(source) })?;
    if report.schema != model::SCHEMA {
        return Err(Error::NotAReport { path: path.clone(), source: None });
    }
    Ok(report)
}
