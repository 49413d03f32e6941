//! Program files: where a name leads, seen from the process that is to be traced, and what the file there says.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::inspect::{self, Query};
use crate::host::Tree;
use crate::probe::program_file::ProgramFile;

/// Folders where libraries are looked for by their bare names.
const LIBRARIES: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// A file, as it is reached from here.
///
/// A process may live in another mount namespace, where a path leads elsewhere: there the way goes through its own
/// root. A bare name is looked for among what the process has mapped, then in `PATH`, then among the libraries.
///
/// # Errors
///
/// Where was looked.
pub fn find(name: &str, process: Option<u32>) -> Result<PathBuf, String> {
    let root = process.map(|process| PathBuf::from(format!("/proc/{process}/root")));
    let path = Path::new(name);
    if name.contains('/') {
        let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let there = match (&root, path.is_absolute()) {
            (Some(root), true) => root.join(path.strip_prefix("/").unwrap_or(path)),
            _ => absolute,
        };
        return match there.is_file() {
            true => Ok(there),
            false => Err(format!("there is no file {}", there.display())),
        };
    }
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some((process, root)) = process.zip(root.as_ref()) {
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        places.extend(mapped(&maps, name).map(|path| root.join(path.strip_prefix("/").unwrap_or(path))));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let inside = |folder: &Path| match &root {
        Some(root) => root.join(folder.strip_prefix("/").unwrap_or(folder)),
        None => folder.to_owned(),
    };
    places.extend(std::env::split_paths(&path).map(|folder| inside(&folder).join(name)));
    places.extend(LIBRARIES.iter().map(|folder| inside(Path::new(folder)).join(name)));
    places
        .into_iter()
        .find(|place| place.is_file())
        .ok_or_else(|| format!("there is no `{name}` in PATH, among the libraries, or mapped; give its path"))
}

/// Files of this name, or of this library, that are mapped.
fn mapped<'a>(maps: &'a str, name: &'a str) -> impl Iterator<Item = &'a Path> {
    maps.lines()
        .filter_map(|line| line.split_once('/').map(|(before, _)| Path::new(&line[before.len()..])))
        .filter(move |path| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            let library = file.strip_prefix(name).is_some_and(|rest| rest.starts_with(".so"));
            file == name || library
        })
}

/// What the file at `path` says to `query`.
///
/// # Errors
///
/// It cannot be opened or read; in words.
pub fn ask(path: &Path, query: &Query) -> Result<ProgramFile, String> {
    let file = File::open(path).map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
    inspect::ask(file, query).map_err(|why| format!("{} cannot be read: {why}", path.display()))
}

/// Why functions of the process must not get return probes, if they must not.
///
/// From 6.11 on a return probe makes a system call of its own, which filters of the process know nothing of and answer
/// by killing it; 6.14 lets it pass them (kernel commit "seccomp: passthrough uretprobe systemcall without filtering").
#[must_use]
pub fn confined(tree: &Tree, process: u32) -> Option<String> {
    let status = tree.text(&format!("proc/{process}/status")).ok()?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?.trim();
    if mode == "0" || !cfg!(target_arch = "x86_64") {
        return None;
    }
    let release = tree.text("proc/sys/kernel/osrelease").ok()?;
    let version = version(&release)?;
    ((6, 11)..(6, 14)).contains(&version).then(|| {
        format!(
            "process {process} is confined by seccomp, and on this kernel ({}) a return probe would kill it; trace a \
             probe site instead, or count",
            release.trim()
        )
    })
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.trim().split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_by_name_and_version() {
        let maps = "7f00-7f01 r-xp 0000 fe:00 42   /usr/lib/libc.so.6\n\
                    7f02-7f03 r-xp 0000 fe:00 43   /opt/with blank/tool\n\
                    7f04-7f05 rw-p 0000 00:00 0\n\
                    7f06-7f07 r-xp 0000 00:00 0    [vdso]\n";
        let found = |name: &'static str| mapped(maps, name).map(|path| path.to_owned()).collect::<Vec<_>>();
        assert_eq!(found("libc"), [PathBuf::from("/usr/lib/libc.so.6")]);
        assert_eq!(found("libc.so.6"), [PathBuf::from("/usr/lib/libc.so.6")]);
        assert_eq!(found("tool"), [PathBuf::from("/opt/with blank/tool")]);
        assert!(found("lib").is_empty());
    }

    #[test]
    fn a_file_is_found_through_the_root_of_a_process() {
        let own = std::env::current_exe().unwrap();
        let process = std::process::id();
        let found = find(&own.to_string_lossy(), Some(process)).unwrap();
        assert!(found.starts_with(format!("/proc/{process}/root")), "{}", found.display());
        assert!(find("/no/such/file", None).unwrap_err().contains("/no/such/file"));
        assert!(find("no-such-program-anywhere", None).is_err());
        assert!(find("sh", None).is_ok());
    }

    #[test]
    fn confined_processes_are_refused_only_where_they_would_die() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let tree = Tree::at(root.path());
        for (mode, release, refused) in [
            ("2", "6.12.1-test", true),
            ("1", "6.11.0", true),
            ("0", "6.12.1", false),
            ("2", "6.10.9", false),
            ("2", "6.14.0", false),
            ("2", "7.2.12", false),
        ] {
            write("proc/7/status", &format!("Name:\tx\nSeccomp:\t{mode}\nSeccomp_filters:\t1\n"));
            write("proc/sys/kernel/osrelease", &format!("{release}\n"));
            let expected = refused && cfg!(target_arch = "x86_64");
            assert_eq!(confined(&tree, 7).is_some(), expected, "{mode} {release}");
        }
        assert_eq!(confined(&tree, 8), None, "there is no such process");
    }
}
