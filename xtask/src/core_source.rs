//! Where the source of `core` comes from, which the eBPF target has to be given: a ladder, easiest rung first.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::ValueEnum;

use crate::{
    apt::{self, Archive, Suite},
    cargo::root,
    places,
    process::{self, limited, on_path},
};

/// The suite of Debian that carries one rust-src package a release of the compiler.
const SUITE: Suite = Suite::Main("trixie-backports");
const RUSTUP_LIMIT: Duration = Duration::from_secs(90);

/// A rung of the ladder that can be asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rung {
    /// The copy that the toolchain came with
    Toolchain,
    /// rustup's component rust-src; the only rung that changes the toolchain
    Rustup,
    /// Debian's package rust-src, unpacked under target/ebpf/core
    Debian,
}

/// A source of `core` that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CoreSource {
    /// Where cargo looks by itself.
    Toolchain,
    /// A `library` folder that cargo has to be pointed at.
    Unpacked(PathBuf),
}

impl fmt::Display for CoreSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolchain => write!(out, "the toolchain's own copy"),
            Self::Unpacked(library) => {
                write!(out, "Debian's, {}", library.strip_prefix(root()).unwrap_or(library).display())
            }
        }
    }
}

/// The compiler that will build `core`.
#[derive(Debug)]
struct Compiler {
    sysroot: PathBuf,
    /// `1.95.0`
    release: String,
}

impl Compiler {
    fn find() -> Result<Self> {
        let ask = |what| process::output(Command::new("rustc").current_dir(root()).arg(what));
        let version = ask("-vV")?;
        let release = version.lines().find_map(|line| line.strip_prefix("release: "));
        let release = release.context("`rustc -vV` names no release")?;
        let sysroot = ask("--print=sysroot")?;
        Ok(Self { sysroot: sysroot.trim().into(), release: release.to_owned() })
    }

    fn own_library(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust/library")
    }

    fn unpacked_library(&self) -> PathBuf {
        places::core().join("usr/src").join(format!("rustc-{}", self.release)).join("library")
    }
}

/// What is there already; asks no network.
pub(crate) fn present() -> Result<Option<CoreSource>> {
    let compiler = Compiler::find()?;
    Ok(toolchain(&compiler).or_else(|| unpacked(&compiler)))
}

/// Goes up the ladder until a rung holds, or tries the one rung that is asked for.
pub(crate) fn obtain(forced: Option<Rung>, mut say: impl FnMut(&str)) -> Result<CoreSource> {
    let compiler = Compiler::find()?;
    let rungs: &[Rung] = match &forced {
        Some(rung) => std::slice::from_ref(rung),
        None => &[Rung::Toolchain, Rung::Debian, Rung::Rustup],
    };
    for rung in rungs {
        match rung.climb(&compiler, &mut say) {
            Ok(source) => return Ok(source),
            Err(error) => say(&format!("{}: {error:#}", rung.name())),
        }
    }
    Err(anyhow!(
        "no source of core for rustc {}; with a network, `rustup component add rust-src` brings it, \
         or Debian's package rust-src {} unpacked to {}",
        compiler.release,
        compiler.release,
        places::core().display()
    ))
}

impl Rung {
    fn name(self) -> &'static str {
        match self {
            Self::Toolchain => "toolchain's own copy",
            Self::Rustup => "rustup",
            Self::Debian => "Debian",
        }
    }

    fn climb(self, compiler: &Compiler, say: &mut impl FnMut(&str)) -> Result<CoreSource> {
        match self {
            Self::Toolchain => {
                toolchain(compiler).with_context(|| format!("not at {}", compiler.own_library().display()))
            }
            Self::Debian => match unpacked(compiler) {
                Some(source) => Ok(source),
                None => {
                    say(&format!("Debian: fetching the package rust-src {}", compiler.release));
                    debian(compiler)
                }
            },
            Self::Rustup => match toolchain(compiler) {
                Some(source) => Ok(source),
                None => {
                    say("rustup: adding the component rust-src");
                    rustup(compiler)
                }
            },
        }
    }
}

fn toolchain(compiler: &Compiler) -> Option<CoreSource> {
    has_core(&compiler.own_library()).then_some(CoreSource::Toolchain)
}

fn unpacked(compiler: &Compiler) -> Option<CoreSource> {
    let library = compiler.unpacked_library();
    has_core(&library).then_some(CoreSource::Unpacked(library))
}

fn has_core(library: &Path) -> bool {
    library.join("core/src/lib.rs").is_file()
}

fn debian(compiler: &Compiler) -> Result<CoreSource> {
    let folder = places::ebpf().join("debian");
    let archive = Archive::open(&folder, &[SUITE])?;
    archive.update()?;
    let versions = archive.versions("rust-src")?;
    let version =
        versions.iter().find(|version| is_release(version, &compiler.release)).with_context(|| {
            format!("the archive has rust-src {}, not {}", versions.join(", "), compiler.release)
        })?;
    let package = archive.download(&format!("rust-src={version}"))?;
    apt::unpack(&package, &places::core())?;
    // What is unpacked is ten times the package; neither it nor the lists are needed again.
    fs::remove_dir_all(&folder)?;
    unpacked(compiler)
        .with_context(|| format!("the package holds no {}", compiler.unpacked_library().display()))
}

/// Whether a Debian version (`1.95.0+dfsg1-2~bpo13+1`) packages this release.
fn is_release(version: &str, release: &str) -> bool {
    version
        .strip_prefix(release)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

fn rustup(compiler: &Compiler) -> Result<CoreSource> {
    ensure!(on_path("rustup"), "there is no rustup here");
    process::run_quietly(limited(RUSTUP_LIMIT, "rustup").current_dir(root()).args([
        "component",
        "add",
        "rust-src",
    ]))?;
    toolchain(compiler)
        .with_context(|| format!("rustup ended well, but nothing is at {}", compiler.own_library().display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_of_the_release_are_taken() {
        assert!(is_release("1.95.0+dfsg1-2~bpo13+1", "1.95.0"));
        assert!(is_release("1.95.0-1", "1.95.0"));
        assert!(!is_release("1.95.01-1", "1.95.0"));
        assert!(!is_release("1.95.0.1-1", "1.95.0"));
        assert!(!is_release("1.85.1+dfsg1-1+deb13u1", "1.95.0"));
    }
}
