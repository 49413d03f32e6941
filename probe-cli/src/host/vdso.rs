//! What the kernel maps into every process, so that some system calls need none.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use object::{Object, ObjectSymbol};

use super::Tree;

/// Whether `getrandom` is answered without entering the kernel (6.11 and newer); an error says what was not told.
pub(crate) fn has_getrandom(tree: &Tree) -> Result<bool, String> {
    let image = image(tree)?;
    let file = object::File::parse(&*image).map_err(|error| format!("the vDSO is no ELF file: {error}"))?;
    let mut names = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
    Ok(names.any(|name| name == "__vdso_getrandom" || name == "__kernel_getrandom"))
}

fn image(tree: &Tree) -> Result<Vec<u8>, String> {
    let maps = tree.text("proc/self/maps").map_err(|absent| absent.to_string())?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]")).ok_or("this process has no vDSO")?;
    let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
    let parse = |text: &str| u64::from_str_radix(text, 16).ok();
    let (begin, end) =
        range.and_then(|(begin, end)| Some((parse(begin)?, parse(end)?))).ok_or("/proc/self/maps is odd")?;
    // A vDSO is a few pages; more is a broken file.
    let length =
        end.checked_sub(begin).filter(|&length| length <= 1 << 20).ok_or("/proc/self/maps is odd")?;
    let mut image = Vec::new();
    File::open(tree.path("proc/self/mem"))
        .and_then(|mut memory| {
            memory.seek(SeekFrom::Start(begin))?;
            memory.take(length).read_to_end(&mut image)
        })
        .map_err(|error| format!("/proc/self/mem: {error}"))?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn this_kernel_maps_an_elf_file_where_it_maps_one() {
        match has_getrandom(&Tree::system()) {
            Ok(_) => {}
            Err(why) => assert_eq!(why, "this process has no vDSO"),
        }
    }

    #[test]
    fn absurd_maps_are_told() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        for maps in ["", "x [vdso]", "2-1 r 0 [vdso]", "0-ffffffffffffffff r 0 [vdso]", "0-1 r 0 [vdso]"] {
            fs::write(root.path().join("proc/self/maps"), maps).unwrap();
            assert!(has_getrandom(&Tree::at(root.path())).is_err(), "{maps:?}");
        }
    }
}
