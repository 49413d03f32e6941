//! Peers of the benches that this system does not have: from its own mirror, unpacked beside, never installed.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::{
    apt::{self, Archive, Suite},
    cargo::root,
};

/// What the bench reads: folders divided by colons, the loader's first.
pub(crate) const NEWEST_C_LIBRARY: &str = "BENCH_NEWEST_C_LIBRARY";
/// The library with its loader, and what Rust programs need beside it.
const PACKAGES: [&str; 2] = ["libc6", "libgcc-s1"];

/// Fetches the newest C library of Debian, and says where it lies.
pub(crate) fn newest_c_library() -> Result<String> {
    let folder = root().join("target/peers");
    let archive = Archive::open(&folder.join("apt"), &[Suite::Main("sid")])?;
    archive.update()?;
    let folders: Result<Vec<String>> =
        PACKAGES.iter().map(|package| fetch(&archive, package, &folder)).collect();
    Ok(folders?.join(":"))
}

/// Downloads and unpacks a package, unless its newest version lies there already.
fn fetch(archive: &Archive, package: &str, folder: &Path) -> Result<String> {
    let versions = archive.versions(package)?;
    let version = versions.first().with_context(|| format!("the archive has no package {package}"))?;
    let place = folder.join(format!("{package}_{}", version.replace([':', '/'], "-")));
    if !place.is_dir() {
        eprintln!("bench  fetching {package} {version}");
        apt::unpack(&archive.download(package)?, &place)?;
    }
    Ok(place.join("usr/lib/x86_64-linux-gnu").display().to_string())
}
