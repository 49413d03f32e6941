//! `probe-cli completions`: what a shell needs to complete this command line.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use crate::error::{Error, Result};

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli completions bash > ~/.local/share/bash-completion/completions/probe-cli
  probe-cli completions fish | source")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<()> {
        // The generator panics on a closed pipe; a buffer does not close.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "probe-cli", &mut script);
        out.write_all(&script).map_err(Error::Stdout)
    }
}
