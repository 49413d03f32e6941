//! The fixed places of what the chores make, all under `target/`.

use std::path::PathBuf;

use crate::cargo::root;

/// `target/ebpf`: the toolchain and the object.
pub(crate) fn ebpf() -> PathBuf {
    root().join("target/ebpf")
}

/// Programs of ours, bpf-linker for one: `bin/` below it.
pub(crate) fn tools() -> PathBuf {
    ebpf().join("tools")
}

/// Where the unpacked package with the source of `core` lies.
pub(crate) fn core() -> PathBuf {
    ebpf().join("core")
}

/// The eBPF object.
pub(crate) fn object() -> PathBuf {
    ebpf().join("probe-ebpf.o")
}

/// The fingerprint of the sources that the object was built from.
pub(crate) fn fingerprint() -> PathBuf {
    ebpf().join("probe-ebpf.fingerprint")
}

/// What the guests boot.
pub(crate) fn vm() -> PathBuf {
    root().join("target/vm")
}

/// What `dist` makes, and what it needs on the way.
pub(crate) fn dist() -> PathBuf {
    root().join("target/dist")
}
