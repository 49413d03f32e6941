//! Debian's kernel packages: the newest of a series, found at run time, unpacked under `target/vm`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    apt::{self, Archive, Suite},
    places,
};

/// 6.1 is kept in bookworm, 6.12 in trixie, and what is newer in its backports.
const SUITES: [Suite; 3] =
    [Suite::Main("trixie"), Suite::Main("trixie-backports"), Suite::Security("bookworm-security")];
/// The kernels for virtual machines: small, and with what a guest needs built in.
const PREFIX: &str = "linux-image-";
const SUFFIX: &str = "-cloud-amd64";

/// A kernel that can be booted.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// `6.12.117+deb13-cloud-amd64`
    pub(crate) release: String,
    /// The image.
    pub(crate) image: PathBuf,
}

/// The archive with the kernels, its lists up to date where there is a network.
pub(crate) fn archive() -> Result<Archive> {
    let archive = Archive::open(&places::vm().join("apt"), &SUITES)?;
    match archive.update() {
        Err(error) if archive.has_lists() => {
            eprintln!("vm     going on with the package lists of last time: {error:#}")
        }
        updated => updated?,
    }
    Ok(archive)
}

/// The newest kernel of a series (`6.12`, `7`), unpacked. What was unpacked before is kept while it is the newest,
/// or while nothing newer can be had.
pub(crate) fn obtain(archive: Result<&Archive, &anyhow::Error>, series: &str) -> Result<Kernel> {
    let folder = places::vm().join(series);
    let fetched = match archive {
        Ok(archive) => fetch(archive, series, &folder),
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    fetched.or_else(|error| match unpacked(&folder) {
        Some(kernel) => {
            eprintln!("vm     {series}: taking {} of last time: {error:#}", kernel.release);
            Ok(kernel)
        }
        None => Err(error.context(format!("no kernel {series} can be had"))),
    })
}

fn fetch(archive: &Archive, series: &str, folder: &Path) -> Result<Kernel> {
    let names = archive.names(PREFIX)?;
    let package = newest(&names, series)
        .with_context(|| format!("the archive has no package {PREFIX}{series}*{SUFFIX}"))?;
    if let Some(kernel) = unpacked(folder).filter(|kernel| package.ends_with(&kernel.release)) {
        return Ok(kernel);
    }
    eprintln!("vm     {series}: fetching {package}");
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut file = archive.download(package)?;
    // Since 7.0 the image itself is in a package of its own.
    let binary = package.replacen(PREFIX, "linux-binary-", 1);
    if archive.dependencies(package)?.contains(&binary) {
        fs::remove_file(&file)?;
        file = archive.download(&binary)?;
    }
    apt::unpack(&file, &folder.join("root"))?;
    fs::remove_file(&file)?;
    unpacked(folder).with_context(|| format!("{} holds no kernel image", file.display()))
}

/// The name of the newest package of a series.
fn newest<'a>(names: &'a [String], series: &str) -> Option<&'a str> {
    let wanted = numbers(series);
    names
        .iter()
        .filter_map(|name| {
            let version = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
            let parts = numbers(version);
            // Names with fewer parts belong to packages that only depend on the newest; `~` marks a candidate.
            (parts.len() >= 3 && parts.starts_with(&wanted) && !version.contains('~'))
                .then_some((parts, name.as_str()))
        })
        .max()
        .map(|(_, name)| name)
}

/// `6.1.0-57` as [6, 1, 0, 57]
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The image of an unpacked package: in `boot/`, or beside its modules.
fn unpacked(folder: &Path) -> Option<Kernel> {
    let root = folder.join("root");
    let in_boot = entries(&root.join("boot"))
        .into_iter()
        .find_map(|(name, path)| Some((name.strip_prefix("vmlinuz-")?.to_owned(), path)));
    let by_modules = || {
        entries(&root.join("usr/lib/modules"))
            .into_iter()
            .map(|(release, path)| (release, path.join("vmlinuz")))
            .find(|(_, image)| image.is_file())
    };
    let (release, image) = in_boot.or_else(by_modules)?;
    Some(Kernel { release, image })
}

fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect()
}

/// A series as people write it: digits and dots.
pub(crate) fn parse_series(text: &str) -> Result<String> {
    let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    if !text.split('.').all(digits) {
        bail!("a kernel series is digits and dots, as 6.12 or 7");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(series: &str) -> Option<String> {
        let names = [
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64",
            "linux-image-6.1.0-58-cloud-amd64-dbg",
            "linux-image-6.12-cloud-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12.117+deb13-cloud-amd64",
            "linux-image-6.12.118+deb13-cloud-amd64-unsigned",
            "linux-image-6.12.99+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-amd64",
            "linux-image-7.0.13+deb13-cloud-amd64",
            "linux-image-7.10~rc1+deb13-cloud-amd64",
            "linux-image-7.2.12+deb13-cloud-amd64",
            "linux-image-cloud-amd64",
        ]
        .map(str::to_owned);
        newest(&names, series).map(str::to_owned)
    }

    #[test]
    fn the_newest_of_a_series_is_found_by_number_not_by_letter() {
        assert_eq!(pick("6.1").unwrap(), "linux-image-6.1.0-57-cloud-amd64");
        assert_eq!(pick("6.12").unwrap(), "linux-image-6.12.117+deb13-cloud-amd64");
        assert_eq!(pick("7").unwrap(), "linux-image-7.2.12+deb13-cloud-amd64");
        assert_eq!(pick("7.0").unwrap(), "linux-image-7.0.13+deb13-cloud-amd64");
        assert_eq!(pick("6.18"), None);
    }

    #[test]
    fn an_image_is_found_in_both_places_it_may_have() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(unpacked(scratch.path()).is_none());

        let modules = scratch.path().join("root/usr/lib/modules/7.2.12-x");
        fs::create_dir_all(&modules).unwrap();
        fs::write(modules.join("vmlinuz"), "").unwrap();
        assert_eq!(unpacked(scratch.path()).unwrap().release, "7.2.12-x");

        let boot = scratch.path().join("root/boot");
        fs::create_dir_all(&boot).unwrap();
        fs::write(boot.join("config-6.1"), "").unwrap();
        fs::write(boot.join("vmlinuz-6.1"), "").unwrap();
        let kernel = unpacked(scratch.path()).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.image), ("6.1", boot.join("vmlinuz-6.1")));
    }

    #[test]
    fn a_series_is_digits_and_dots() {
        assert!(parse_series("6.12").is_ok() && parse_series("7").is_ok());
        assert!(["", "6.", ".1", "six", "6/1", "../6"].iter().all(|text| parse_series(text).is_err()));
    }
}
