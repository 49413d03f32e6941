//! Reads a mapped file that somebody truncates meanwhile: a short read with a reason, and no SIGBUS.
//!
//! `cargo run --release --features fault --example truncated_file`

use std::io::Write;

use copy_engine::fault::{self, Account, Cause, Rest, Session, Untrusted};
use memmap2::{MmapOptions, MmapRaw};

/// A file of others, mapped: never a slice, since it may change or end at any moment.
struct Mapped(MmapRaw);

impl Mapped {
    /// Copies from `offset` on as much as there is.
    fn read_at(&self, session: &Session, offset: usize, into: &mut [u8]) -> Option<Account> {
        #[allow(unsafe_code, reason = "memory at risk is what this is about")]
        // SAFETY: mapped as long as `self`, ordinary file pages, and no reference to them is ever made.
        let whole = unsafe { Untrusted::new(self.0.as_ptr(), self.0.len()) }?;
        let part = whole.slice(offset..offset.checked_add(into.len())?)?;
        Some(session.read(into, part, Rest::Zero))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = match fault::install() {
        Ok(door) => door.session(),
        Err(error) => {
            eprintln!("{error}; going on without");
            Session::without_handler()
        }
    };
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(&[7; 5 * 4096])?;
    let mapped = Mapped(MmapOptions::new().map_raw(file.as_file())?);

    let mut buffer = vec![0xff; 3 * 4096];
    let account = mapped.read_at(&session, 4096, &mut buffer).expect("inside the mapping");
    println!("before: {} of {} bytes, {:?}", account.copied(), account.asked, account.way);
    assert!(account.is_complete());

    file.as_file().set_len(2 * 4096 + 100)?;
    let account = mapped.read_at(&session, 4096, &mut buffer).expect("inside the mapping");
    let fault = account.fault.expect("the file ends before the range does");
    println!("after:  {} of {} bytes; {fault}", account.copied(), account.asked);
    assert_eq!(account.copied(), 2 * 4096, "the page in which the file ends is there to its end");
    assert!(matches!(fault.cause, Cause::BeyondEndOfFile | Cause::Unknown));
    assert!(buffer[2 * 4096..].iter().all(|&byte| byte == 0), "no stale byte is taken for data");
    Ok(())
}
