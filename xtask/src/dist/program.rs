//! The program: stripped, with the object inside, and without a word of the machine that built it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{emptied, tells_no_place};
use crate::{
    cargo::{self, cargo, executables, find, root},
    places, process,
};

/// The profile in the workspace's manifest.
const PROFILE: &str = "dist";

/// Builds it around an object.
pub(super) fn build(object: &Path) -> Result<PathBuf> {
    let mut command = cargo(["build", "--locked", "--package=probe-cli", "--profile", PROFILE]);
    flagged(&mut command, root())?;
    command.env("PROBE_EBPF_OBJECT", object);
    let built = executables(&mut command)?;
    let program = find(&built, "bin", "probe-cli")?.to_owned();
    tells_no_place(&program)?;
    Ok(program)
}

/// Installs it by cargo from sources beside which no object lies; says where the program is.
pub(super) fn install(sources: &Path) -> Result<PathBuf> {
    let into = places::dist().join("elsewhere/installed");
    emptied(&into)?;
    let mut command = cargo(["install", "--locked", "--quiet", "--path=probe-cli", "--profile", PROFILE]);
    flagged(&mut command, sources)?;
    process::run(command.current_dir(sources).arg("--root").arg(&into).env_remove("PROBE_EBPF_OBJECT"))
        .context("the tool could not be installed from its sources alone")?;
    Ok(into.join("bin/probe-cli"))
}

/// A folder of its own, which both share: the flags would rebuild everything else.
fn flagged(command: &mut Command, sources: &Path) -> Result<()> {
    let mut paths = cargo::machine_paths()?;
    paths.push((sources.to_owned(), "/src"));
    command
        .env("CARGO_TARGET_DIR", places::dist().join("build"))
        .env("CARGO_ENCODED_RUSTFLAGS", cargo::remap(&paths).join("\u{1f}"));
    Ok(())
}
