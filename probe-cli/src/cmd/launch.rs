//! `probe-cli launch`, hidden: one launch of an experiment, ordered on standard input by the run that started it.

use std::io::{self, Write};

use clap::Args;

use super::lab;
use crate::error::Result;

/// One launch, for `run` alone
#[derive(Args, Debug)]
#[command(hide = true)]
pub(super) struct Launch {}

impl Launch {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<()> {
        lab::serve(&mut io::stdin().lock(), out)
    }
}
