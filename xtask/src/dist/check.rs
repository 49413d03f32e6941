//! The archives, used as those will who take them.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::{Release, emptied, pack, sources};
use crate::{places, process};

/// What the tool ends with where the environment lacks what was asked for.
const CANNOT: i32 = 3;

/// Packs once more and compares.
pub(super) fn same_bytes_again(archive: &Path, tree: &Path, release: &Release) -> Result<()> {
    let first = sources::hash(archive)?;
    let again = places::dist().join("again");
    emptied(&again)?;
    let packed = if archive.extension().is_some_and(|kind| kind == "deb") {
        pack::deb(tree, release, &again)?
    } else {
        pack::tar(tree, release, &again)?
    };
    let second = sources::hash(&packed.context("it could be packed before")?)?;
    ensure!(first == second, "{} is packed to {first} and to {second}", archive.display());
    println!("packed   {} twice: one hash", archive.display());
    Ok(())
}

/// Installs the package into an empty root, uses it, and takes it out again.
pub(super) fn installed(package: &Path) -> Result<()> {
    let root = places::dist().join("root");
    emptied(&root)?;
    fs::create_dir_all(root.join("var/lib/dpkg/info"))?;
    fs::create_dir_all(root.join("var/lib/dpkg/updates"))?;
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    let dpkg = || {
        let mut command = Command::new("dpkg");
        // The root is empty: neither the C library nor the programs that dpkg itself asks for are there.
        command.arg("--root").arg(&root).args(["--force-depends", "--force-bad-path", "--force-not-root"]);
        command.arg("--force-script-chrootless");
        command
    };
    process::run(dpkg().arg("--install").arg(package))?;
    let changed = process::output(dpkg().args(["--verify", "probe-cli"]))?;
    ensure!(changed.trim().is_empty(), "files differ from the package's sums: {changed}");
    used(&root)?;
    process::run(dpkg().args(["--purge", "probe-cli"]))?;
    ensure!(!root.join("usr/bin/probe-cli").exists(), "the package left its program behind");
    println!("package  installed into an empty root, used, taken out again");
    Ok(())
}

/// Uses what lies below the root as it is, where there is no package to install.
pub(super) fn unpacked(root: &Path) -> Result<()> {
    used(root)
}

fn used(root: &Path) -> Result<()> {
    let program = root.join("usr/bin/probe-cli");
    let version = process::output(Command::new(&program).arg("--version"))?;
    ensure!(version.trim() == concat!("probe-cli ", env!("CARGO_PKG_VERSION")), "it calls itself {version}");
    ensure!(has_object(&program)?, "the object is not inside the program");

    let pages = root.join("usr/share/man/man1");
    for word in subcommands(&program)? {
        let page = pages.join(format!("probe-cli-{word}.1.gz"));
        ensure!(page.is_file(), "there is no page of `{word}`: {}", page.display());
    }
    let main = pages.join("probe-cli.1.gz");
    if process::on_path("man") {
        let text = process::output(Command::new("man").args(["--local-file"]).arg(&main))?;
        ensure!(text.contains("probe-cli"), "the manual renders to nothing");
    }
    let completion = root.join("usr/share/bash-completion/completions/probe-cli");
    process::run(Command::new("bash").arg("-n").arg(completion))
}

/// The words that `--help` lists.
fn subcommands(program: &Path) -> Result<Vec<String>> {
    listed(&process::output(Command::new(program).arg("--help"))?)
}

fn listed(help: &str) -> Result<Vec<String>> {
    let listed = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let words = listed.context("--help lists no commands")?.lines().filter_map(|line| {
        let word = line.strip_prefix("  ")?.split_whitespace().next()?;
        (!line.starts_with("   ") && word != "help").then(|| word.to_owned())
    });
    Ok(words.collect())
}

/// Whether `doctor` finds an object in the program. It may lack the privilege to load it, but it is there.
fn has_object(program: &Path) -> Result<bool> {
    tells_of_an_object(&process::output(Command::new(program).args(["doctor", "--json"]))?)
}

fn tells_of_an_object(doctor: &str) -> Result<bool> {
    let report: Value = serde_json::from_str(doctor).context("doctor --json printed something else")?;
    Ok(!report.to_string().contains("has no eBPF object"))
}

/// The tool of a machine without the eBPF toolchain works, and says at run time what it lacks.
pub(super) fn without_object(program: &Path) -> Result<()> {
    process::run_quietly(Command::new(program).arg("list"))?;
    ensure!(!has_object(program)?, "it was installed without an object, and doctor does not say so");

    let trace = Command::new(program)
        .args(["trace", "syscall:getrandom", "--duration", "1"])
        .output()
        .with_context(|| format!("could not start {}", program.display()))?;
    let words = String::from_utf8_lossy(&trace.stderr).into_owned();
    if trace.status.code() != Some(CANNOT) || !words.contains("no eBPF object") {
        bail!("a trace without an object ended with {}: {words}", trace.status);
    }
    let line = words.lines().find(|line| line.contains("no eBPF object")).unwrap_or_default();
    println!("install  by cargo without the eBPF toolchain; a trace then says: {}", line.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_words_that_begin_an_indented_line() {
        let help = "About\n\nUsage: x\n\nCommands:\n  run     All of them,\n          in a row\n  ab      Two\n  help    Print\n\nOptions:\n  -q, --quiet";
        assert_eq!(listed(help).unwrap(), ["run", "ab"]);
        assert!(listed("Usage: x").is_err());
    }

    #[test]
    fn an_object_is_missing_only_if_doctor_says_so() {
        let without = r#"{"checks":[{"why":"this build has no eBPF object: it has not been built"}]}"#;
        assert!(!tells_of_an_object(without).unwrap());
        assert!(tells_of_an_object(r#"{"checks":[{"why":"EPERM"}]}"#).unwrap());
        assert!(tells_of_an_object("sorry").is_err());
    }
}
