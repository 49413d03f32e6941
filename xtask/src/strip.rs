//! Takes the debug information out of the eBPF object.
//!
//! The verifier and the loader read BTF, which the linker makes from it; DWARF itself nobody reads. It is nine tenths
//! of the object, and the one part in which the build's place shows: it names each crate by a hash of where it lay.

use anyhow::{Context as _, Result};
use object::{
    build::elf::{Builder, SectionData},
    elf,
};

/// The same object without its `.debug_*` sections, and without what only these refer to.
pub(crate) fn debug_info(object: &[u8]) -> Result<Vec<u8>> {
    let mut file = Builder::read(object).context("the linker wrote no ELF file")?;
    for section in &mut file.sections {
        let name = section.name.as_slice();
        section.delete = [".debug_", ".rel.debug_"].iter().any(|prefix| name.starts_with(prefix.as_bytes()));
    }
    file.delete_orphans();
    // LLVM keeps the names of sections and of symbols in one table; here each has its own.
    if !file.sections.iter().any(|section| matches!(section.data, SectionData::SectionString)) {
        let names = file.sections.add();
        names.name = b".shstrtab".to_vec().into();
        names.sh_type = elf::SHT_STRTAB;
        names.sh_addralign = 1;
        names.data = SectionData::SectionString;
    }
    let mut stripped = Vec::new();
    file.write(&mut stripped).context("the object could not be written again")?;
    Ok(stripped)
}

#[cfg(test)]
mod tests {
    use object::{
        Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolFlags, SymbolKind,
        SymbolScope, write,
    };

    use super::*;

    #[test]
    fn what_the_loader_reads_stays_as_it_was() {
        let mut made = write::Object::new(
            object::BinaryFormat::Elf,
            object::Architecture::Bpf,
            object::Endianness::Little,
        );
        let code = made.add_section(vec![], b"uprobe".to_vec(), SectionKind::Text);
        let program = made.append_section_data(code, &[0x95, 0, 0, 0, 0, 0, 0, 0], 8);
        made.add_symbol(write::Symbol {
            name: b"begin".to_vec(),
            value: program,
            size: 8,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: write::SymbolSection::Section(code),
            flags: SymbolFlags::None,
        });
        for name in [".BTF", ".BTF.ext", ".debug_info", ".debug_str"] {
            let section = made.add_section(vec![], name.as_bytes().to_vec(), SectionKind::Other);
            made.append_section_data(section, name.as_bytes(), 1);
        }

        let stripped = debug_info(&made.write().unwrap()).unwrap();

        let read = object::File::parse(&*stripped).unwrap();
        let names: Vec<&str> = read.sections().filter_map(|section| section.name().ok()).collect();
        assert!(!names.iter().any(|name| name.contains("debug")), "{names:?}");
        for name in [".BTF", ".BTF.ext"] {
            assert_eq!(read.section_by_name(name).unwrap().data().unwrap(), name.as_bytes());
        }
        let symbol = read.symbol_by_name("begin").unwrap();
        assert_eq!((symbol.address(), symbol.size()), (0, 8));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(debug_info(b"no ELF").is_err());
    }
}
