//! `cargo xtask tidy`: the written rules, as checks. All offences are listed, each with its mend.

mod architecture;
mod rules;
mod rust_words;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use clap::Args;

use crate::{cargo::root, process};

/// Check the written rules that no compiler knows
///
/// Looks at the files that git knows or would take. Lists every offence with its mend, one a line.
#[derive(Debug, Args)]
#[command(after_help = "Rules:\n  \
    module-docs    every .rs file opens with a `//!` sentence that says what it is for\n  \
    names          no file or folder is called utils, common, helpers, misc or v2\n  \
    blanks         no line ends in blanks\n  \
    architecture   ARCHITECTURE.md names every top-level folder, and only files that exist\n  \
    words          no path of one machine, no host of a package registry\n  \
    unsafe         `unsafe` stands only in the modules that are its doors\n  \
    lints          every crate takes the lints of the workspace\n\n\
    Example:\n  cargo xtask tidy")]
pub(crate) struct Tidy {}

impl Tidy {
    pub(crate) fn run(self) -> Result<()> {
        check()
    }
}

/// Fails, with the number of offences, if there is one; they are printed.
pub(crate) fn check() -> Result<()> {
    let tree = Tree::of_git(root())?;
    let offences = tree.offences();
    for offence in &offences {
        println!("{offence}");
    }
    ensure!(offences.is_empty(), "{} offences against the written rules", offences.len());
    println!("tidy   {} files keep the rules", tree.files.len());
    Ok(())
}

/// `path:line: rule: what, and its mend`
type Offence = String;

/// Files of text with their paths from the root.
#[derive(Debug, Default)]
struct Tree {
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    path: String,
    text: String,
}

impl Tree {
    /// The files that git knows or would take; one that is not text has no rules.
    fn of_git(root: &Path) -> Result<Self> {
        let listed = process::output(Command::new("git").current_dir(root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        Ok(Self::of_paths(root, listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from)))
    }

    fn of_paths(root: &Path, paths: impl Iterator<Item = PathBuf>) -> Self {
        let files = paths
            .filter_map(|path| {
                // A file that git knows may be gone from the disk; that is no offence yet.
                let text = String::from_utf8(fs::read(root.join(&path)).ok()?).ok()?;
                Some(File { path: path.to_string_lossy().into_owned(), text })
            })
            .collect();
        Self { files }
    }

    fn offences(&self) -> Vec<Offence> {
        let mut offences: Vec<Offence> = self.files.iter().flat_map(rules::offences).collect();
        offences.extend(architecture::offences(self));
        offences
    }

    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status().unwrap();
        assert!(git.success());
        folder
    }

    #[test]
    fn a_tree_that_keeps_the_rules_has_no_offence() {
        let folder = tree(&[
            ("ARCHITECTURE.md", "Read `engine/src/lib.rs`.\n"),
            ("engine/src/lib.rs", "//! An engine.\n"),
            ("engine/Cargo.toml", "[package]\nname = \"engine\"\n\n[lints]\nworkspace = true\n"),
        ]);
        assert_eq!(Tree::of_git(folder.path()).unwrap().offences(), [""; 0]);
    }

    #[test]
    fn all_offences_are_listed_and_what_git_ignores_is_not() {
        let folder = tree(&[
            (".gitignore", "/target\n"),
            ("target/src/utils.rs", "x \n"),
            ("ARCHITECTURE.md", "In `engine/src/gone.rs`.\n"),
            ("engine/Cargo.toml", "[package]\n"),
            ("engine/src/utils.rs", "fn a() {} \n"),
        ]);
        let offences = Tree::of_git(folder.path()).unwrap().offences();
        let beginnings = [
            "ARCHITECTURE.md:1: architecture",
            "engine/Cargo.toml:1: lints",
            "engine/src/utils.rs:1: blanks",
            "engine/src/utils.rs:1: module-docs",
            "engine/src/utils.rs:1: names",
        ];
        let mut seen = offences.clone();
        seen.sort();
        assert_eq!(seen.len(), beginnings.len(), "{offences:#?}");
        for (offence, beginning) in seen.iter().zip(beginnings) {
            assert!(offence.starts_with(beginning), "{offence}");
        }
    }

    #[test]
    fn files_gone_from_the_disk_and_files_that_are_not_text_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("picture.png"), [0x89, 0xff, b' ', b'\n']).unwrap();
        let paths = ["picture.png", "gone.rs"].map(PathBuf::from).into_iter();
        assert!(Tree::of_paths(folder.path(), paths).files.is_empty());
    }
}
