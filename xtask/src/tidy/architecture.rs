//! The rule that keeps ARCHITECTURE.md true: what it names exists, and no folder is left out.

use std::collections::BTreeSet;

use super::{Offence, Tree};

const PAGE: &str = "ARCHITECTURE.md";

/// Files that are named and do not exist, and top-level folders that are not named.
pub(super) fn offences(tree: &Tree) -> Vec<Offence> {
    let Some(page) = tree.file(PAGE) else {
        return vec![format!(
            "{PAGE}:1: architecture: write it: the map of this workspace, for who comes new"
        )];
    };
    let folders: BTreeSet<&str> =
        tree.files.iter().filter_map(|file| file.path.split_once('/')).map(|(top, _)| top).collect();

    let mut offences = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        for name in line.split(|c: char| c.is_whitespace() || "`()[]|\"'<>".contains(c)).flat_map(braces) {
            let name = name.trim_start_matches("./").trim_end_matches(['.', ',', ';', ':']);
            if is_of_this_tree(name, &folders) && !exists(tree, name) {
                let number = index + 1;
                offences.push(format!(
                    "{PAGE}:{number}: architecture: there is no `{name}`; mend or drop the name"
                ));
            }
        }
    }
    for folder in folders.iter().filter(|folder| !page.text.contains(**folder)) {
        offences.push(format!("{PAGE}:1: architecture: say what the folder `{folder}` is for"));
    }
    offences
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`
fn braces(name: &str) -> Vec<String> {
    match name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (choices, after))) => choices
            .split(',')
            .map(|choice| format!("{before}{}{after}", choice.trim()))
            .flat_map(|name| braces(&name))
            .collect(),
        None => vec![name.to_owned()],
    }
}

/// Whether a word names something that git should know: a path below a top-level folder, or a source file.
fn is_of_this_tree(name: &str, folders: &BTreeSet<&str>) -> bool {
    let spelled = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./*".contains(c));
    let below = name.split_once('/').is_some_and(|(top, rest)| folders.contains(top) && !rest.is_empty());
    let source =
        [".rs", ".toml", ".md"].iter().any(|ending| name.len() > ending.len() && name.ends_with(ending));
    spelled && (below || source)
}

/// A whole path, the end of one (`src/site.rs`), a folder, or a beginning before `*`.
fn exists(tree: &Tree, name: &str) -> bool {
    let (beginning, ending) = name.split_once('*').unwrap_or((name, ""));
    let starred = name.contains('*');
    let folder = format!("{}/", name.trim_end_matches('/'));
    tree.files.iter().any(|file| {
        let path = file.path.as_str();
        if starred {
            return path.contains(beginning) && path.ends_with(ending);
        }
        path == name || path.ends_with(&format!("/{name}")) || path.starts_with(&folder)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::File, *};

    fn check(page: &str) -> Vec<Offence> {
        let paths = ["README.md", "engine/src/lib.rs", "engine/src/flush.rs", ".ci/run"];
        let mut files: Vec<File> =
            paths.iter().map(|&path| File { path: path.to_owned(), text: String::new() }).collect();
        files.push(File { path: PAGE.to_owned(), text: page.to_owned() });
        offences(&Tree { files })
    }

    #[test]
    fn what_exists_may_be_named_in_many_ways() {
        let page = "`engine/` and .ci/run (see README.md); `engine/src/{lib,flush}.rs`,\n\
            src/flush.rs, lib.rs, engine/src, engine/src/*.rs.\n";
        assert_eq!(check(page), [""; 0]);
    }

    #[test]
    fn every_name_without_a_file_is_an_offence_where_it_stands() {
        let page = "engine .ci\n`engine/src/{lib,gone}.rs` left.rs\nengine/benches/*.rs\n";
        let offences = check(page);
        let expected = [
            "2: architecture: there is no `engine/src/gone.rs`",
            "2: architecture: there is no `left.rs`",
            "3: ",
        ];
        assert_eq!(offences.len(), expected.len(), "{offences:#?}");
        for (offence, expected) in offences.iter().zip(expected) {
            assert!(offence.starts_with(&format!("{PAGE}:{expected}")), "{offence}");
        }
    }

    #[test]
    fn words_that_name_nothing_of_ours_are_let_be() {
        let words = "engine .ci entry/exit target/run/report.json a::b.rs and/or /proc/cmdline *.md .rs\n";
        assert_eq!(check(words), [""; 0]);
    }

    #[test]
    fn a_folder_left_out_is_an_offence_and_so_is_no_page_at_all() {
        assert_eq!(check("only engine\n").len(), 1);
        assert_eq!(offences(&Tree::default()).len(), 1);
    }
}
