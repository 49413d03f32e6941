//! The command-line tool: parse, run, say what went wrong, exit.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use probe_cli::{cmd::Cli, error};

fn main() -> ExitCode {
    let cli = match Cli::from_arguments() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    match cli.run(&mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            // With nobody listening there is still the exit code.
            let _ = writeln!(io::stderr(), "probe-cli: {}", error::chain(&error));
            error.exit_code()
        }
    }
}
