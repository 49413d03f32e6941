//! The machine code of the copies: streaming routines end in a fence, and none uses an instruction it may not have.

use std::process::Command;

use crate::{cargo::cargo, process::on_path};

/// What has to be there first, if it is not.
pub(super) fn missing() -> Option<&'static str> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("the machine code is looked at on x86-64 Linux only");
    }
    (!on_path("objdump")).then_some("there is no objdump here; Debian's package is binutils")
}

/// The test reads the program it is compiled into, so it is the optimised one that counts.
pub(super) fn command() -> Command {
    cargo(["test", "--release", "--package=copy-engine", "--all-features", "--test=asm"])
}
