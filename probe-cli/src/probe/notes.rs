//! Probe sites of a program file: its `.note.stapsdt` notes, and where in the file each site is.

use std::fs;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};
use serde::{Deserialize, Serialize};

use super::program_file;
use super::refusal::{Cause, Refusal};

const NOTES_SECTION: &str = ".note.stapsdt";
const BASE_SECTION: &str = ".stapsdt.base";
const NOTE_NAME: &[u8] = b"stapsdt\0";
const NOTE_TYPE: u32 = 3;

/// A probe site.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Site {
    /// Who provides it.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Where its arguments are, in the notes' own notation.
    pub arguments: String,
    /// Virtual address of its instruction, before relocation.
    pub address: u64,
    /// Offset of its instruction in the file: what a uprobe wants.
    pub offset: u64,
    /// Whether the program passes it only while a counter in its memory is not 0.
    pub guarded: bool,
}

/// All sites of the program file at `binary`.
///
/// # Errors
///
/// It cannot be read or is no 64-bit ELF file. A file without sites has none, which is no error.
pub fn sites(binary: &Path) -> Result<Vec<Site>, Refusal> {
    let tried = || format!("reading the probe sites of {}", binary.display());
    let file = fs::read(binary)
        .map_err(|error| Refusal { cause: Cause::BadFile, ..Refusal::from_error(tried(), &error) })?;
    ElfFile64::<Endianness>::parse(&*file)
        .map_err(|error| error.to_string())
        .and_then(|elf| sites_of(&elf))
        .map_err(|error| Refusal::new(tried(), error, Cause::BadFile))
}

/// All sites of a file, or what is wrong with its notes.
pub(crate) fn sites_of(elf: &ElfFile64<'_, Endianness>) -> Result<Vec<Site>, String> {
    let Some(section) = elf.section_by_name(NOTES_SECTION) else { return Ok(Vec::new()) };
    let notes = section.data().map_err(|error| error.to_string())?;
    let base = elf.section_by_name(BASE_SECTION).map(|section| section.address());
    Ok(parse(notes, base, &program_file::segments(elf)))
}

/// An executable part of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The sites in a section of notes. Notes of other kinds, notes cut short, and sites outside the code (left
/// behind when the linker dropped their function) are passed over.
fn parse(mut notes: &[u8], base: Option<u64>, segments: &[Segment]) -> Vec<Site> {
    let mut sites = Vec::new();
    while let Some(note) = next_note(&mut notes) {
        if note.kind == NOTE_TYPE
            && note.name == NOTE_NAME
            && let Some(site) = site(note.description, base, segments)
        {
            sites.push(site);
        }
    }
    sites
}

struct Note<'a> {
    kind: u32,
    name: &'a [u8],
    description: &'a [u8],
}

fn next_note<'a>(rest: &mut &'a [u8]) -> Option<Note<'a>> {
    let name_size = take_u32(rest)? as usize;
    let description_size = take_u32(rest)? as usize;
    let kind = take_u32(rest)?;
    let name = take_padded(rest, name_size)?;
    let description = take_padded(rest, description_size)?;
    Some(Note { kind, name, description })
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*bytes))
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u64::from_le_bytes(*bytes))
}

fn take_padded<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(size)?;
    // The last note of a section need not be padded.
    let padding = size.next_multiple_of(4) - size;
    *rest = after.get(padding..).unwrap_or_default();
    Some(taken)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    Some(text)
}

fn site(mut description: &[u8], base: Option<u64>, segments: &[Segment]) -> Option<Site> {
    let rest = &mut description;
    let noted_address = take_u64(rest)?;
    let noted_base = take_u64(rest)?;
    let semaphore = take_u64(rest)?;
    let provider = take_text(rest)?;
    let name = take_text(rest)?;
    let arguments = take_text(rest)?;
    // Prelinking moves the sections and not what the notes say: the base moved with them.
    let moved_by = match base {
        Some(base) if noted_base != 0 => base.wrapping_sub(noted_base),
        _ => 0,
    };
    let address = noted_address.wrapping_add(moved_by);
    let segment = segments
        .iter()
        .find(|segment| address.checked_sub(segment.address).is_some_and(|into| into < segment.size))?;
    let offset = address - segment.address + segment.offset;
    Some(Site { provider, name, arguments, address, offset, guarded: semaphore != 0 })
}

