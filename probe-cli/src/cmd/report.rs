//! `probe-cli report`: saved reports, printed again.

use std::{io::Write, path::PathBuf};

use clap::Args;

use super::{Words, form::Form, output::Output};
use crate::{
    error::{Error, Result},
    report::read,
};

/// Print saved reports again, in any form
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli report report.json
  probe-cli report report.json -f json | jq .host
  probe-cli report report.json -f html -o report.html
  probe-cli report report.json -f md          tables for a mail
  probe-cli report monday.json tuesday.json")]
pub(super) struct Report {
    /// Reports that `run --json` has written
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
        let reports = self.files.iter().map(|path| read::report(path)).collect::<Result<Vec<_>>>()?;
        let mut page = Vec::new();
        for (index, (path, report)) in self.files.iter().zip(&reports).enumerate() {
            if index > 0 {
                page.extend(b"\n");
            }
            page.extend(form.write(report, std::slice::from_ref(path), self.output.style(words))?);
        }
        self.output.deliver(&page, out)
    }
}
