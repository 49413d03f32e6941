//! The rules that look at one file at a time.

use std::path::Path;

use super::{File, Offence, rust_words};

/// Names that say nothing of what is inside.
const VAGUE: [&str; 7] = ["utils", "util", "common", "helpers", "helper", "misc", "v2"];

/// Paths of one machine, and hosts of package registries. Put together here, or this file would offend.
const WORDS: [&str; 10] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
    concat!("crates", ".io"),
    concat!("static.rust-", "lang.org"),
    concat!("deb.deb", "ian.org"),
    concat!("security.deb", "ian.org"),
    concat!("registry.npm", "js.org"),
    concat!("pypi", ".org"),
    concat!("proxy.go", "lang.org"),
];

/// The modules that may open `unsafe`; everywhere else it is denied. A folder stands for what is in it.
const DOORS: [&str; 16] = [
    "copy-engine/src/arch/",
    "copy-engine/src/fault/",
    // A door is tried from outside, at guard pages and with its unsafe functions.
    "copy-engine/examples/",
    "copy-engine/tests/",
    "entropy-core/src/chacha/avx2.rs",
    "entropy-core/src/chacha/avx512.rs",
    "entropy-core/src/clock.rs",
    "entropy-core/src/fork/",
    "entropy-core/src/prefetch.rs",
    "entropy-core/src/vdso/",
    // What forks, exits and is sandboxed can only be tried by doing it.
    "entropy-core/tests/child/",
    "probe-cli/src/sys/",
    "probe-cli/src/tsc.rs",
    "probe-ebpf/src/main.rs",
    "probe-ebpf/src/programs/",
    "probe-ebpf/src/site.rs",
];

/// Every offence of a file against every rule.
pub(super) fn offences(file: &File) -> Vec<Offence> {
    let rules = [module_docs, names, blanks, words, unsafe_doors, lints];
    rules.iter().flat_map(|rule| rule(file)).collect()
}

/// A crate may open with its README instead.
fn module_docs(file: &File) -> Vec<Offence> {
    let says = |line: &str| {
        line.strip_prefix("//! ").is_some_and(|sentence| !sentence.trim().is_empty())
            || line.starts_with("#![doc = include_str!(")
    };
    let opens = file.text.lines().next().is_some_and(says);
    if opens || !file.path.ends_with(".rs") {
        return Vec::new();
    }
    vec![offence(file, 1, "module-docs: open the file with `//!` and one sentence that says what it is for")]
}

fn names(file: &File) -> Vec<Offence> {
    let vague =
        |part: &&str| Path::new(part).file_stem().is_some_and(|stem| VAGUE.iter().any(|name| stem == *name));
    file.path
        .split('/')
        .find(vague)
        .map(|part| {
            offence(file, 1, &format!("names: `{part}` says nothing; name it after the one idea inside"))
        })
        .into_iter()
        .collect()
}

