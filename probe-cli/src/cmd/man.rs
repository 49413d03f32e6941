//! `probe-cli man`: the manual, one page a subcommand.

use std::path::PathBuf;

use clap::Args;

use super::Words;
use crate::{error::Result, report::file};

/// Write man pages into a folder
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli man ~/.local/share/man/man1
  probe-cli man . && man ./probe-cli-run.1")]
pub(super) struct Man {
    /// The folder, which must exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(super) fn run(self, words: Words) -> Result<()> {
        let mut command = super::command().disable_help_subcommand(true);
        command.build();
        self.page(words, &command)?;
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            self.page(words, subcommand)?;
        }
        Ok(())
    }

    fn page(&self, words: Words, command: &clap::Command) -> Result<()> {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let path = self.folder.join(format!("{name}.1"));
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone())
            .title(name)
            .render(&mut page)
            .map_err(|source| crate::error::Error::Write { path: path.clone(), source })?;
        file::write(&path, &page)?;
        words.detail(&format!("{}", path.display()));
        Ok(())
    }
}
