//! Instructions a call takes, counted by valgrind: the same number on every run, whatever else the machine does.
//!
//! Counted is the example `counts` of entropy-core. Without arguments it lists its variants, one a line; given a
//! variant and a number it makes that many calls on a fixed input. The difference between many calls and one is
//! free of start-up. What copy-engine's page routine saves follows, by an example of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use super::page_door;
use crate::{
    cargo::{cargo, executables, find, root, targets},
    process::{self, on_path},
};

const EXAMPLE: &str = "counts";
const CALLS: u64 = 100;

/// What has to be there first, if it is not.
pub(super) fn missing() -> Option<&'static str> {
    if !on_path("valgrind") {
        return Some("there is no valgrind here; Debian's package is valgrind");
    }
    let exists =
        targets("entropy-core").is_ok_and(|all| all.iter().any(|t| t.kind == "example" && t.name == EXAMPLE));
    (!exists).then_some("entropy-core has no example named counts to count")
}

/// Counts every variant twice, prints the rows, and fails if a count does not repeat.
pub(super) fn run() -> Result<()> {
    let built =
        executables(&mut cargo(["build", "--release", "--package=entropy-core", "--example", EXAMPLE]))?;
    let example = find(&built, "example", EXAMPLE)?;
    let names = process::output(&mut Command::new(example))?;
    println!("{:<48} {:>12}", "variant", "instructions");
    let mut differing = Vec::new();
    for name in names.lines().filter(|name| !name.trim().is_empty()) {
        let (first, second) = (a_call(example, name)?, a_call(example, name)?);
        println!("{name:<48} {first:>12.2}");
        if first != second {
            differing.push(format!("{name} ({first} and {second})"));
        }
    }
    ensure!(differing.is_empty(), "these counts do not repeat: {}", differing.join(", "));
    page_door::run()
}

/// Instructions of one call.
fn a_call(example: &Path, name: &str) -> Result<f64> {
    let count = |calls: u64| whole(example, &[], &[name, &calls.to_string()]);
    let (one, many) = (count(1)?, count(1 + CALLS)?);
    let more = many.checked_sub(one).context("more calls took fewer instructions")?;
    Ok(more as f64 / CALLS as f64)
}

/// Instructions of a whole run with these arguments, or of what `options` of callgrind leave of it.
pub(super) fn whole(example: &Path, options: &[&str], arguments: &[&str]) -> Result<u64> {
    let folder: PathBuf = root().join("target/verify");
    fs::create_dir_all(&folder)?;
    let profile = folder.join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .args(options)
        .arg(example)
        .args(arguments)
        .stdout(Stdio::null());
    process::run(&mut valgrind)?;
    let text = fs::read_to_string(&profile)?;
    total(&text).with_context(|| format!("{} has no total", profile.display()))
}

fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile_is_read() {
        assert_eq!(total("version: 1\nevents: Ir\nfn=(1) main\n12 5\ntotals: 1476999\n"), Some(1_476_999));
        assert_eq!(total("events: Ir\n"), None);
    }
}
