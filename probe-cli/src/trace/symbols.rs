//! The functions of the running kernel, by its own table of symbols.

use std::collections::BTreeMap;
use std::path::Path;

use super::pattern::Pattern;

/// Functions by name, with their addresses.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    functions: BTreeMap<String, Vec<u64>>,
}

impl Symbols {
    /// Reads the table below `root`, which is `/` but in tests. One that cannot be read is empty.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        Self::parse(&std::fs::read_to_string(root.join("proc/kallsyms")).unwrap_or_default())
    }

    fn parse(table: &str) -> Self {
        let mut functions: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for line in table.lines() {
            let mut fields = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            // Parts that the compiler moved away are never entered by a call.
            let moved_away = name.ends_with(".cold") || name.contains(".cold.");
            if matches!(kind, "t" | "T" | "w" | "W") && !moved_away {
                let address = u64::from_str_radix(address, 16).unwrap_or(0);
                functions.entry(name.to_owned()).or_default().push(address);
            }
        }
        Self { functions }
    }

    /// Whether there is none: the table could not be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Addresses of the functions called `name`; several where static functions share it.
    #[must_use]
    pub fn addresses(&self, name: &str) -> &[u64] {
        self.functions.get(name).map_or(&[], Vec::as_slice)
    }

    /// The functions that are meant: an exact name stands for its clones too, where the compiler left nothing else.
    #[must_use]
    pub fn matching(&self, pattern: &Pattern) -> Vec<&str> {
        if let Pattern::Exact(name) = pattern {
            if let Some((name, _)) = self.functions.get_key_value(name) {
                return vec![name];
            }
            let clones = self.functions.range(format!("{name}.")..).map(|(clone, _)| clone.as_str());
            return clones.take_while(|clone| clone.starts_with(&format!("{name}."))).collect();
        }
        // Not what the compiler and the linker add to the kernel.
        let is_function = |name: &&str| !name.starts_with("__pfx_") && !name.starts_with("__cfi_");
        self.functions
            .keys()
            .map(String::as_str)
            .filter(|name| pattern.matches(name))
            .filter(is_function)
            .collect()
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// The function that `address` lies in, with the offset.
    #[must_use]
    pub fn by_address(&self) -> Vec<(u64, &str)> {
        let mut all: Vec<(u64, &str)> = self
            .functions
            .iter()
            .flat_map(|(name, addresses)| addresses.iter().map(|address| (*address, name.as_str())))
            .collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
ffffffff81000010 T vfs_read
ffffffff81000020 t vfs_write
ffffffff81000030 t s_show
ffffffff81000040 t s_show\t[module]
ffffffff81000050 t extract_entropy.constprop.0
ffffffff81000060 t extract_entropy.isra.1
ffffffff81000070 t extract_entropy.cold
ffffffff81000080 t vfs_read.cold
ffffffff81000090 d vfs_data
ffffffff810000a0 t __pfx_vfs_read
nonsense
";

    #[test]
    fn names_patterns_and_clones_are_found() {
        let symbols = Symbols::parse(TABLE);
        let found = |text: &str| symbols.matching(&Pattern::of(text));
        assert_eq!(found("vfs_read"), ["vfs_read"]);
        assert_eq!(found("vfs_*"), ["vfs_read", "vfs_write"]);
        assert_eq!(found("extract_entropy"), ["extract_entropy.constprop.0", "extract_entropy.isra.1"]);
        assert_eq!(found("*vfs_read"), ["vfs_read"], "paddings are no functions");
        assert_eq!(found("missing"), [""; 0]);
        assert_eq!(symbols.matching(&Pattern::regex("^vfs_(read|data)$").unwrap()), ["vfs_read"]);
    }

    #[test]
    fn a_name_that_several_share_has_several_addresses() {
        let symbols = Symbols::parse(TABLE);
        assert_eq!(symbols.addresses("s_show"), [0xffff_ffff_8100_0030, 0xffff_ffff_8100_0040]);
        assert_eq!(symbols.addresses("missing"), [0; 0]);
        assert!(Symbols::read(Path::new("/nonexistent")).is_empty());
    }
}
