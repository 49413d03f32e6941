//! A tree of small files, such as /proc and /sys, below a root.

use std::{
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Longest file that is read, bytes; the kernel's own are a page, /proc/mounts and a config a little more.
const LONGEST: u64 = 1 << 20;

/// Where /proc and /sys are.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

/// Why a file gave nothing, with its path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Absent {
    path: PathBuf,
    why: String,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl Tree {
    /// The machine itself.
    #[must_use]
    pub fn system() -> Self {
        Self::at("/")
    }

    /// A tree laid out below `root`.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where `path`, written without its leading slash, is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The content of a file without the blanks around it; an empty file is absent.
    pub(crate) fn text(&self, path: &str) -> Result<String, Absent> {
        let absent = |why: String| Absent { path: Path::new("/").join(path), why };
        let mut bytes = Vec::new();
        let read =
            fs::File::open(self.path(path)).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        match read {
            Err(error) => Err(absent(match error.kind() {
                io::ErrorKind::NotFound => "does not exist".to_owned(),
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            })),
            Ok(_) => match String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ', '\n', '\t']) {
                "" => Err(absent("is empty".to_owned())),
                text => Ok(text.to_owned()),
            },
        }
    }

    /// A file as a number below `limit`.
    pub(crate) fn number(&self, path: &str, limit: u64) -> Result<u64, Absent> {
        let text = self.text(path)?;
        let absent = |why: String| Absent { path: Path::new("/").join(path), why };
        match text.parse() {
            Ok(number) if number < limit => Ok(number),
            Ok(number) => Err(absent(format!("says {number}, which cannot be"))),
            Err(_) => Err(absent(format!("says {text:?}, which is no number"))),
        }
    }

    /// Names in a directory, sorted; none where it cannot be read.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Whether something is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}
