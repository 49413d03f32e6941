//! The hidden subcommands of the tracer: processes that this program starts of itself, for what it must not do itself.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::error::{Error, Result};
use crate::trace::{command, inspect};

/// Hold a program before its beginning, for `trace` alone
#[derive(Args, Debug)]
#[command(hide = true)]
pub(super) struct Hold {
    parent: u32,
    program: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Hold {
    pub(super) fn run(self) -> Result<()> {
        let source = command::become_program(self.parent, &self.program, &self.arguments);
        Err(Error::Command { program: self.program.to_string_lossy().into_owned(), source })
    }
}

/// Read a program file without privileges, for `trace` alone
#[derive(Args, Debug)]
#[command(hide = true)]
pub(super) struct Inspect {
    query: String,
}

impl Inspect {
    pub(super) fn run(self, out: &mut dyn Write) -> Result<()> {
        inspect::serve(&self.query, out).map_err(Error::Stdout)
    }
}
