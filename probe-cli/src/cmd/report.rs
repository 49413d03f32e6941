//! `probe-cli report`: saved reports and sessions, printed again.

use std::{io::Write, path::PathBuf};

use clap::Args;

use super::{Words, form::Form, output::Output};
use crate::{
    error::{Error, Result},
    report::read::{self, Saved},
};

/// Print saved reports and sessions again, in any form
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli report report.json
  probe-cli report report.json -f json | jq .host
  probe-cli report report.json -f html -o report.html
  probe-cli report report.json -f md          tables for a mail
  probe-cli report monday.json tuesday.json
  probe-cli report session.json -f csv       what `trace --save` has written")]
pub(super) struct Report {
    /// What `run --json` or `trace --save` has written
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    output: Output<Form>,
}

impl Report {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        let form = self.output.format;
        if let [_, second, ..] = &self.files[..]
            && form.stands_alone()
        {
            return Err(Error::OneDocument { second: second.clone() });
        }
        self.output.check()?;
        let saved = self.files.iter().map(|path| read::saved(path)).collect::<Result<Vec<_>>>()?;
        let mut page = Vec::new();
        for (index, (path, saved)) in self.files.iter().zip(&saved).enumerate() {
            if index > 0 {
                page.extend(b"\n");
            }
            let style = self.output.style(words);
            page.extend(match saved {
                Saved::Report(report) => form.write(report, std::slice::from_ref(path), style)?,
                Saved::Session(session) => form.write_session(session, style)?,
            });
        }
        self.output.deliver(&page, out)
    }
}
