//! The copies whole: every size at every pair of alignments, and the fence watched a hundred times longer.

use std::process::Command;

use crate::cargo::cargo;

/// The tests of copy-engine without their everyday limits.
pub(super) fn command() -> Command {
    let mut command = cargo(["test", "--release", "--package=copy-engine", "--all-features"]);
    command.env("COPY_ENGINE_FULL", "1");
    command
}
