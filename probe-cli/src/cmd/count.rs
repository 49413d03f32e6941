//! `probe-cli count`: how often targets are hit.

use std::io::Write;

use clap::Args;

use super::Words;
use super::tracing::{self, Arguments, Kind};
use crate::error::Result;

/// Calls per second only: the cheap look before a trace
///
/// Entries are counted, and nothing is timed: one program for each target, and no exits.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli count 'syscall:*read*' -d 2       which of them is called at all
  probe-cli count vfs_read -i 1               every second until Ctrl-C
  probe-cli count syscall:getrandom -- ./program")]
pub(super) struct Count {
    #[command(flatten)]
    arguments: Arguments,
}

impl Count {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        tracing::run(&self.arguments, Kind::Count, 0, words, out)
    }
}