#[cfg(test)]
mod tests {
    use probe_abi::batch::BatchKey;
    use probe_abi::site;
    use proptest::prelude::*;

    use super::*;

    fn note(address: u64, base: u64, name: &str) -> Vec<u8> {
        let mut description = Vec::new();
        for word in [address, base, 0] {
            description.extend(u64::to_le_bytes(word));
        }
        for text in ["hotpath", name, "8@%rdi"] {
            description.extend(text.as_bytes());
            description.push(0);
        }
        let mut note = Vec::new();
        for word in [NOTE_NAME.len() as u32, description.len() as u32, NOTE_TYPE] {
            note.extend(word.to_le_bytes());
        }
        note.extend(NOTE_NAME);
        note.extend(description);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    const CODE: Segment = Segment { address: 0x3000, offset: 0x1000, size: 0x800 };

    #[test]
    fn an_address_becomes_the_offset_in_its_segment() {
        let mut notes = note(0x3010, 0x9000, "first");
        notes.extend(note(0x37ff, 0x9000, "last"));
        let sites = parse(&notes, Some(0x9000), &[CODE]);
        let found: Vec<_> = sites.iter().map(|site| (&*site.name, site.address, site.offset)).collect();
        assert_eq!(found, [("first", 0x3010, 0x1010), ("last", 0x37ff, 0x17ff)]);
        assert_eq!(sites[0].arguments, "8@%rdi");
    }

    #[test]
    fn a_moved_base_moves_the_site() {
        assert_eq!(parse(&note(0x2010, 0x8000, "x"), Some(0x9000), &[CODE])[0].offset, 0x1010);
        assert_eq!(parse(&note(0x3010, 0x8000, "x"), None, &[CODE])[0].offset, 0x1010);
        assert_eq!(parse(&note(0x3010, 0, "x"), Some(0x9000), &[CODE])[0].offset, 0x1010);
    }

    #[test]
    fn a_site_whose_function_was_dropped_is_none() {
        let mut notes = note(0, 0x9000, "dropped");
        notes.extend(note(0x3800, 0x9000, "behind the end"));
        notes.extend(note(0x3010, 0x9000, "kept"));
        let sites = parse(&notes, Some(0x9000), &[CODE]);
        assert_eq!(sites.len(), 1);
        assert_eq!(sites[0].name, "kept");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0_usize..400) {
            parse(&bytes, Some(1), &[CODE]);
            let mut notes = note(0x3010, 0, "first");
            notes.extend(bytes);
            notes.truncate(cut);
            parse(&notes, None, &[CODE]);
        }
    }

    /// perf takes the address in a note for an offset in the file, and so plants its breakpoint elsewhere when
    /// the linker makes them differ.
    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn this_program_has_each_marker_once_at_its_own_address() {
        let key = BatchKey::from_raw(0);
        site::begin(key);
        site::end(key);
        let sites = sites(Path::new("/proc/self/exe")).unwrap();
        for name in [site::BATCH_BEGIN, site::BATCH_END] {
            let own: Vec<_> =
                sites.iter().filter(|site| site.provider == site::PROVIDER && site.name == name).collect();
            assert_eq!(own.len(), 1, "{name}");
            assert_eq!(own[0].address, own[0].offset, "{name}");
            assert_eq!(own[0].address % 8, 0, "{name}");
            assert_eq!(own[0].arguments, "8@%rdi");
        }
        for site in &sites {
            assert_eq!(site.address, site.offset, "{}:{}", site.provider, site.name);
        }
    }
}
