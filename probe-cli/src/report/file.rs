//! Files that are whole or not there: written beside their place, then renamed into it.
//!
//! As root for somebody else (sudo), files are opened with that user's rights, so that the tool writes nothing
//! where its user may not. Supplementary groups are the process's own: only the file-system user and group are
//! changed, which is what a thread can do alone.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process, thread,
};

use nix::unistd::{Gid, Uid};

use crate::error::{Error, Result};

/// Who the files belong to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    /// The user that started this process through sudo; none where the process is its user's own.
    #[must_use]
    pub fn invoking_user() -> Option<Self> {
        if !Uid::effective().is_root() {
            return None;
        }
        let id = |name: &str| std::env::var(name).ok()?.parse().ok();
        Self::of(id("SUDO_UID"), id("SUDO_GID"))
    }

    fn of(uid: Option<u32>, gid: Option<u32>) -> Option<Self> {
        // A user without a group would write with root's.
        let owner = Self { uid: uid?, gid: gid? };
        (owner.uid != 0).then_some(owner)
    }

    /// The user id.
    #[must_use]
    pub fn uid(self) -> u32 {
        self.uid
    }

    /// The group id.
    #[must_use]
    pub fn gid(self) -> u32 {
        self.gid
    }
}

/// Checks that `path` can be written, before minutes are spent on what goes into it. Leaves nothing behind.
///
/// # Errors
///
/// Those of [`write()`].
pub fn check(path: &Path) -> Result<()> {
    as_owner(|| match place(path)? {
        Place::Device => {
            OpenOptions::new().write(true).open(path).map(drop).map_err(|error| failed(path, error))
        }
        Place::File => {
            let beside = beside(path);
            drop(create(&beside).map_err(|error| failed(path, error))?);
            fs::remove_file(&beside).map_err(|error| failed(path, error))
        }
    })
}

/// Puts `content` at `path`, replacing a file that is there.
///
/// # Errors
///
/// [`Error::Write`] with what the kernel answered, and [`Error::SymbolicLink`]: links at `path` are not followed.
/// In neither case has the file at `path` changed.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    as_owner(|| match place(path)? {
        Place::Device => OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(content))
            .map_err(|error| failed(path, error)),
        Place::File => {
            let beside = beside(path);
            let put = create(&beside).and_then(|mut file| {
                file.write_all(content)?;
                // Some file systems tell that the disk is full only here.
                file.sync_all()?;
                fs::rename(&beside, path)
            });
            put.map_err(|error| {
                let _ = fs::remove_file(&beside);
                failed(path, error)
            })
        }
    })
}

enum Place {
    File,
    /// A terminal, a pipe, /dev/null: renaming over it would destroy it.
    Device,
}

fn place(path: &Path) -> Result<Place> {
    if path == Path::new("-") {
        return Err(Error::Dash);
    }
    if path.file_name().is_none() {
        return Err(failed(path, io::Error::new(io::ErrorKind::InvalidInput, "that is no name of a file")));
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Place::File),
        Err(error) => Err(failed(path, error)),
        Ok(found) if found.is_symlink() => Err(Error::SymbolicLink { path: path.to_owned() }),
        Ok(found) if found.is_dir() => Err(failed(path, io::ErrorKind::IsADirectory.into())),
        Ok(found) if found.file_type().is_char_device() || found.file_type().is_fifo() => Ok(Place::Device),
        Ok(_) => Ok(Place::File),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", process::id()));
    path.with_file_name(name)
}

fn create(path: &Path) -> io::Result<File> {
    // Exclusive, so a link that somebody planted under this name is refused, not followed.
    OpenOptions::new().write(true).create_new(true).mode(0o666).open(path)
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}

/// Runs `work` in a thread that has the invoking user's rights on files, where there is such a user.
fn as_owner(work: impl FnOnce() -> Result<()> + Send) -> Result<()> {
    let Some(owner) = Owner::invoking_user() else {
        return work();
    };
    let run = || {
        nix::unistd::setfsgid(Gid::from_raw(owner.gid));
        nix::unistd::setfsuid(Uid::from_raw(owner.uid));
        // The call tells no failure; asking again with an id that cannot be tells what is in force.
        if nix::unistd::setfsuid(Uid::from_raw(u32::MAX)).as_raw() != owner.uid {
            return Err(Error::UserRights { uid: owner.uid });
        }
        work()
    };
    // The thread ends with its rights; no other thread ever has them.
    thread::scope(|scope| scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        fs::write(&path, "old").unwrap();
        check(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "keep").unwrap();
        symlink(&target, &link).unwrap();
        assert!(matches!(write(&link, b"new"), Err(Error::SymbolicLink { .. })));
        assert_eq!(fs::read_to_string(&target).unwrap(), "keep");
    }

    #[test]
    fn a_full_device_is_told_and_stays_a_device() {
        let full = Path::new("/dev/full");
        assert!(matches!(write(full, b"x"), Err(Error::Write { .. })));
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn places_that_cannot_hold_a_file_are_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(check(folder.path()), Err(Error::Write { .. })));
        assert!(matches!(check(&folder.path().join("missing/report.json")), Err(Error::Write { .. })));
        assert!(matches!(check(Path::new("-")), Err(Error::Dash)));
        assert!(matches!(check(Path::new("")), Err(Error::Write { .. })));
        assert!(matches!(check(Path::new("/proc/report.json")), Err(Error::Write { .. })));
    }

    #[test]
    fn only_another_user_than_root_owns_files() {
        assert_eq!(Owner::of(Some(1000), Some(100)), Some(Owner { uid: 1000, gid: 100 }));
        assert_eq!(Owner::of(Some(0), Some(0)), None);
        assert_eq!(Owner::of(Some(1000), None), None);
        assert_eq!(Owner::of(None, Some(100)), None);
    }
}
