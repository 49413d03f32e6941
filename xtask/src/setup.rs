//! `cargo xtask setup`: what building the eBPF object needs, brought under `target/ebpf`.

use std::{
    fs::{self, File},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::{
    cargo::root,
    core_source::{self, CoreSource, Rung},
    places,
    process::{self, limited},
};

/// The last release that takes LLVM 22, which is inside the pinned compiler.
const LINKER: &str = "0.10.3";
const LINKER_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Bring what the eBPF build needs: the source of core, and bpf-linker
///
/// Everything goes under target/ebpf; nothing of the system changes (but the toolchain, where rustup has to add its
/// component). What is there already is kept, what was broken off goes on, and every step that needs the network
/// has a time limit.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask setup                   the first source of core that can be had\n  \
    cargo xtask setup --source debian   Debian's package, whatever the toolchain has")]
pub(crate) struct Setup {
    /// Take the source of core from here and nowhere else
    #[arg(long, value_enum)]
    source: Option<Rung>,
}

impl Setup {
    pub(crate) fn run(self) -> Result<()> {
        set_up(self.source).map(drop)
    }
}

/// Makes sure that the object can be built, and says what was found.
pub(crate) fn set_up(source: Option<Rung>) -> Result<CoreSource> {
    let _alone = lock()?;
    let core = core_source::obtain(source, |news| say("core source", news))?;
    say("core source", &core.to_string());
    linker()?;
    Ok(core)
}

/// One set-up at a time; the lock goes with the process, however that ends.
fn lock() -> Result<File> {
    fs::create_dir_all(places::ebpf())?;
    let file = File::create(places::ebpf().join("setup.lock"))?;
    if file.try_lock().is_err() {
        say("waiting", "another set-up is at work here");
        file.lock()?;
    }
    Ok(file)
}

fn linker() -> Result<()> {
    if linker_works() {
        say("bpf-linker", &format!("{LINKER}, target/ebpf/tools/bin/bpf-linker"));
        return Ok(());
    }
    say("bpf-linker", &format!("building {LINKER}: about a minute on two cores"));
    let build = places::ebpf().join("tools-build");
    process::run(
        limited(LINKER_LIMIT, "cargo")
            .current_dir(root())
            .args(["install", &format!("bpf-linker@{LINKER}"), "--locked", "--force", "--root"])
            .arg(places::tools())
            // A folder that stays: a build that was broken off goes on.
            .env("CARGO_TARGET_DIR", &build)
            .env("CARGO_HTTP_TIMEOUT", "20")
            .env("CARGO_NET_RETRY", "2"),
    )
    .context("bpf-linker could not be built: it needs the network once, and a C linker")?;
    ensure!(linker_works(), "bpf-linker was built but does not answer with version {LINKER}");
    fs::remove_dir_all(&build).context("could not tidy up after building bpf-linker")?;
    say("bpf-linker", &format!("built {LINKER}, target/ebpf/tools/bin/bpf-linker"));
    Ok(())
}

fn linker_works() -> bool {
    let program = places::tools().join("bin/bpf-linker");
    program.is_file()
        && process::output(Command::new(program).arg("--version"))
            .is_ok_and(|text| text.split_whitespace().any(|word| word == LINKER))
}

fn say(what: &str, news: &str) {
    eprintln!("setup  {what:<12} {news}");
}
