//! What a Debian package says of itself.

use std::fs;

use anyhow::{Context as _, Result};

use super::Release;
use crate::cargo::root;

const SUMMARY: &str = "latency lab and eBPF tracer for the kernel's random, copy and route paths";
const DESCRIPTION: &str = "Rebuilds what five mails to the Linux kernel lists argued about, measures every variant\n \
    on this machine beside the live kernel, and says which claims hold here. Traces any\n \
    kernel function, system call or program with the cost of measuring beside each number.";

/// The control file of a package that brings `program` and takes up `installed_kib`.
pub(super) fn control(release: &Release, program: &[u8], installed_kib: u64) -> String {
    let Release { version, .. } = release;
    let libc = glibc(program).map_or_else(|| "libc6".to_owned(), |oldest| format!("libc6 (>= {oldest})"));
    format!(
        "Package: probe-cli\nVersion: {version}\nArchitecture: amd64\nSection: devel\nPriority: optional\n\
         Maintainer: the kernel hot-path lab <nobody@localhost>\nInstalled-Size: {installed_kib}\n\
         Depends: {libc}, libgcc-s1\nDescription: {SUMMARY}\n {DESCRIPTION}\n"
    )
}

/// The oldest C library that has every symbol the program asks for: its versions stand in the program by name.
fn glibc(program: &[u8]) -> Option<String> {
    const PREFIX: &[u8] = b"GLIBC_";
    let version = |at: usize| {
        let name: Vec<u8> =
            program[at..].iter().copied().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').collect();
        let name = String::from_utf8(name).ok()?;
        let numbers: Option<Vec<u32>> = name.split('.').map(|part| part.parse().ok()).collect();
        Some((numbers?, name))
    };
    let places = program.windows(PREFIX.len()).enumerate().filter(|(_, window)| *window == PREFIX);
    places.filter_map(|(at, _)| version(at + PREFIX.len())).max().map(|(_, name)| name)
}

/// The copyright file: which licence is whose, and the short one in full.
pub(super) fn copyright() -> Result<String> {
    let mit = fs::read_to_string(root().join("LICENSE-MIT")).context("LICENSE-MIT cannot be read")?;
    let holder = mit.lines().find(|line| line.starts_with("Copyright")).unwrap_or("Copyright: its authors");
    Ok(format!(
        "{holder}\n\nThe program is under the MIT licence or the Apache licence 2.0, as you choose. The eBPF object inside\n\
         declares \"Dual MIT/GPL\", which the kernel asks of programs that call some of its helpers.\n\n\
         On Debian systems the Apache licence is in /usr/share/common-licenses/Apache-2.0.\n\n{mit}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_decides_which_c_library_is_needed() {
        // 2.9 is older than 2.34, though not as text; a private version has no number.
        let program = b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0GLIBC_";
        assert_eq!(glibc(program).as_deref(), Some("2.34"));
        assert_eq!(glibc(b"static"), None);
    }

    #[test]
    fn a_control_file_is_made_of_fields_and_indented_lines() {
        let release = Release { version: "1.2.3".to_owned(), epoch: 0 };
        let control = control(&release, b"\0GLIBC_2.34\0", 42);
        for line in control.lines() {
            let field = line.split_once(": ").is_some_and(|(name, _)| !name.contains(' '));
            assert!(field || line.starts_with(' '), "{line}");
        }
        assert!(control.contains("\nDepends: libc6 (>= 2.34), libgcc-s1\n"), "{control}");
        assert!(
            control.contains("Version: 1.2.3\n") && control.contains("Installed-Size: 42\n"),
            "{control}"
        );
    }
}
