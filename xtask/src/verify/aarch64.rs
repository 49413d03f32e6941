//! copy-engine for another architecture, which the portable door has to serve: checked, not run.

use anyhow::{Context as _, Result};

use crate::{
    cargo::cargo,
    core_source::{self, CoreSource},
    process,
};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// What has to be there first, if it is not.
pub(super) fn missing() -> Option<&'static str> {
    let there = core_source::present().is_ok_and(|found| found.is_some());
    (!there).then_some("there is no source of core; `cargo xtask setup` brings it")
}

/// Checks with all features, and as `no_std`: with the same source as the eBPF object, since no toolchain has to carry
/// the target's libraries.
pub(super) fn run() -> Result<()> {
    let core = core_source::present()?.context("there is no source of core")?;
    for features in ["--all-features", "--no-default-features"] {
        let mut command = cargo(["check", "--package=copy-engine", "--lib", "-Zbuild-std=std", features]);
        command.args(["--target", TARGET]).env("RUSTC_BOOTSTRAP", "1");
        if let CoreSource::Unpacked(library) = &core {
            command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
        }
        process::run(&mut super::in_a_folder_of_its_own(command, "aarch64"))?;
    }
    Ok(())
}
