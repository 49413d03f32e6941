//! Running cargo, at the root of the workspace.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::process;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A `cargo` command at the root.
///
/// By name and not by `$CARGO`: the echoed line can be pasted, and rustup's choice is inherited all the same.
pub(crate) fn cargo<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(args);
    command
}

/// Folders of this machine that the compiler would write into what it makes, and what to write there instead.
pub(crate) fn machine_paths() -> Result<Vec<(PathBuf, &'static str)>> {
    let toolchain = process::output(Command::new("rustc").current_dir(root()).args(["--print", "sysroot"]))?;
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")))
        .context("neither CARGO_HOME nor a home folder is known")?;
    Ok(vec![(PathBuf::from(toolchain.trim()), "/rust"), (home, "/cargo")])
}

/// The compiler's flags for that.
pub(crate) fn remap(places: &[(PathBuf, &str)]) -> Vec<String> {
    places.iter().map(|(place, name)| format!("--remap-path-prefix={}={name}", place.display())).collect()
}

/// A program that cargo built.
#[derive(Debug)]
pub(crate) struct Executable {
    /// The target's name: `live`, `probe-cli`.
    pub(crate) name: String,
    /// `bin`, `test`, `example`, `bench`.
    pub(crate) kind: String,
    /// Where it lies.
    pub(crate) path: PathBuf,
}

/// Runs a cargo command that builds, and lists the programs it made, in whatever folder this user has them made.
pub(crate) fn executables(command: &mut Command) -> Result<Vec<Executable>> {
    command.arg("--message-format=json-render-diagnostics");
    let mut built = Vec::new();
    let status = process::lines(command, |line| built.extend(executable(line)))?;
    ensure!(status.success(), "the build failed; the compiler's words are above");
    Ok(built)
}

/// The program of that kind and name among those built.
pub(crate) fn find<'a>(built: &'a [Executable], kind: &str, name: &str) -> Result<&'a Path> {
    built
        .iter()
        .find(|program| program.kind == kind && program.name == name)
        .map(|program| program.path.as_path())
        .with_context(|| format!("cargo built no {kind} named {name}"))
}

fn executable(line: &str) -> Option<Executable> {
    let message: Value = serde_json::from_str(line).ok()?;
    Some(Executable {
        name: message["target"]["name"].as_str()?.to_owned(),
        kind: message["target"]["kind"][0].as_str()?.to_owned(),
        path: message["executable"].as_str()?.into(),
    })
}

/// A target as the manifests have it.
#[derive(Debug)]
pub(crate) struct Target {
    /// `test`, `bench`, `example`, `bin`.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// Whether a plain `cargo test` runs it.
    pub(crate) tested: bool,
}

/// The targets of a member of the workspace.
pub(crate) fn targets(package: &str) -> Result<Vec<Target>> {
    let text = process::output(&mut cargo(["metadata", "--no-deps", "--offline", "--format-version=1"]))?;
    let metadata: Value =
        serde_json::from_str(&text).context("cargo metadata printed something else than JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let targets = packages
        .iter()
        .find(|member| member["name"] == package)
        .and_then(|member| member["targets"].as_array())
        .with_context(|| format!("the workspace has no package {package}"))?;
    Ok(targets
        .iter()
        .filter_map(|target| {
            Some(Target {
                kind: target["kind"][0].as_str()?.to_owned(),
                name: target["name"].as_str()?.to_owned(),
                tested: target["test"].as_bool()?,
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_about_programs_name_one() {
        let line = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"live"},"executable":"/t/live-1"}"#;
        let program = executable(line).unwrap();
        assert_eq!((program.kind.as_str(), program.name.as_str()), ("test", "live"));
        assert_eq!(program.path, Path::new("/t/live-1"));

        let library =
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"x"},"executable":null}"#;
        assert!(executable(library).is_none());
        assert!(executable("test a ... ok").is_none());
    }
}
