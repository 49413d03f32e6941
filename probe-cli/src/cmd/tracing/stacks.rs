//! Names for the return addresses of slow calls.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use crate::trace::inspect::Query;
use crate::trace::program;
use crate::trace::symbols::Symbols;

/// What addresses are looked up in; what processes have mapped is remembered, since they may end.
pub(super) struct Stacks {
    kernel: Vec<(u64, String)>,
    processes: HashMap<u32, Vec<Mapping>>,
    named: HashMap<(PathBuf, u64), Option<String>>,
}

/// A file that a process has mapped as code.
struct Mapping {
    low: u64,
    high: u64,
    offset: u64,
    path: String,
}

/// Further than this behind the beginning of the last function an address is in none.
const LONGEST_FUNCTION: u64 = 1 << 20;

impl Stacks {
    pub(super) fn new(symbols: &Symbols) -> Self {
        let kernel = symbols.by_address().into_iter().map(|(address, name)| (address, name.to_owned()));
        Self { kernel: kernel.collect(), processes: HashMap::new(), named: HashMap::new() }
    }

    /// Names of kernel addresses, innermost first.
    pub(super) fn kernel(&self, stack: &[u64]) -> Vec<String> {
        stack.iter().take_while(|address| **address != 0).map(|address| self.kernel_frame(*address)).collect()
    }

    fn kernel_frame(&self, address: u64) -> String {
        let after = self.kernel.partition_point(|(start, _)| *start <= address);
        match after.checked_sub(1).and_then(|at| self.kernel.get(at)) {
            Some((start, name)) if *start != 0 && address - start < LONGEST_FUNCTION => {
                format!("{name}+{:#x}", address - start)
            }
            _ => format!("{address:#x}"),
        }
    }

    /// Names of addresses in a process, innermost first.
    pub(super) fn user(&mut self, process: u32, stack: &[u64]) -> Vec<String> {
        let addresses: Vec<u64> = stack.iter().copied().take_while(|address| *address != 0).collect();
        self.remember(process);
        let places: Vec<Option<(PathBuf, u64)>> =
            addresses.iter().map(|address| self.place(process, *address)).collect();
        self.name(process, places.iter().flatten());
        let told = |(address, place): (&u64, &Option<(PathBuf, u64)>)| match place {
            None => format!("{address:#x}"),
            Some((path, offset)) => {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                match self.named.get(&(path.clone(), *offset)).cloned().flatten() {
                    Some(name) => format!("{name} ({file})"),
                    None => format!("{file}+{offset:#x}"),
                }
            }
        };
        addresses.iter().zip(&places).map(told).collect()
    }

    fn remember(&mut self, process: u32) {
        // A process may have mapped more since; one that has ended keeps what it had.
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        let mappings: Vec<Mapping> = maps.lines().filter_map(mapping).collect();
        if !mappings.is_empty() {
            self.processes.insert(process, mappings);
        }
    }

    fn place(&self, process: u32, address: u64) -> Option<(PathBuf, u64)> {
        let mappings = self.processes.get(&process)?;
        let found = mappings.iter().find(|mapping| (mapping.low..mapping.high).contains(&address))?;
        Some((PathBuf::from(&found.path), address - found.low + found.offset))
    }

    /// Asks each file once for all of its places that have no name yet.
    fn name<'a>(&mut self, process: u32, places: impl Iterator<Item = &'a (PathBuf, u64)>) {
        let mut unknown: HashMap<&PathBuf, Vec<u64>> = HashMap::new();
        for (path, offset) in places {
            if !self.named.contains_key(&(path.clone(), *offset)) {
                unknown.entry(path).or_default().push(*offset);
            }
        }
        for (path, offsets) in unknown {
            let there = program::find(&path.to_string_lossy(), Some(process))
                .or_else(|_| program::find(&path.to_string_lossy(), None));
            let query = Query { function: None, regex: false, site: None, offsets: offsets.clone() };
            let names = there.and_then(|there| program::ask(&there, &query)).map(|file| file.names);
            let mut names = names.unwrap_or_default().into_iter();
            for offset in offsets {
                self.named.insert((path.clone(), offset), names.next().flatten());
            }
        }
    }
}

fn mapping(line: &str) -> Option<Mapping> {
    let (fields, path) = line.split_once('/')?;
    let mut fields = fields.split_ascii_whitespace();
    let (low, high) = fields.next()?.split_once('-')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let protection = fields.next()?;
    let offset = number(fields.next()?)?;
    protection.contains('x').then_some(Mapping {
        low: number(low)?,
        high: number(high)?,
        offset,
        path: format!("/{path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_this_process_has_a_name() {
        let mut stacks = Stacks { kernel: Vec::new(), processes: HashMap::new(), named: HashMap::new() };
        let here = code_of_this_process_has_a_name as fn() as usize as u64;
        stacks.remember(std::process::id());
        let (path, offset) = stacks.place(std::process::id(), here).unwrap();
        assert_eq!(path, std::env::current_exe().unwrap());
        assert_eq!(Some(offset), crate::probe::user_function::file_offset(here as usize).ok());
    }

    #[test]
    fn a_kernel_address_is_in_the_function_before_it() {
        let kernel = vec![(0x1000, "first".to_owned()), (0x2000, "second".to_owned())];
        let stacks = Stacks { kernel, processes: HashMap::new(), named: HashMap::new() };
        assert_eq!(stacks.kernel(&[0x1010, 0x2000, 0xfff, 0, 7]), ["first+0x10", "second+0x0", "0xfff"]);
    }
}
