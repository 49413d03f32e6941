//! Writes the archive that a kernel unpacks as its first file system (cpio, the `newc` form).

use std::io::{self, Write};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive being written; `finish` closes it.
#[derive(Debug)]
pub(crate) struct Archive<W> {
    out: W,
    inode: u32,
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, inode: 0 }
    }

    /// A folder. Its parents have to be added before it.
    pub(crate) fn folder(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY, (0, 0), &[])
    }

    /// A file that can be executed.
    pub(crate) fn program(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        self.entry(path, PROGRAM, (0, 0), content)
    }

    /// A character device, by major and minor number.
    pub(crate) fn device(&mut self, path: &str, number: (u32, u32)) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE, number, &[])
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.inode = 0;
        self.record("TRAILER!!!", 0, 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Names are relative to the root of the archive.
    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) -> io::Result<()> {
        self.inode += 1;
        self.record(path.trim_start_matches('/'), self.inode, mode, device, content)
    }

    fn record(
        &mut self,
        name: &str,
        inode: u32,
        mode: u32,
        device: (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        let size = u32::try_from(content.len()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "a file of 4 GiB or more does not fit")
        })?;
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let (user, group, links, modified, archive_device, checksum) = (0, 0, 1, 0, (0, 0), 0);
        self.out.write_all(b"070701")?;
        for field in [
            inode,
            mode,
            user,
            group,
            links,
            modified,
            size,
            archive_device.0,
            archive_device.1,
            device.0,
            device.1,
            name_size,
            checksum,
        ] {
            write!(self.out, "{field:08x}")?;
        }
        const HEADER: usize = 6 + 13 * 8;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(b"\0")?;
        self.pad(HEADER + name.len() + 1)?;
        self.out.write_all(content)?;
        self.pad(content.len())
    }

    /// Header with name, and content, each end on a multiple of four.
    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.out.write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn sample() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.folder("/dev").unwrap();
        archive.device("/dev/console", (5, 1)).unwrap();
        archive.program("/init", b"hello").unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn an_archive_of_one_file_is_these_bytes() {
        let mut archive = Archive::new(Vec::new());
        archive.program("/init", b"hello").unwrap();
        let header = |inode, mode, size, name: u32| {
            format!(
                "070701{inode:08X}{mode:08X}{zero}{zero}{one}{zero}{size:08X}{zero}{zero}{zero}{zero}{name:08X}{zero}",
                zero = "00000000",
                one = "00000001"
            )
            .to_ascii_lowercase()
        };
        let mut expected = header(1, 0o100_755, 5, 5) + "init\0" + "\0" + "hello" + "\0\0\0";
        assert_eq!(expected.len(), 110 + 5 + 1 + 5 + 3);
        expected += &(header(0, 0, 0, 11) + "TRAILER!!!\0" + "\0\0\0");
        assert_eq!(String::from_utf8(archive.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn every_part_begins_on_a_multiple_of_four() {
        for name in ["a", "ab", "abc", "abcd"] {
            for size in 0..9 {
                let mut archive = Archive::new(Vec::new());
                archive.program(name, &vec![b'x'; size]).unwrap();
                let bytes = archive.finish().unwrap();
                assert_eq!(bytes.len() % 4, 0);
                let trailer = bytes.len() - (110 + 11 + 3);
                assert_eq!(&bytes[trailer..trailer + 6], b"070701", "{name} of {size}");
            }
        }
    }

    #[test]
    fn cpio_lists_what_was_written() {
        use std::io::Write as _;

        let Ok(mut cpio) = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            eprintln!("skipped: there is no cpio here to read the archive with");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&sample()).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert!(output.status.success());
        let listing = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<Vec<&str>> = listing.lines().map(|row| row.split_whitespace().collect()).collect();
        let seen: Vec<_> = rows.iter().map(|row| (row[0], *row.last().unwrap())).collect();
        assert_eq!(seen, [("drwxr-xr-x", "dev"), ("crw-------", "dev/console"), ("-rwxr-xr-x", "init")]);
        assert!(listing.contains("5,"), "{listing}");
    }
}