/// Known answers are copied byte for byte, blanks included.
fn blanks(file: &File) -> Vec<Offence> {
    if file.path.contains("/vectors/") {
        return Vec::new();
    }
    numbered(file)
        .filter(|(_, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(number, _)| offence(file, number, "blanks: cut the blanks at the end of the line"))
        .collect()
}

/// cargo writes the lock file, with the name of its registry.
fn words(file: &File) -> Vec<Offence> {
    if file.path == "Cargo.lock" {
        return Vec::new();
    }
    numbered(file)
        .flat_map(|(number, line)| {
            WORDS.iter().filter(move |word| line.contains(**word)).map(move |word| {
                let mend = "is of one machine or one registry; find it out at run time, or leave it out";
                offence(file, number, &format!("words: `{word}` {mend}"))
            })
        })
        .collect()
}

fn unsafe_doors(file: &File) -> Vec<Offence> {
    let door =
        DOORS.iter().any(|door| file.path == *door || (door.ends_with('/') && file.path.starts_with(door)));
    if door || !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let denies = |line: usize| {
        lines.get(line - 1).is_some_and(|line| line.contains("forbid(") || line.contains("deny("))
    };
    rust_words::words(&file.text)
        .into_iter()
        .filter(|(line, word)| *word == "unsafe" || (*word == "unsafe_code" && !denies(*line)))
        .map(|(line, _)| {
            let mend = "move it behind a door (xtask/src/tidy/rules.rs lists them), or use a safe wrapper";
            offence(file, line, &format!("unsafe: not in a door; {mend}"))
        })
        .collect()
}

fn lints(file: &File) -> Vec<Offence> {
    let manifest =
        file.path.ends_with("/Cargo.toml") && file.text.lines().any(|line| line.trim() == "[package]");
    let mut lines = file.text.lines().map(str::trim);
    let takes = lines.any(|line| line == "[lints]")
        && lines
            .take_while(|line| !line.starts_with('['))
            .any(|line| line.replace(' ', "") == "workspace=true");
    if !manifest || takes {
        return Vec::new();
    }
    vec![offence(file, 1, "lints: add `[lints]` and `workspace = true`")]
}

fn numbered(file: &File) -> impl Iterator<Item = (usize, &str)> {
    // Not `lines()`, which would cut a carriage return.
    file.text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}

fn offence(file: &File, line: usize, what: &str) -> Offence {
    format!("{}:{line}: {what}", file.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&File) -> Vec<Offence>, path: &str, text: &str) -> usize {
        rule(&File { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn a_source_file_opens_with_what_it_is_for() {
        assert_eq!(check(module_docs, "a/src/x.rs", "//! What it is for.\n"), 0);
        assert_eq!(check(module_docs, "a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"), 0);
        assert_eq!(check(module_docs, "a/src/x.rs", "//!\n"), 1);
        assert_eq!(check(module_docs, "a/src/x.rs", "\n//! Late.\n"), 1);
        assert_eq!(check(module_docs, "a/src/x.rs", ""), 1);
        assert_eq!(check(module_docs, "a/README.md", "# A\n"), 0);
    }

    #[test]
    fn vague_names_are_found_in_files_and_folders() {
        assert_eq!(check(names, "a/src/utils.rs", ""), 1);
        assert_eq!(check(names, "a/src/common/lock.rs", ""), 1);
        assert_eq!(check(names, "a/v2", ""), 1);
        assert_eq!(check(names, "a/src/commonplace.rs", ""), 0);
    }

    #[test]
    fn blanks_at_the_end_of_a_line_are_found_but_not_in_vectors() {
        assert_eq!(check(blanks, "a.md", "one \ntwo\t\nthree\r\nfour\n"), 3);
        assert_eq!(check(blanks, "a/tests/vectors/x.json", "one \n"), 0);
    }

    #[test]
    fn every_forbidden_word_is_found() {
        for word in WORDS {
            assert_eq!(check(words, "README.md", &format!("see\n({word}x)\n")), 1, "{word}");
            assert_eq!(check(words, "Cargo.lock", word), 0);
        }
    }

    #[test]
    fn unsafe_is_seen_in_code_only_and_only_outside_the_doors() {
        let block = "//! X.\nfn f() { unsafe { g() } }\n";
        assert_eq!(check(unsafe_doors, "probe-cli/src/report/mod.rs", block), 1);
        assert_eq!(check(unsafe_doors, "probe-cli/src/sys/mod.rs", block), 0);
        assert_eq!(check(unsafe_doors, "probe-cli/src/tsc.rs", block), 0);
        assert_eq!(check(unsafe_doors, "a/src/lib.rs", "#![allow(unsafe_code, reason = \"r\")]\n"), 1);
        assert_eq!(check(unsafe_doors, "a/src/lib.rs", "#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(check(unsafe_doors, "a/src/lib.rs", "// unsafe\nlet a = \"unsafe\"; /* unsafe */\n"), 0);
        assert_eq!(check(unsafe_doors, "a/src/lib.rs", "#[unsafe(no_mangle)]\nfn f() {}\n"), 1);
    }

    #[test]
    fn a_crate_takes_the_lints_of_the_workspace() {
        assert_eq!(check(lints, "a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n"), 0);
        assert_eq!(check(lints, "a/Cargo.toml", "[package]\n\n[lints]\n\n[x]\nworkspace = true\n"), 1);
        assert_eq!(check(lints, "a/Cargo.toml", "[package]\nlicense.workspace = true\n"), 1);
        assert_eq!(check(lints, "Cargo.toml", "[workspace]\n"), 0);
    }
}
