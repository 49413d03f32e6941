//! `probe-cli slow`: single calls that took long.

use std::io::Write;
use std::time::Duration;

use clap::Args;

use super::Words;
use super::tracing::{self, Arguments, Kind};
use crate::error::Result;

/// Single slow calls: when, who, how large, where from
///
/// Only calls that take longer than --over leave the kernel as events, each with the stack it ended on; all others are
/// counted as by `trace`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli slow syscall:read --over 10ms -d 60
  probe-cli slow vfs_write --over 100us -p 1234
  probe-cli slow syscall:pwrite64 --over 50us --by size -f ndjson -- ./program")]
pub(super) struct Slow {
    /// From how long on a call is slow: 10us, 1ms; a bare number is seconds
    #[arg(long, value_name = "TIME", value_parser = tracing::duration)]
    over: Duration,
    #[command(flatten)]
    arguments: Arguments,
}

impl Slow {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        let slow_ns = u64::try_from(self.over.as_nanos()).unwrap_or(u64::MAX);
        tracing::run(&self.arguments, Kind::Slow, slow_ns, words, out)
    }
}
