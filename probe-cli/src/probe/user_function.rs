//! A function of a user program, by an entry and a return probe on it.

use std::fs;
use std::path::Path;

use aya::Ebpf;
use aya::programs::uprobe::{UProbe, UProbeAttachLocation, UProbeScope};
use probe_abi::maps::program;

use super::object::{self, Sizes};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;

/// An attached pair that does nothing. Dropping it detaches it.
pub struct EmptyPair {
    _ebpf: Ebpf,
}

impl std::fmt::Debug for EmptyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmptyPair").finish_non_exhaustive()
    }
}

impl EmptyPair {
    /// Attaches to the function that begins at `offset` of the file `binary`, in every process that runs it.
    ///
    /// # Errors
    ///
    /// A program or link is refused.
    pub fn attach(binary: &Path, offset: u64) -> Result<Self, Refusal> {
        let mut ebpf = object::load(Sizes::SMALLEST, &Scope::default())?;
        for name in [program::USER_RETURN, program::USER_ENTER] {
            let program: &mut UProbe = object::program(&mut ebpf, name);
            program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
            let at = UProbeAttachLocation::AbsoluteOffset(offset);
            program.attach(at, binary, UProbeScope::AllProcesses).map_err(|error| {
                Refusal::from_error(
                    format!("attaching {name} to offset {offset:#x} of {}", binary.display()),
                    &error,
                )
            })?;
        }
        Ok(Self { _ebpf: ebpf })
    }
}

/// Where `address`, an address of this process, lies in the file that is mapped there.
///
/// # Errors
///
/// The kernel does not tell, or no file is mapped there.
pub fn file_offset(address: usize) -> Result<u64, Refusal> {
    let tried = || format!("looking for the file behind the address {address:#x}");
    let maps = fs::read_to_string("/proc/self/maps").map_err(|error| Refusal::from_error(tried(), &error))?;
    offset_in(&maps, address as u64).ok_or_else(|| Refusal::new(tried(), "there is none", Cause::BadFile))
}

fn offset_in(maps: &str, address: u64) -> Option<u64> {
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (low, high) = fields.next()?.split_once('-')?;
        let number = |hexadecimal| u64::from_str_radix(hexadecimal, 16).ok();
        let (low, high) = (number(low)?, number(high)?);
        let (_protection, offset) = (fields.next()?, number(fields.next()?)?);
        let (_device, inode) = (fields.next()?, fields.next()?);
        (low <= address && address < high && inode != "0").then(|| address - low + offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
560000000000-560000001000 r--p 00000000 fe:00 42  /bin/program
560000001000-560000003000 r-xp 00002000 fe:00 42  /bin/program
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
nonsense
";

    #[test]
    fn an_address_is_found_in_the_mapping_that_holds_it() {
        assert_eq!(offset_in(MAPS, 0x5600_0000_1010), Some(0x2010));
        assert_eq!(offset_in(MAPS, 0x5600_0000_0fff), Some(0xfff));
        assert_eq!(offset_in(MAPS, 0x5600_0000_3000), None, "the end is outside");
        assert_eq!(offset_in(MAPS, 0x7f00_0000_0000), None, "no file is behind it");
        assert_eq!(offset_in("", 0), None);
    }

    #[test]
    fn code_of_this_program_is_in_a_file() {
        let here = code_of_this_program_is_in_a_file as fn();
        assert!(file_offset(here as usize).unwrap() > 0);
    }
}
