//! A log writer: small records into a mapped segment, published by a flag that readers poll.
//!
//! Records are small and a follower reads them at once, so the automatic policy keeps them in the cache, without a fence.
//! Old segments are copied to the archive, where nobody will read them soon: there the hint says so.
//! `cargo run --release --example log_writer`

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};

use copy_engine::{Engine, NextUse, Tally};
use memmap2::MmapMut;

const SEGMENT: usize = 1 << 20;

struct Segment {
    engine: Engine,
    bytes: MmapMut,
    /// What is published: a follower that loads it with acquire may read that far.
    end: AtomicUsize,
    tally: Tally,
}

impl Segment {
    fn new(file: &std::fs::File) -> std::io::Result<Self> {
        file.set_len(SEGMENT as u64)?;
        #[allow(unsafe_code, reason = "memmap2 asks its caller")]
        // SAFETY: the file is this program's own and unlinked; nobody else truncates or writes it.
        let bytes = unsafe { MmapMut::map_mut(file)? };
        Ok(Self { engine: Engine::detect(), bytes, end: AtomicUsize::new(0), tally: Tally::default() })
    }

    /// Appends a record with its length before it; `false` if the segment is full.
    fn append(&mut self, record: &[u8]) -> bool {
        let start = *self.end.get_mut();
        let Some(room) = self.bytes.get_mut(start..start + 4 + record.len()) else { return false };
        let (length, body) = room.split_at_mut(4);
        length.copy_from_slice(&(record.len() as u32).to_le_bytes());
        self.tally += self.engine.copy(body, record, NextUse::ReadSoon);
        // The copy is fenced where it streamed, so that a plain release is enough to publish it.
        self.end.store(start + 4 + record.len(), Ordering::Release);
        true
    }

    /// Copies what is published to an archive that is not read soon.
    fn archive(&mut self, archive: &mut [u8]) -> usize {
        let end = *self.end.get_mut();
        self.tally += self.engine.copy(&mut archive[..end], &self.bytes[..end], NextUse::NotRead);
        end
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = tempfile::tempfile()?;
    let mut segment = Segment::new(&file)?;
    let record = |number: u32| format!("record {number:>8}: {}", "x".repeat(200));
    let mut written = 0;
    while segment.append(record(written).as_bytes()) {
        written += 1;
    }
    let small = segment.tally;
    assert_eq!((small.streamed, small.fences), (0, 0), "records stay in the cache");

    let mut archive = vec![0; SEGMENT];
    let end = segment.archive(&mut archive);
    let mut from_file = vec![0; end];
    file.read_exact(&mut from_file)?;
    assert!(archive[..end] == from_file, "the archive, the mapping and the file agree");
    println!(
        "{written} records, {} bytes through the cache without a fence; archived {} bytes around it with {} fence(s)",
        small.cached, segment.tally.streamed, segment.tally.fences
    );
    Ok(())
}
