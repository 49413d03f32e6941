//! A symbol in the image of a library that is mapped already: no file, no section headers, nothing trusted.
//!
//! Everything goes through the program headers, which is what the kernel promises (vdso(7)). Numbers are of 64 bits and
//! little end first. What does not fit into the image is not found; nothing panics.

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;

/// Tags of the dynamic section.
const HASH: u64 = 4;
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const GNU_HASH: u64 = 0x6fff_fef5;

const PROGRAM_HEADER_BYTES: usize = 56;
const SYMBOL_BYTES: usize = 24;
const FUNCTION: u8 = 2;

/// More symbols than any vDSO has.
const MOST_SYMBOLS: usize = 1000;

/// Bytes of the whole image, from its first page.
pub(super) fn image_bytes(head: &[u8]) -> Option<usize> {
    segments(head)?.filter(|segment| segment.kind == LOAD).map(|segment| segment.end()).max()?
}

/// Where in the image the function of this name begins.
pub(super) fn function(image: &[u8], name: &[u8]) -> Option<usize> {
    // Addresses are those that the library was linked for; what lies at the first of them lies where the image begins.
    let linked_at = segments(image)?.find(|segment| segment.kind == LOAD)?.address;
    let table = |tag| usize::try_from(dynamic(image, tag)?.wrapping_sub(linked_at)).ok();
    let (symbols, strings) = (table(SYMBOLS)?, table(STRINGS)?);
    let count = table(HASH)
        .and_then(|at| count_by_hash(image, at))
        .or_else(|| count_by_gnu_hash(image, table(GNU_HASH)?))?;
    (0..count.min(MOST_SYMBOLS)).find_map(|number| {
        let at = symbols.checked_add(number * SYMBOL_BYTES)?;
        let [name_at, info, section] = [
            u64::from(u32_at(image, at)?),
            u64::from(*image.get(at + 4)?),
            u64::from(u16_at(image, at + 6)?),
        ];
        let value = u64_at(image, at + 8)?;
        let found = image.get(strings.checked_add(usize::try_from(name_at).ok()?)?..)?;
        let matches = found.strip_prefix(name)?.first() == Some(&0);
        let defined = info as u8 & 0xf == FUNCTION && section != 0;
        let place = usize::try_from(value.wrapping_sub(linked_at)).ok()?;
        (matches && defined && place < image.len()).then_some(place)
    })
}

struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

impl Segment {
    fn end(&self) -> Option<usize> {
        usize::try_from(self.offset.checked_add(self.bytes)?).ok()
    }
}

/// The program headers, if this is a library of 64 bits, little end first.
fn segments(image: &[u8]) -> Option<impl Iterator<Item = Segment>> {
    if image.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let at = usize::try_from(u64_at(image, 32)?).ok()?;
    let (size, count) = (usize::from(u16_at(image, 54)?), usize::from(u16_at(image, 56)?));
    (size == PROGRAM_HEADER_BYTES).then_some(())?;
    Some((0..count).map_while(move |number| {
        let at = at.checked_add(number * PROGRAM_HEADER_BYTES)?;
        Some(Segment {
            kind: u32_at(image, at)?,
            offset: u64_at(image, at.checked_add(8)?)?,
            address: u64_at(image, at.checked_add(16)?)?,
            bytes: u64_at(image, at.checked_add(40)?)?,
        })
    }))
}

/// The value of a tag of the dynamic section.
fn dynamic(image: &[u8], tag: u64) -> Option<u64> {
    let segment = segments(image)?.find(|segment| segment.kind == DYNAMIC)?;
    let entries = image.get(usize::try_from(segment.offset).ok()?..segment.end()?)?;
    let words = entries.as_chunks::<8>().0.as_chunks::<2>().0;
    words
        .iter()
        .find(|[found, _]| u64::from_le_bytes(*found) == tag)
        .map(|[_, value]| u64::from_le_bytes(*value))
}

/// The old table of hashes says how many symbols there are.
fn count_by_hash(image: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32_at(image, at.checked_add(4)?)?).ok()
}

/// The new one does not: the last chain ends with the last symbol.
fn count_by_gnu_hash(image: &[u8], at: usize) -> Option<usize> {
    let field = |number: usize| usize::try_from(u32_at(image, at.checked_add(4 * number)?)?).ok();
    let [buckets, first, bloom] = [field(0)?, field(1)?, field(2)?];
    let buckets_at = 4_usize.checked_add(bloom.checked_mul(2)?)?;
    let last_chain =
        (0..buckets.min(MOST_SYMBOLS)).filter_map(|bucket| field(buckets_at.checked_add(bucket)?)).max()?;
    let chains_at = buckets_at.checked_add(buckets)?;
    let ends = |symbol: &usize| {
        let hash = symbol.checked_sub(first).and_then(|chain| field(chains_at.checked_add(chain)?));
        hash.is_none_or(|hash| hash & 1 == 1)
    };
    (last_chain..last_chain.checked_add(MOST_SYMBOLS)?).find(ends)?.checked_add(1)
}

