//! `probe-cli heatmap`: sizes against latencies.

use std::io::Write;

use clap::Args;

use super::Words;
use super::tracing::{self, Arguments, Kind};
use crate::error::Result;

/// Size x latency, for targets that are given a size
///
/// Sizes are told apart by powers of two, and drawn against how long the calls took.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli heatmap syscall:pwrite64 -- ./program
  probe-cli heatmap copy -d 10
  probe-cli heatmap syscall:read -p 1234 -d 5 -f csv")]
pub(super) struct Heatmap {
    #[command(flatten)]
    arguments: Arguments,
}

impl Heatmap {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        tracing::run(&self.arguments, Kind::Heatmap, 0, words, out)
    }
}
