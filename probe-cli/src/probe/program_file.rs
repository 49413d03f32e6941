//! What a program file says about itself: its functions, its probe sites, and what speaks against probing it.
//!
//! The file may be anybody's, and is read by a process without privileges: see
//! [`crate::trace::inspect`].

use std::collections::BTreeMap;

use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, elf};
use serde::{Deserialize, Serialize};

use super::notes::{self, Segment, Site};

/// A function, by the names it has.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct FileFunction {
    /// Its symbol, as people write it: for Rust the path without its hash.
    pub name: String,
    /// Other symbols at the same place: aliases, or functions that the linker found to be equal.
    pub also: Vec<String>,
    /// Offset of its first instruction in the file.
    pub offset: u64,
    /// What is called is chosen when the program is loaded, and this symbol only chooses.
    pub chooses: bool,
}

/// Everything that is asked of a file.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct ProgramFile {
    /// Functions that matched.
    pub functions: Vec<FileFunction>,
    /// Sites that matched.
    pub sites: Vec<Site>,
    /// Names that are near to what matched nothing.
    pub near: Vec<String>,
    /// It was written in Go, whose stacks a return probe corrupts.
    pub is_go: bool,
    /// Whether it has a table of symbols at all.
    pub has_symbols: bool,
    /// Name of the function at each offset that was asked for, and how far into it.
    #[serde(default)]
    pub names: Vec<Option<String>>,
    /// The executable parts: address, offset, size.
    pub code: Vec<(u64, u64, u64)>,
}

impl ProgramFile {
    /// Whether `offset` lies in code.
    #[must_use]
    pub fn is_code(&self, offset: u64) -> bool {
        self.code.iter().any(|(_, start, size)| offset >= *start && offset - start < *size)
    }
}

/// Reads the file `bytes`, keeping what `wanted` says: called with the symbol as it stands in the file, and as people
/// write it. Also names the functions at `offsets`.
///
/// # Errors
///
/// It is no 64-bit ELF file; in words.
pub fn read(
    bytes: &[u8],
    wanted: impl Fn(&str, &str) -> bool,
    offsets: &[u64],
) -> Result<ProgramFile, String> {
    let elf = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
    let code = segments(&elf);
    let offset_of = |address: u64| {
        code.iter().find_map(|segment| {
            let into = address.checked_sub(segment.address)?;
            (into < segment.size).then(|| into + segment.offset)
        })
    };
    let mut functions: BTreeMap<u64, FileFunction> = BTreeMap::new();
    let mut all = Vec::new();
    // Offset and size of every function, for naming.
    let mut extents: Vec<(u64, u64, &str)> = Vec::new();
    let mut has_symbols = false;
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        has_symbols = true;
        let kind = symbol.elf_symbol().st_type();
        if !matches!(kind, elf::STT_FUNC | elf::STT_GNU_IFUNC) || symbol.address() == 0 {
            continue;
        }
        let (Ok(raw), Some(offset)) = (symbol.name(), offset_of(symbol.address())) else { continue };
        if !offsets.is_empty() {
            extents.push((offset, symbol.size(), raw));
        }
        // Versions of symbols: memcpy@@GLIBC_2.14.
        let raw = raw.split('@').next().unwrap_or(raw);
        let name = plain(raw);
        if !wanted(raw, &name) {
            all.push(name);
            continue;
        }
        let chooses = kind == elf::STT_GNU_IFUNC;
        let found = functions.entry(offset).or_insert_with(|| FileFunction {
            name: name.clone(),
            also: Vec::new(),
            offset,
            chooses,
        });
        found.chooses |= chooses;
        if found.name != name && !found.also.contains(&name) {
            found.also.push(name);
        }
    }
    extents.sort_unstable();
    let name_at = |offset: &u64| {
        let after = extents.partition_point(|(start, ..)| start <= offset);
        let (start, size, raw) = *extents.get(after.checked_sub(1)?)?;
        (offset - start < size.max(1)).then(|| format!("{}+{:#x}", plain(raw), offset - start))
    };
    let names = offsets.iter().map(name_at).collect();
    all.sort();
    all.dedup();
    Ok(ProgramFile {
        functions: functions.into_values().collect(),
        sites: notes::sites_of(&elf)?,
        near: all,
        is_go: elf.section_by_name(".go.buildinfo").is_some() || elf.section_by_name(".gopclntab").is_some(),
        has_symbols,
        names,
        code: code.iter().map(|segment| (segment.address, segment.offset, segment.size)).collect(),
    })
}

/// A symbol as people write it: the path of a Rust function without its hash, anything else as it stands.
#[must_use]
pub fn plain(symbol: &str) -> String {
    match rustc_demangle::try_demangle(symbol) {
        Ok(path) => format!("{path:#}"),
        Err(_) => symbol.to_owned(),
    }
}

/// The executable segments.
pub(crate) fn segments(elf: &ElfFile64<'_, Endianness>) -> Vec<Segment> {
    let endian = elf.endian();
    elf.elf_program_headers()
        .iter()
        .filter(|header| header.p_type(endian) == elf::PT_LOAD && header.p_flags(endian).0 & elf::PF_X.0 != 0)
        .map(|header| Segment {
            address: header.p_vaddr(endian),
            offset: header.p_offset(endian),
            size: header.p_filesz(endian),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<u8> {
        std::fs::read("/proc/self/exe").unwrap()
    }

    #[inline(never)]
    fn found_by_its_path() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn both_manglings_are_paths_without_hashes() {
        assert_eq!(plain("_ZN11copy_engine4copy17h0123456789abcdefE"), "copy_engine::copy");
        assert_eq!(plain("_RNvCs1234_11copy_engine4copy"), "copy_engine::copy");
        assert_eq!(plain("memcpy"), "memcpy");
        assert_eq!(plain("_ZN3foo3barEv"), "_ZN3foo3barEv");
    }

    #[test]
    fn a_function_of_this_program_is_found_where_it_is() {
        found_by_its_path();
        let path = concat!(module_path!(), "::found_by_its_path");
        let file = read(&own(), |_, name| name == path, &[]).unwrap();
        assert_eq!(file.functions.len(), 1, "{:?}", file.functions);
        let here = super::super::user_function::file_offset(found_by_its_path as fn() -> u32 as usize);
        assert_eq!(file.functions[0].offset, here.unwrap());
        assert!(file.is_code(file.functions[0].offset) && !file.is_code(0));
        let inside = file.functions[0].offset + 1;
        let named = read(&own(), |_, _| false, &[inside, 0]).unwrap().names;
        assert_eq!(named, [Some(format!("{path}+0x1")), None]);
        assert!(!file.is_go && file.has_symbols);
        assert!(file.sites.iter().any(|site| site.name == "batch_begin"));
    }

    #[test]
    fn what_is_no_program_is_told() {
        assert!(read(b"#!/bin/sh\n", |_, _| true, &[]).is_err());
        assert!(read(&[], |_, _| true, &[]).is_err());
        let mut cut = own();
        cut.truncate(100);
        assert!(read(&cut, |_, _| true, &[]).is_err());
    }
}