fn u16_at(image: &[u8], at: usize) -> Option<u16> {
    image.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(image: &[u8], at: usize) -> Option<u32> {
    image.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(image: &[u8], at: usize) -> Option<u64> {
    image.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// The test program itself is a library of the same kind; `getauxval` is one of its symbols, but not its own.
    fn program() -> Vec<u8> {
        std::fs::read("/proc/self/exe").expect("the program can be read")
    }

    /// A library with one segment at 0x1000, a dynamic section, and two functions of which one is of another file.
    fn library(with: u64) -> Vec<u8> {
        let mut image = Vec::new();
        let mut put = |at: usize, bytes: &[u8]| {
            image.resize(image.len().max(at + bytes.len()), 0);
            image[at..at + bytes.len()].copy_from_slice(bytes);
        };
        put(0, b"\x7fELF\x02\x01");
        put(32, &64_u64.to_le_bytes());
        put(54, &56_u16.to_le_bytes());
        put(56, &2_u16.to_le_bytes());
        for (at, kind, offset, bytes) in [(64, LOAD, 0_u64, 0x400_u64), (120, DYNAMIC, 0x100, 0x40)] {
            put(at, &kind.to_le_bytes());
            put(at + 8, &offset.to_le_bytes());
            put(at + 16, &(0x1000 + offset).to_le_bytes());
            put(at + 40, &bytes.to_le_bytes());
        }
        let hash_at = if with == HASH { 0x180_u64 } else { 0x1c0 };
        for (entry, (tag, value)) in
            [(SYMBOLS, 0x1200_u64), (STRINGS, 0x1300), (with, 0x1000 + hash_at)].into_iter().enumerate()
        {
            put(0x100 + 16 * entry, &tag.to_le_bytes());
            put(0x108 + 16 * entry, &value.to_le_bytes());
        }
        // One bucket; three symbols.
        put(0x180, &[1, 0, 0, 0, 3, 0, 0, 0]);
        // One bucket, symbols from 1 on, one word of bloom filter; the bucket begins at 1 and its chain ends with 2.
        put(0x1c0, &[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        put(0x1d8, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
        for (symbol, name, section, value) in [(1, 1_u32, 0_u16, 0_u64), (2, 7, 5, 0x1350)] {
            put(0x200 + 24 * symbol, &name.to_le_bytes());
            put(0x204 + 24 * symbol, &[0x12]);
            put(0x206 + 24 * symbol, &section.to_le_bytes());
            put(0x208 + 24 * symbol, &value.to_le_bytes());
        }
        put(0x300, b"\0there\0here\0");
        put(0x3ff, &[0]);
        image
    }

    #[test]
    fn a_function_is_found_by_either_table() {
        for table in [HASH, GNU_HASH] {
            let image = library(table);
            assert_eq!(image_bytes(&image), Some(0x400));
            assert_eq!(function(&image, b"here"), Some(0x350));
            // Of another file, only the beginning of a name, and no name at all.
            assert_eq!(
                (function(&image, b"there"), function(&image, b"her"), function(&image, b"")),
                (None, None, None)
            );
        }
    }

    #[test]
    fn what_is_no_library_has_no_functions() {
        assert_eq!((function(&[], b"here"), function(b"\x7fELF\x01\x01", b"here")), (None, None));
        assert_eq!(image_bytes(b"#!/bin/sh"), None);
        for cut in 0..=0x350 {
            let mut image = library(HASH);
            image.truncate(cut);
            assert_eq!(function(&image, b"here"), None, "{cut}");
        }
    }

    #[test]
    fn a_function_outside_the_image_is_not_found() {
        let mut image = library(HASH);
        image[0x208 + 48..][..8].copy_from_slice(&0x1400_u64.to_le_bytes());
        assert_eq!(function(&image, b"here"), None);
    }

    #[test]
    fn a_whole_program_is_looked_through() {
        let program = program();
        assert!(image_bytes(&program).is_some());
        assert_eq!(function(&program, b"no such function"), None);
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(
            table in prop::sample::select(&[HASH, GNU_HASH][..]),
            damage in prop::collection::vec((0_usize..0x400, any::<u8>()), 1..20),
        ) {
            let mut image = library(table);
            for (at, byte) in damage {
                image[at] = byte;
            }
            if let Some(place) = function(&image, b"here") {
                prop_assert!(place < image.len());
            }
        }
    }
}
