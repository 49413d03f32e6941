//! The command line: one file a subcommand.
//!
//! A subcommand is its arguments and a `run`. Data goes to the standard output it is given, words to standard
//! error; exit codes are those of [`Error::exit_code`].

mod ab;
mod calibrate;
mod call;
mod compare;
mod completions;
mod count;
mod doctor;
mod form;
mod heatmap;
mod hidden;
mod interrupt;
mod kernel;
mod lab;
mod launch;
mod list;
mod man;
mod output;
mod progress;
mod report;
mod run;
mod select;
mod slow;
mod trace;
mod tracing;
mod welcome;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::error::{Error, Result};

/// Measures what mails to the kernel list claim: every variant on this CPU, beside the live kernel.
#[derive(Debug, Parser)]
#[command(name = "probe-cli", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    words: Words,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  probe-cli run pool-mix --quick         one experiment in under a minute
  probe-cli run --json report.json       all of them, kept as a file
  probe-cli doctor                       what works here, and what to do about the rest
  probe-cli trace syscall:getrandom -d 5 latencies of a system call, as the kernel counts them
  probe-cli call bpf_get_prandom_u32     the kernel's own generator, timed

Exit codes: 0 done, 1 failed, 2 usage, 3 this environment cannot, 4 no such target, 5 too much lost or too hot,
10 compare or ab found a regression, 130 second Ctrl-C.";

/// What is said beside the data, and how.
#[derive(Args, Clone, Copy, Debug)]
struct Words {
    /// Say nothing on standard error but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more on standard error; twice for most
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Colours: when it is a terminal and NO_COLOR is not set, always, or never
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    color: Colour,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Doctor(doctor::Doctor),
    List(list::List),
    Trace(Box<trace::Trace>),
    Count(Box<count::Count>),
    Slow(Box<slow::Slow>),
    Heatmap(Box<heatmap::Heatmap>),
    Call(call::Call),
    Ab(Box<ab::AbCommand>),
    Compare(compare::Compare),
    Calibrate(calibrate::Calibrate),
    Report(report::Report),
    Completions(completions::Completions),
    Man(man::Man),
    Launch(launch::Launch),
    Hold(hidden::Hold),
    Inspect(hidden::Inspect),
}

impl Words {
    /// A remark on standard error; nobody may be listening.
    fn say(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// One that only the curious want.
    fn detail(self, text: &str) {
        if self.verbose > 0 {
            self.say(text);
        }
    }
}

impl Cli {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    ///
    /// The code to exit with, once help, version or a usage error has been printed.
    pub fn from_arguments() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|error| {
            // Whether anybody reads it changes nothing.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        })
    }

    /// Does what was asked, with its data going to `out`.
    ///
    /// # Errors
    ///
    /// What could not be done.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let words = self.words;
        match self.command {
            None => welcome::write(out),
            Some(Command::Run(command)) => command.run(words, out),
            Some(Command::Doctor(command)) => command.run(words, out),
            Some(Command::List(command)) => command.run(words, out),
            Some(Command::Trace(command)) => command.run(words, out),
            Some(Command::Count(command)) => command.run(words, out),
            Some(Command::Slow(command)) => command.run(words, out),
            Some(Command::Heatmap(command)) => command.run(words, out),
            Some(Command::Call(command)) => command.run(words, out),
            Some(Command::Ab(command)) => command.run(words, out),
            Some(Command::Compare(command)) => command.run(words, out),
            Some(Command::Calibrate(command)) => command.run(words, out),
            Some(Command::Report(command)) => command.run(words, out),
            Some(Command::Completions(command)) => command.run(out),
            Some(Command::Man(command)) => command.run(words),
            Some(Command::Launch(command)) => command.run(out),
            Some(Command::Hold(command)) => command.run(),
            Some(Command::Inspect(command)) => command.run(out),
        }?;
        out.flush().map_err(Error::Stdout)
    }
}

/// The whole command line, for completions and man pages.
fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound_and_every_help_has_examples() {
        let command = command();
        command.clone().debug_assert();
        for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let help = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("probe-cli"), "{} has no example", subcommand.get_name());
        }
    }
}
