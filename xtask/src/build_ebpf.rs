//! `cargo xtask build-ebpf`: the eBPF object, and beside it the fingerprint of what it was built from.

#[allow(unreachable_pub, reason = "a build script includes the same file")]
#[path = "../../probe-ebpf/fingerprint.rs"]
mod fingerprint;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::{
    cargo::{self, cargo, root},
    core_source::{self, CoreSource},
    places, process, setup, strip,
};

const TARGET: &str = "bpfel-unknown-none";

/// Build the eBPF object that probe-cli embeds
///
/// Does nothing when the object is that of the sources as they are. Needs what `setup` brings, but no network.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask setup && cargo xtask build-ebpf\n  \
    llvm-objdump -d target/ebpf/probe-ebpf.o   what came out of it")]
pub(crate) struct BuildEbpf {}

impl BuildEbpf {
    pub(crate) fn run(self) -> Result<()> {
        let core =
            core_source::present()?.context("there is no source of core; `cargo xtask setup` brings it")?;
        build(&core)
    }
}

/// Sets up and builds, or says in one line why the lab goes on without its probes.
pub(crate) fn build_or_say_why_not() -> bool {
    match setup::set_up(None).and_then(|core| build(&core)) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("ebpf   going on without it: {error:#}");
            false
        }
    }
}

/// Builds the object unless it is up to date.
pub(crate) fn build(core: &CoreSource) -> Result<()> {
    let fingerprint =
        fingerprint::fingerprint(root()).context("could not read the sources of the eBPF object")?;
    if places::object().is_file()
        && fs::read_to_string(places::fingerprint()).is_ok_and(|built| built.trim() == fingerprint)
    {
        eprintln!("ebpf   up to date: target/ebpf/probe-ebpf.o");
        return Ok(());
    }

    // A folder of its own: the flags would rebuild everything else.
    let built = compile(core, root(), &places::ebpf().join("build"))?;
    // In this order no moment has a new fingerprint beside an old object, or half of one.
    if places::fingerprint().exists() {
        fs::remove_file(places::fingerprint())?;
    }
    place(&fs::read(&built)?, places::object())?;
    place(fingerprint.as_bytes(), places::fingerprint())?;
    eprintln!("ebpf   built target/ebpf/probe-ebpf.o");
    Ok(())
}

/// Builds the object from the sources in `workspace`, with its build's files in `build`; says where it is.
///
/// No path of this machine gets into it: wherever they lie, the same sources become the same bytes.
pub(crate) fn compile(core: &CoreSource, workspace: &Path, build: &Path) -> Result<PathBuf> {
    let linker = places::tools().join("bin/bpf-linker").is_file() || process::on_path("bpf-linker");
    ensure!(linker, "there is no bpf-linker; `cargo xtask setup` builds it");

    let mut flags = vec!["-Cdebuginfo=2".to_owned(), "-Clink-arg=--btf".to_owned()];
    flags.extend(remapped(workspace, core)?);
    let mut command = cargo(["build", "--package=probe-ebpf", "--bins", "--release", "-Zbuild-std=core"]);
    command
        .current_dir(workspace)
        .args(["--target", TARGET])
        // Lets the stable compiler take -Z.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_TARGET_DIR", build)
        .env("PATH", path_with_tools()?);
    if let CoreSource::Unpacked(library) = core {
        command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
    }
    process::run(&mut command).context("the eBPF object could not be built")?;

    let built = build.join(TARGET).join("release/probe-ebpf");
    let whole = fs::read(&built).with_context(|| format!("no object at {}", built.display()))?;
    let stripped = build.join("probe-ebpf.o");
    fs::write(&stripped, strip::debug_info(&whole)?)?;
    Ok(stripped)
}

/// Where the sources lie here, and what the object calls it.
fn remapped(workspace: &Path, core: &CoreSource) -> Result<Vec<String>> {
    let mut places = cargo::machine_paths()?;
    places.push((workspace.to_owned(), "/src"));
    if let CoreSource::Unpacked(library) = core {
        places.push((library.clone(), "/rust"));
        // Below the workspace cargo names it from there.
        if let Ok(below) = library.strip_prefix(workspace) {
            places.push((below.to_owned(), "/rust"));
        }
    }
    Ok(cargo::remap(&places))
}

fn place(bytes: &[u8], path: PathBuf) -> Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, bytes)
        .and_then(|()| fs::rename(&partial, &path))
        .with_context(|| format!("could not write {}", path.display()))
}

fn path_with_tools() -> Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [places::tools().join("bin")].into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).context("the PATH cannot be extended")
}
