//! Embeds the eBPF object when it was made from the present sources, and links the probe sites so that every
//! tool finds them, and says what it is built from. Builds nothing itself.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../probe-ebpf/fingerprint.rs"]
mod fingerprint;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PROBE_EBPF_OBJECT");
    link_sites();
    describe_build();

    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace").to_owned();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let embedded = match find_object(&root) {
        Ok(object) => {
            // Read now, so that the object may be rebuilt while this build goes on.
            fs::copy(&object, out.join("probe-ebpf.o")).expect("the object can be copied");
            "Ok(aya::include_bytes_aligned!(concat!(env!(\"OUT_DIR\"), \"/probe-ebpf.o\")))".to_owned()
        }
        Err(reason) => format!("Err({reason:?})"),
    };
    fs::write(out.join("embedded.rs"), embedded).expect("OUT_DIR can be written");
}

/// rust-lld places code at addresses that differ from file offsets. Tools that take a note's address for an
/// offset would then break the traced program.
fn link_sites() {
    let is = |variable, value| env::var(variable).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        println!("cargo::rustc-link-arg=-Wl,-z,separate-code");
    }
}

/// What the reports say of the program that wrote them. Outside a checkout there is no commit to tell.
fn describe_build() {
    let said = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|line| !line.is_empty())
    };
    let rustc = env::var("RUSTC").expect("cargo sets it");
    if let Some(version) = said(&rustc, &["--version"]) {
        println!("cargo::rustc-env=PROBE_RUSTC={version}");
    }
    if let Some(commit) = said("git", &["describe", "--always", "--dirty", "--abbrev=12"]) {
        println!("cargo::rustc-env=PROBE_COMMIT={commit}");
    }
    if let Some(head) = said("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
}

fn find_object(root: &Path) -> Result<PathBuf, String> {
    if let Some(object) = env::var_os("PROBE_EBPF_OBJECT") {
        let object = PathBuf::from(object);
        println!("cargo::rerun-if-changed={}", object.display());
        return if object.is_file() { Ok(object) } else { Err("PROBE_EBPF_OBJECT names no file".to_owned()) };
    }
    let built = root.join("target/ebpf");
    let (object, made_from) = (built.join("probe-ebpf.o"), built.join("probe-ebpf.fingerprint"));
    for path in
        [&object, &made_from, &root.join("probe-ebpf"), &root.join("Cargo.lock"), &root.join("Cargo.toml")]
    {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let made_from = fs::read_to_string(made_from).map_err(|_| "it has not been built".to_owned())?;
    let sources = fingerprint::fingerprint(root)
        .map_err(|error| format!("the sources of the object cannot be read: {error}"))?;
    if made_from.trim() != sources {
        return Err("the built one is older than its sources".to_owned());
    }
    if object.is_file() { Ok(object) } else { Err("it has not been built".to_owned()) }
}
