//! Where the data goes, and in which form.

use std::{
    env,
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Colour, Words};
use crate::{
    error::{Error, Result},
    report::{file, model::Tool, text::Style},
};

/// How wide text is where there is no terminal.
const WIDTH: usize = 100;

/// Narrower than this, tables help nobody.
const NARROWEST: usize = 60;

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
}

/// The two flags of every subcommand that gives data, in one of the forms `F`.
#[derive(Args, Debug)]
pub(super) struct Output<F = Format>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    /// Form of the data
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(super) format: F,
    /// Put the data into this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

impl<F: ValueEnum + Default + Send + Sync + 'static> Output<F> {
    /// How to write text for whoever gets it.
    pub(super) fn style(&self, words: Words) -> Style {
        let terminal = self.output.is_none() && io::stdout().is_terminal();
        let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width =
            terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
        Style {
            width: width.unwrap_or(WIDTH).max(NARROWEST),
            colour: match words.color {
                Colour::Auto => terminal && !refused,
                Colour::Always => true,
                Colour::Never => false,
            },
        }
    }

    /// Fails now if it would fail at the end.
    pub(super) fn check(&self) -> Result<()> {
        self.output.iter().try_for_each(|path| file::check(path))
    }

    /// Hands `data` over.
    pub(super) fn deliver(&self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        match &self.output {
            Some(path) => file::write(path, data),
            None => out.write_all(data).map_err(Error::Stdout),
        }
    }
}

/// One indented document.
pub(super) fn document(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(Error::NotANumber)?;
    text.push(b'\n');
    Ok(text)
}

/// This program.
pub(super) fn tool() -> Tool {
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("PROBE_COMMIT").map(str::to_owned),
        rustc: option_env!("PROBE_RUSTC").unwrap_or("unknown").to_owned(),
    }
}
