//! The crate `csv`, unmodified, reads a mapped file and outlives its truncation: it asks for bytes by `Read`, and gets
//! them through the copy that survives faults.
//!
//! `cargo run --release --features fault --example mapped_csv` shows both ends. With a file and a way it is a program to
//! be timed whole: `mapped_csv big.csv mapped`, `surviving` or `read`; `mapped_csv big.csv make 2000000` writes one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, exit};

use copy_engine::fault::{self, Cause, Rest, Session, Untrusted};
use memmap2::{Mmap, MmapOptions, MmapRaw};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A file of others, mapped, as something to read from.
struct Surviving {
    map: MmapRaw,
    at: usize,
    session: Session,
}

impl Surviving {
    fn open(path: &Path) -> io::Result<Self> {
        let map = MmapOptions::new().map_raw_read_only(&File::open(path)?)?;
        let session = fault::install().map_or_else(|_| Session::without_handler(), |door| door.session());
        Ok(Self { map, at: 0, session })
    }
}

impl Read for Surviving {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        #[allow(unsafe_code, reason = "memory at risk is what this is about")]
        // SAFETY: mapped as long as `self`, ordinary file pages, and no reference to them is ever made.
        let whole = unsafe { Untrusted::new(self.map.as_ptr(), self.map.len()) };
        let whole = whole.ok_or(io::ErrorKind::InvalidInput)?;
        let end = self.map.len().min(self.at + into.len());
        let part = whole.slice(self.at..end).ok_or(io::ErrorKind::InvalidInput)?;
        let account = self.session.read(&mut into[..end - self.at], part, Rest::Leave);
        self.at += account.copied();
        match account.fault {
            // What is there comes first; the next call starts at the fault and says it.
            Some(fault) if account.copied() == 0 => Err(match fault.cause {
                Cause::BeyondEndOfFile => io::Error::new(io::ErrorKind::UnexpectedEof, fault.to_string()),
                _ => io::Error::other(fault.to_string()),
            }),
            _ => Ok(account.copied()),
        }
    }
}

/// Rows and the sum of their second column, by the crate that knows nothing of all this.
fn parse(from: impl Read) -> (u64, u64, Result<(), csv::Error>) {
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(64 << 10).from_reader(from);
    let (mut rows, mut sum, mut record) = (0, 0, csv::ByteRecord::new());
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return (rows, sum, Ok(())),
            Err(error) => return (rows, sum, Err(error)),
        }
        rows += 1;
        let digits = record.get(1).unwrap_or_default();
        sum += digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    }
}

fn parse_by(way: &str, path: &Path) -> Outcome<(u64, u64, Result<(), csv::Error>)> {
    Ok(match way {
        "surviving" => parse(Surviving::open(path)?),
        "read" => parse(File::open(path)?),
        "mapped" => {
            #[allow(unsafe_code, reason = "what this example is held against")]
            // SAFETY: none: whoever truncates the file ends this process, which is the point.
            let map = unsafe { Mmap::map(&File::open(path)?)? };
            parse(&map[..])
        }
        other => return Err(format!("no way {other}; there are mapped, surviving and read").into()),
    })
}

fn make(path: &Path, rows: u64) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "name,number,words")?;
    (0..rows).try_for_each(|row| writeln!(out, "row-{row},{row},some words that are \"not\" looked at"))?;
    out.flush()
}

/// Truncates the file after the first rows have been read by `way`, and goes on.
fn parse_while_truncated(way: &str, path: &Path) -> Outcome<(u64, csv::Error)> {
    struct Truncating<R>(R, u64, std::path::PathBuf);
    impl<R: Read> Read for Truncating<R> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1 == 3 {
                File::options().write(true).open(&self.2)?.set_len(150_000)?;
            }
            self.0.read(into)
        }
    }
    let (rows, _, end) = match way {
        "surviving" => parse(Truncating(Surviving::open(path)?, 0, path.to_owned())),
        _ => {
            #[allow(unsafe_code, reason = "what this example is held against")]
            // SAFETY: none, as above: this runs in a process that is meant to die of it.
            let map = unsafe { Mmap::map(&File::open(path)?)? };
            parse(Truncating(&map[..], 0, path.to_owned()))
        }
    };
    Ok((rows, end.err().ok_or("the end of a truncated file was taken for the end of the data")?))
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [path, "make", rows] => return Ok(make(Path::new(path), rows.parse()?)?),
        [path, "truncated", way] => {
            let (rows, error) = parse_while_truncated(way, Path::new(path))?;
            println!("{way}: {rows} rows, then: {error}");
            return Ok(());
        }
        [path, way] => {
            let (rows, sum, end) = parse_by(way, Path::new(path))?;
            end?;
            println!("{rows} rows, sum {sum}");
            return Ok(());
        }
        [] => {}
        _ => {
            eprintln!("usage: mapped_csv [FILE mapped|surviving|read | FILE make ROWS | FILE truncated WAY]");
            exit(2);
        }
    }

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.csv");
    make(&path, 20_000)?;
    for way in ["mapped", "surviving", "read"] {
        let (rows, sum, end) = parse_by(way, &path)?;
        end?;
        assert_eq!((rows, sum), (20_000, 19_999 * 20_000 / 2), "{way}");
    }
    for way in ["surviving", "mapped"] {
        make(&path, 20_000)?;
        let status = Command::new(std::env::current_exe()?).arg(&path).args(["truncated", way]).status()?;
        match status.signal() {
            Some(signal) => println!("{way}: ended by signal {signal}"),
            None => assert!(status.success(), "{status}"),
        }
    }
    Ok(())
}
