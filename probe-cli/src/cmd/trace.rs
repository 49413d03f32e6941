//! `probe-cli trace`: latency distributions of live functions.

use std::io::Write;

use clap::Args;

use super::Words;
use super::tracing::{self, Arguments, Kind};
use crate::error::Result;

/// Latency distributions of live kernel functions, system calls, user functions and probe sites
///
/// Each target is attached by the best mechanism that this machine takes, and the row says which and why. Nothing
/// leaves the kernel for a call: durations are counted there, in buckets of 12.5 %. Every row carries what the
/// instrument added and what was lost.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli trace syscall:getrandom -- ./program      every call of a program and its children
  probe-cli trace random -d 10                        the questions of a family, for ten seconds
  probe-cli trace vfs_read -p 1234 -i 1 -T            one function of one process, every second
  probe-cli trace 'syscall:p*64' --by size,comm       by size class and thread name
  probe-cli trace /usr/bin/program:module::function -d 5
  probe-cli trace usdt:/usr/bin/program:provider:query__start -d 5
  probe-cli trace syscall:write --if 'size>4k' -f json -d 1 | jq '.targets[].p99_ns'")]
pub(super) struct Trace {
    #[command(flatten)]
    arguments: Arguments,
}

impl Trace {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        tracing::run(&self.arguments, Kind::Trace, 0, words, out)
    }
}
