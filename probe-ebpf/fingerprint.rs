//! Whether an object was made from these sources: a hash of everything that goes into it.
//!
//! Included by path in the program that builds the object and in the build script that embeds it. It tells a
//! stale object from a fresh one and resists accidents, not attacks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Hash of the sources of the eBPF object in the workspace at `workspace_root`, as 16 hexadecimal digits.
///
/// It covers the package's manifest and sources, the workspace's profile and lints, the compiler's version, how it is
/// built, and the entries of the lock file that the object is linked with. Paths are hashed relative to the root, so that a
/// moved checkout keeps its object.
///
/// # Errors
///
/// A file of these is missing or cannot be read.
pub(crate) fn fingerprint(workspace_root: &Path) -> io::Result<String> {
    let mut files = vec![
        PathBuf::from("Cargo.toml"),
        PathBuf::from("probe-ebpf/Cargo.toml"),
        PathBuf::from("rust-toolchain.toml"),
        PathBuf::from("xtask/src/build_ebpf.rs"),
        PathBuf::from("xtask/src/strip.rs"),
    ];
    collect(workspace_root, Path::new("probe-ebpf/src"), &mut files)?;
    files.sort();

    let mut hash = Fnv::new();
    for file in &files {
        hash.field(file.to_string_lossy().as_bytes());
        hash.field(&fs::read(workspace_root.join(file))?);
    }
    let lock = fs::read_to_string(workspace_root.join("Cargo.lock"))?;
    for package in lock.split("[[package]]").filter(|package| package.contains("name = \"aya-")) {
        hash.field(package.trim().as_bytes());
    }
    Ok(format!("{:016x}", hash.0))
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Hashes the length too, so that no two lists of fields look alike.
    fn field(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
