//! Guests: Debian's kernels, booted under software emulation with one test program inside.

pub(crate) mod boot;
pub(crate) mod console;
pub(crate) mod cpio;
pub(crate) mod kernel;
