//! `cargo xtask run`: everything built, and the lab run, in one command.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result};
use clap::Args;
use nix::unistd::geteuid;

use crate::{
    build_ebpf,
    cargo::{cargo, executables, find, root},
    process,
};

/// Build everything in release and run the lab
///
/// Sets up the eBPF toolchain where it can be had, and goes on without where not. The live parts run where this
/// kernel and user allow it; as an ordinary user the one line to run as root for the rest is printed.
/// Ends with the exit code of probe-cli.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask run --quick                    every experiment, a minute in all\n  \
    cargo xtask run pool-mix --out target/lab  one experiment, its report elsewhere\n  \
    cargo xtask run -- --seed 7 --no-live      the rest goes to `probe-cli run`")]
pub(crate) struct Run {
    /// Fewer launches and blocks: a look, not a verdict
    #[arg(long)]
    quick: bool,
    /// Folder for the report [default: target/run]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which experiments; all of them if none is named
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// Handed to `probe-cli run` as they are
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

impl Run {
    pub(crate) fn quick_into(folder: &Path) -> Self {
        Self { quick: true, out: Some(folder.to_owned()), experiments: Vec::new(), args: Vec::new() }
    }

    pub(crate) fn run(self) -> Result<ExitCode> {
        let folder = self.folder()?;
        build_ebpf::build_or_say_why_not();
        let program = build()?;
        let report = folder.join("report.json");
        let arguments = self.arguments(&report);
        let status = process::status(Command::new(&program).args(&arguments))?;

        if !geteuid().is_root() {
            let mut as_root = Command::new("sudo");
            as_root.arg(&program).args(&arguments);
            println!("for what needs root  {}", process::render(&as_root));
        }
        Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
    }

    /// The folder for the report, there and writable: better known before the build than after the run.
    fn folder(&self) -> Result<PathBuf> {
        let folder = match &self.out {
            Some(folder) => std::path::absolute(folder)?,
            None => root().join("target/run"),
        };
        let trial = folder.join(".writable");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&trial, ""))
            .and_then(|()| fs::remove_file(&trial))
            .with_context(|| {
                format!(
                    "the report cannot be written to {}; choose another folder with --out",
                    folder.display()
                )
            })?;
        Ok(folder)
    }

    fn arguments(&self, report: &Path) -> Vec<OsString> {
        let page = report.with_extension("html");
        let mut arguments: Vec<OsString> =
            vec!["run".into(), "--json".into(), report.into(), "--html".into(), page.into()];
        if self.quick {
            arguments.push("--quick".into());
        }
        arguments.extend(self.experiments.iter().map(OsString::from));
        arguments.extend(self.args.iter().cloned());
        arguments
    }
}

/// The tool, in release.
pub(crate) fn build() -> Result<PathBuf> {
    let built = executables(&mut cargo(["build", "--release", "--package=probe-cli"]))?;
    find(&built, "bin", "probe-cli").map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_named_reaches_the_tool() {
        let run = Run {
            quick: true,
            out: None,
            experiments: vec!["pool-mix".to_owned()],
            args: vec!["--seed".into(), "7".into()],
        };
        let expected = [
            "run",
            "--json",
            "/d/report.json",
            "--html",
            "/d/report.html",
            "--quick",
            "pool-mix",
            "--seed",
            "7",
        ];
        assert_eq!(run.arguments(Path::new("/d/report.json")), expected);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_clear_error() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Run::quick_into(&file.join("below")).folder().unwrap_err();
        assert!(error.to_string().contains("--out"), "{error}");

        let folder = scratch.path().join("a/b");
        assert_eq!(Run::quick_into(&folder).folder().unwrap(), folder);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}
