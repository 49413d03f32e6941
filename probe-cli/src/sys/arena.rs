//! Page-aligned memory of known page size or of a file, every page of it present.

#![allow(unsafe_code, reason = "a file of nobody else is mapped")]

use std::fs::{self, File};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;

use memmap2::{Advice, MmapMut};
use nix::fcntl::{OFlag, open};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::stat::Mode;

/// Which pages an arena asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pages {
    /// Base pages, also where the system would give huge ones by itself.
    Base,
    /// Transparent huge pages, if the kernel has them to give.
    Huge,
}

/// Where a file without a name lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Home {
    /// In the kernel's own tmpfs.
    Memory,
    /// In the folder for temporary files that outlive a reboot, whatever file system that has.
    Disk,
}

impl Home {
    const ON_DISK: &str = "/var/tmp";

    /// A file of `len` zeros that nobody else can open, and that goes with its last user.
    ///
    /// # Errors
    ///
    /// What the kernel answered.
    pub fn file(self, len: usize) -> io::Result<File> {
        let file = File::from(match self {
            Self::Memory => memfd_create(c"blocks", MFdFlags::MFD_CLOEXEC)?,
            Self::Disk => open(
                Path::new(Self::ON_DISK),
                OFlag::O_TMPFILE | OFlag::O_RDWR | OFlag::O_CLOEXEC,
                Mode::S_IRUSR | Mode::S_IWUSR,
            )?,
        });
        file.set_len(len as u64)?;
        Ok(file)
    }
}

/// Bytes of private memory, zeroed, all pages present: no timed part pays for a page fault.
#[derive(Debug)]
pub struct Arena(MmapMut);

impl Arena {
    /// `len` bytes. A kernel without huge pages gives base pages; [`huge_page_bytes`] tells.
    ///
    /// # Errors
    ///
    /// What the kernel answered when asked for the memory.
    pub fn new(len: usize, pages: Pages) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(len.max(1))?;
        let advice = match pages {
            Pages::Base => Advice::NoHugePage,
            Pages::Huge => Advice::HugePage,
        };
        // Refused where the kernel is built without huge pages, and then all pages are base pages.
        let _ = map.advise(advice);
        // The smallest page there is: a larger one is touched more than once, which does no harm.
        map.iter_mut().step_by(4096).for_each(|byte| *byte = 0);
        Ok(Self(map))
    }

    /// A whole file, mapped so that what is written goes to it, and the file, for those who write by system call.
    ///
    /// # Errors
    ///
    /// What the kernel answered when asked for the file or the mapping.
    pub fn of_file(len: usize, home: Home) -> io::Result<(Self, File)> {
        let file = home.file(len.max(1))?;
        // SAFETY: the file has no name and was made here, so that nobody truncates it; who gets it beside the mapping
        // writes by system calls of the thread that owns the mapping, while no reference into it is in use.
        let mut map = unsafe { MmapMut::map_mut(&file)? };
        map.iter_mut().step_by(4096).for_each(|byte| *byte = 0);
        Ok((Self(map), file))
    }
}

impl Deref for Arena {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Arena {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Anonymous memory of this process that huge pages hold, in bytes; `None` where the kernel does not tell.
#[must_use]
pub fn huge_page_bytes() -> Option<u64> {
    anonymous_huge(&fs::read_to_string("/proc/self/smaps_rollup").ok()?)
}

fn anonymous_huge(rollup: &str) -> Option<u64> {
    let line = rollup.lines().find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arena_is_zeroed_aligned_and_writable() {
        for pages in [Pages::Base, Pages::Huge] {
            let mut arena = Arena::new(10_000, pages).unwrap();
            assert_eq!((arena.len(), arena.as_ptr() as usize % 4096), (10_000, 0));
            assert!(arena.iter().all(|&byte| byte == 0));
            arena[9_999] = 7;
            assert_eq!(arena[9_999], 7);
        }
    }

    #[test]
    fn a_mapped_file_and_its_calls_see_the_same_bytes() {
        use std::os::unix::fs::FileExt as _;
        for home in [Home::Memory, Home::Disk] {
            let (mut arena, file) = Arena::of_file(10_000, home).unwrap();
            file.write_all_at(&[7; 3], 5000).unwrap();
            assert_eq!(arena[4999..5004], [0, 7, 7, 7, 0]);
            arena[9_999] = 9;
            let mut last = [0];
            file.read_exact_at(&mut last, 9_999).unwrap();
            assert_eq!(last, [9]);
        }
    }

    #[test]
    fn the_line_of_the_kernel_is_read() {
        let rollup = "Rss:  900 kB\nAnonHugePages:      4096 kB\nShmemPmdMapped: 0 kB\n";
        assert_eq!(anonymous_huge(rollup), Some(4 << 20));
        assert_eq!(anonymous_huge("Rss: 900 kB\n"), None);
        assert_eq!(anonymous_huge("AnonHugePages: many kB\n"), None);
    }
}
