//! `cargo xtask dist`: what is handed to people who do not build.
//!
//! ```text
//! sources ─► object, twice, from two places: one hash
//!    └─────► program, stripped, object inside ─► tree (as installed) ─┬─► .tar.gz ┐ each packed twice: one hash
//!                                                                     └─► .deb    ┴─► installed in an empty root, used
//! ```

mod check;
mod control;
mod pack;
mod program;
mod sources;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::{cargo::root, places, process, setup};

/// Make a stripped program, a tar archive and a Debian package, and try them
///
/// The eBPF object is built twice, from two folders, and has to come out the same to the bit; so have both archives.
/// The package is installed into an empty root and used from there, and taken out again. At last the tool is
/// installed by cargo from sources without an object, as on a machine without the eBPF toolchain, and has to say
/// what it lacks.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask dist                     into target/dist\n  \
    cargo xtask dist --out /srv/packages\n  \
    dpkg -i target/dist/probe-cli_*.deb")]
pub(crate) struct Dist {
    /// Folder for the archives [default: target/dist]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What an archive is called by.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    /// The tool's version.
    version: String,
    /// When the sources were last changed, in seconds of Unix: the time of everything in the archives.
    epoch: u64,
}

impl Dist {
    pub(crate) fn run(self) -> Result<ExitCode> {
        make(self.out)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes the archives, in `out` or where they usually are, and tries them.
pub(crate) fn make(out: Option<PathBuf>) -> Result<()> {
    let out = match out {
        Some(out) => std::path::absolute(out)?,
        None => places::dist(),
    };
    fs::create_dir_all(&out).with_context(|| format!("{} cannot be made; choose --out", out.display()))?;

    let core = setup::set_up(None).context("a release has the eBPF object inside")?;
    let elsewhere = sources::elsewhere()?;
    let object = sources::same_object(&core, &elsewhere)?;
    let program = program::build(&object)?;

    let release = Release { version: env!("CARGO_PKG_VERSION").to_owned(), epoch: epoch()? };
    let tree = tree::stage(&program, &release, &places::dist().join("tree"))?;
    let archives = [pack::tar(&tree, &release, &out)?, pack::deb(&tree, &release, &out)?];
    for archive in archives.iter().flatten() {
        check::same_bytes_again(archive, &tree, &release)?;
    }

    match archives.iter().flatten().find(|archive| archive.extension().is_some_and(|kind| kind == "deb")) {
        Some(package) => check::installed(package)?,
        None => check::unpacked(&tree)?,
    }
    check::without_object(&program::install(&elsewhere)?)?;

    println!();
    for archive in archives.iter().flatten() {
        println!("{}  {}", sources::hash(archive)?, archive.display());
    }
    Ok(())
}

/// The time of the last commit; SOURCE_DATE_EPOCH if somebody says otherwise.
fn epoch() -> Result<u64> {
    if let Ok(said) = std::env::var("SOURCE_DATE_EPOCH") {
        return said.parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number of seconds: {said}"));
    }
    let mut git = std::process::Command::new("git");
    let said = process::output(git.current_dir(root()).args(["log", "-1", "--format=%ct"]))
        .context("outside a checkout, set SOURCE_DATE_EPOCH to the time of the sources")?;
    said.trim().parse().with_context(|| format!("git told no time: {said}"))
}

/// An empty folder in place of whatever was there.
fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))
}

/// Fails if the program has in it where it was built.
fn tells_no_place(program: &Path) -> Result<()> {
    let bytes = fs::read(program)?;
    let here = root().as_os_str().as_encoded_bytes();
    ensure!(
        !bytes.windows(here.len()).any(|window| window == here),
        "{} has the folder of this checkout in it",
        program.display()
    );
    Ok(())
}
