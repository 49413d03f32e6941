//! Whose `memcpy` the copies are held against: a C library is a matter of the whole process, so each has launches of
//! its own, in which its copy and ours run side by side.

use std::env;
use std::ffi::OsString;

use probe_cli::harness::child::{Launcher, SUBCOMMAND};
use probe_cli::harness::run_error::RunError;
use probe_cli::sys::libpmem;

/// Names the folders of a newer C library, divided by colons, the one with its loader first; `cargo xtask bench` sets it.
const NEWEST_AT: &str = "BENCH_NEWEST_C_LIBRARY";
/// The loader's name on this architecture.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// A C library, and how it is set.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Library {
    /// This machine's, as it is.
    Box,
    /// The newest of Debian, through its own loader.
    Newest,
    /// This machine's, told to leave `rep movsb` to long copies and to go around the cache from 16 MiB on.
    Late,
    /// This machine's, told to go around the cache as early as it can be.
    Early,
}

impl Library {
    /// As in "against ...".
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Box => "the C library",
            Self::Newest => "Debian's newest C library",
            Self::Late => "the C library that streams from 16 MiB",
            Self::Early => "the C library that streams from 16 KiB",
        }
    }

    const fn tunables(self) -> Option<&'static str> {
        match self {
            Self::Box | Self::Newest => None,
            Self::Late => Some(
                "glibc.cpu.x86_rep_movsb_threshold=0x10000:glibc.cpu.x86_non_temporal_threshold=0x1000000",
            ),
            Self::Early => Some("glibc.cpu.x86_non_temporal_threshold=0x4040"),
        }
    }

    /// Whether it is here.
    pub(crate) fn is_here(self) -> bool {
        match self {
            Self::Box => true,
            Self::Newest => folders().is_some(),
            // The names of other systems and architectures differ.
            Self::Late | Self::Early => {
                cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))
            }
        }
    }

    /// How a launch with it is started.
    ///
    /// # Errors
    ///
    /// The path of this program cannot be found.
    pub(crate) fn launcher(self) -> Result<Launcher, RunError> {
        let own = Launcher::this_program()?;
        let program = own.program.into_os_string();
        let (starter, before): (OsString, Vec<OsString>) = match (self.tunables(), folders()) {
            (Some(tunables), _) => ("env".into(), vec![format!("GLIBC_TUNABLES={tunables}").into()]),
            (None, Some(folders)) if self == Self::Newest => {
                let first = folders.split(':').next().unwrap_or_default();
                (format!("{first}/{LOADER}").into(), vec!["--library-path".into(), folders.into()])
            }
            _ => return Launcher::this_program(),
        };
        let arguments = before.into_iter().chain([program, SUBCOMMAND.into()]).collect();
        Ok(Launcher { program: starter.into(), arguments })
    }
}

fn folders() -> Option<String> {
    env::var(NEWEST_AT).ok().filter(|folders| !folders.is_empty())
}

/// What could have been held against, and was not; begins with a semicolon, unless nothing is missing.
pub(crate) fn missing() -> String {
    let mut missing = String::new();
    if !Library::Newest.is_here() {
        missing += &format!("; Debian's newest C library is missing ({NEWEST_AT} is not set)");
    }
    if !libpmem::is_here() {
        missing += "; libpmem is missing (Debian's package is libpmem1)";
    }
    missing
}
