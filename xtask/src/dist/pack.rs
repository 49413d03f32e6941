//! The tree as archives that come out the same whenever and by whomever they are packed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use super::{Release, control};
use crate::{places, process};

/// Packs `tree` as a tar archive in `out`: what lies below `usr`, below a folder named after the release.
///
/// `None` where there is no GNU tar.
pub(super) fn tar(tree: &Path, release: &Release, out: &Path) -> Result<Option<PathBuf>> {
    let name = format!("probe-cli-{}-x86_64-linux", release.version);
    let archive = out.join(format!("{name}.tar.gz"));
    let plain = archive.with_extension("");
    if !process::on_path("tar") {
        println!("tar      not made: there is no tar here");
        return Ok(None);
    }
    process::run(
        Command::new("tar")
            .args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .arg(format!("--mtime=@{}", release.epoch))
            .arg(format!("--transform=s,^usr,{name},"))
            .arg("--file")
            .arg(&plain)
            .arg("--directory")
            .arg(tree)
            .arg("usr"),
    )?;
    process::run(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(&plain))?;
    Ok(Some(archive))
}

/// Packs `tree` as a Debian package in `out`.
///
/// `None` where there is no dpkg-deb.
pub(super) fn deb(tree: &Path, release: &Release, out: &Path) -> Result<Option<PathBuf>> {
    if !process::on_path("dpkg-deb") {
        println!("deb      not made: there is no dpkg-deb here (Debian's package dpkg)");
        return Ok(None);
    }
    let package = out.join(format!("probe-cli_{}_amd64.deb", release.version));
    let staged = places::dist().join("package");
    super::emptied(&staged)?;
    process::run_quietly(Command::new("cp").arg("--archive").arg(tree.join("usr")).arg(&staged))?;

    let about = staged.join("DEBIAN");
    fs::create_dir(&about)?;
    let program = fs::read(tree.join("usr/bin/probe-cli"))?;
    fs::write(about.join("control"), control::control(release, &program, size(tree)?.div_ceil(1024)))?;
    fs::write(about.join("md5sums"), sums(&staged)?)?;

    process::run(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .arg(&staged)
            .arg(&package)
            .env("SOURCE_DATE_EPOCH", release.epoch.to_string()),
    )?;
    Ok(Some(package))
}

/// Every file below the folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

fn size(folder: &Path) -> Result<u64> {
    files(folder)?.iter().map(|file| Ok(fs::metadata(file)?.len())).sum()
}

/// What `dpkg --verify` compares with.
fn sums(staged: &Path) -> Result<String> {
    let files = files(&staged.join("usr"))?;
    let names: Option<Vec<&Path>> = files.iter().map(|file| file.strip_prefix(staged).ok()).collect();
    let names = names.context("files lie below their folder")?;
    process::output(Command::new("md5sum").current_dir(staged).args(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree as `stage` makes one, of a program that is none.
    fn tree(folder: &Path) -> PathBuf {
        let tree = folder.join("tree");
        fs::create_dir_all(tree.join("usr/bin")).unwrap();
        fs::create_dir_all(tree.join("usr/share/doc/probe-cli")).unwrap();
        fs::write(tree.join("usr/bin/probe-cli"), "GLIBC_2.34").unwrap();
        fs::write(tree.join("usr/share/doc/probe-cli/copyright"), "free").unwrap();
        tree
    }

    #[test]
    fn an_archive_tells_nothing_of_when_and_by_whom_it_was_packed() {
        let scratch = tempfile::tempdir().unwrap();
        let tree = tree(scratch.path());
        let release = Release { version: "0.0.1".to_owned(), epoch: 1_000_000_000 };
        let Some(archive) = tar(&tree, &release, scratch.path()).unwrap() else { return };
        let first = fs::read(&archive).unwrap();

        // Touched, and made in another order.
        let program = tree.join("usr/bin/probe-cli");
        fs::remove_file(&program).unwrap();
        fs::write(&program, "GLIBC_2.34").unwrap();
        assert_eq!(fs::read(tar(&tree, &release, scratch.path()).unwrap().unwrap()).unwrap(), first);

        let listed = process::output(Command::new("tar").arg("-tf").arg(&archive)).unwrap();
        assert!(listed.contains("probe-cli-0.0.1-x86_64-linux/bin/probe-cli\n"), "{listed}");
    }

    #[test]
    fn sums_are_of_files_as_they_will_lie() {
        let scratch = tempfile::tempdir().unwrap();
        let sums = sums(&tree(scratch.path())).unwrap();
        let paths: Vec<&str> = sums.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(paths, ["usr/bin/probe-cli", "usr/share/doc/probe-cli/copyright"]);
        assert_eq!(size(scratch.path()).unwrap(), 14);
    }
}
