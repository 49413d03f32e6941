//! Saved reports, read with distrust: files of any size and any content end in a report or in an error.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use serde::{Deserialize, de::DeserializeOwned};

use super::model::{Report, SCHEMA};
use crate::{
    error::{Error, Result},
    trace::document::{SCHEMA as SESSION, Session},
};

/// The largest file that is read, in bytes: a full run of every experiment takes a hundredth of it.
pub const LARGEST: u64 = 256 << 20;

/// What this tool saves.
#[derive(Clone, Debug)]
pub enum Saved {
    /// What `run --json` wrote.
    Report(Box<Report>),
    /// What `trace --save` wrote.
    Session(Box<Session>),
}

/// The report or session that `path` holds.
///
/// # Errors
///
/// [`Error::Read`], [`Error::TooLarge`], [`Error::OtherSchema`] for what another version or another program wrote, and
/// [`Error::NotAReport`] with line and column where it stops being one.
pub fn saved(path: &Path) -> Result<Saved> {
    let content = bounded(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let content = content.ok_or_else(|| Error::TooLarge { path: path.to_owned(), most: LARGEST })?;
    match schema(&content).as_deref() {
        Some(SESSION) => parsed(path, &content).map(|session| Saved::Session(Box::new(session))),
        Some(other) if other != SCHEMA => {
            Err(Error::OtherSchema { path: path.to_owned(), schema: other.to_owned() })
        }
        _ => parsed(path, &content).map(|report| Saved::Report(Box::new(report))),
    }
}

fn parsed<T: DeserializeOwned>(path: &Path, content: &[u8]) -> Result<T> {
    serde_json::from_slice(content).map_err(|source| Error::NotAReport { path: path.to_owned(), source })
}

/// What the file says it is; none where it is no JSON, or says nothing.
fn schema(content: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    serde_json::from_slice::<Named>(content).ok().map(|named| named.schema)
}

/// The whole file; none where it has more than [`LARGEST`] bytes. Devices and pipes tell no size beforehand.
fn bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    if file.metadata()?.len() > LARGEST {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut content)?;
    Ok((content.len() as u64 <= LARGEST).then_some(content))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::chain;

    fn error(content: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let error = chain(&saved(file.path()).unwrap_err());
        error.replace(&file.path().display().to_string(), "FILE")
    }

    #[test]
    fn every_other_file_is_told_apart() {
        for (content, words) in [
            (&b""[..], "EOF while parsing a value at line 1 column 0"),
            (
                b"{\"schema\": \"probe-report/1\", \"host\": {",
                "EOF while parsing an object at line 1 column 38",
            ),
            (b"{\"schema\": \"probe-report/2\"}", "`probe-report/2`"),
            (b"{\"schema\": \"probe-session/1\", \"targets\": []}", "missing field `host`"),
            (b"{\"schema\": \"probe-doctor/1\"}", "`probe-doctor/1`"),
            (b"{\"schema\": \"probe-report/1\"}", "missing field `host`"),
            (b"[1, 2]", "line 1"),
            (b"\xff\xfe\x00", "line 1 column 1"),
        ] {
            let found = error(content);
            assert!(found.contains(words), "{found}");
        }
    }

    #[test]
    fn nesting_without_end_does_not_end_the_stack() {
        // Where a field is known, the first bracket is one too many; an unknown one is skipped to its end.
        for (field, words) in [("schema", "invalid type: sequence"), ("unknown", "EOF while parsing a list")]
        {
            let found = error(&[format!("{{\"{field}\":").as_bytes(), &[b'['; 1_000_000]].concat());
            assert!(found.contains(words), "{found}");
        }
    }

    #[test]
    fn files_without_end_are_not_read_to_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // Sparse: it takes no room.
        file.as_file().set_len(LARGEST + 1).unwrap();
        assert!(matches!(saved(file.path()), Err(Error::TooLarge { .. })));
        assert!(matches!(saved(Path::new("/dev/zero")), Err(Error::TooLarge { .. })));
    }
}
