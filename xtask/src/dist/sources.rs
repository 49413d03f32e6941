//! The sources once more, in another folder, and the object built from both.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use super::emptied;
use crate::{build_ebpf, cargo::root, core_source::CoreSource, places, process};

/// A copy of what git would take, without an object.
pub(super) fn elsewhere() -> Result<PathBuf> {
    let copy = places::dist().join("elsewhere/sources");
    emptied(&copy)?;
    let listed = process::output(Command::new("git").current_dir(root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for file in listed.split('\0').filter(|file| !file.is_empty()) {
        let (from, to) = (root().join(file), copy.join(file));
        // Listed, though not there any more: deleted and not yet committed.
        if !from.is_file() {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::copy(&from, &to).with_context(|| format!("could not copy {}", from.display()))?;
    }
    Ok(copy)
}

/// Builds the object here and there; where it lies, if it is the same.
pub(super) fn same_object(core: &CoreSource, elsewhere: &Path) -> Result<PathBuf> {
    build_ebpf::build(core)?;
    let here = build_ebpf::compile(core, root(), &places::ebpf().join("build"))?;
    let folder = places::dist().join("elsewhere/ebpf");
    emptied(&folder)?;
    let there = build_ebpf::compile(&beside(core, elsewhere)?, elsewhere, &folder)?;
    let (hash_here, hash_there) = (hash(&here)?, hash(&there)?);
    ensure!(
        hash_here == hash_there,
        "the object depends on where it is built: {hash_here} {}, {hash_there} {}",
        here.display(),
        there.display()
    );
    println!("object   {hash_here}, built twice, in two folders");
    Ok(here)
}

/// The core library where it lies to the copy as it does to the sources: cargo compiles what lies below a workspace
/// from the workspace's folder, and all else from its own, and the compiler writes down from where.
fn beside(core: &CoreSource, elsewhere: &Path) -> Result<CoreSource> {
    let CoreSource::Unpacked(library) = core else { return Ok(core.clone()) };
    let Ok(below) = library.strip_prefix(root()) else { return Ok(core.clone()) };
    let copy = elsewhere.join(below);
    fs::create_dir_all(copy.parent().context("the library lies in a folder")?)?;
    process::run_quietly(Command::new("cp").arg("--archive").arg(library).arg(&copy))?;
    Ok(CoreSource::Unpacked(copy))
}

/// SHA-256, as `sha256sum` prints it.
pub(super) fn hash(file: &Path) -> Result<String> {
    let said = process::output(Command::new("sha256sum").arg(file))?;
    said.split_whitespace().next().map(str::to_owned).context("sha256sum printed nothing")
}
