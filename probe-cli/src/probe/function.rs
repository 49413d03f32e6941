//! Kernel functions by fentry and fexit: one pair of programs for all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::sync::OnceLock;

use aya::maps::{Array, HashMap, MapData};
use aya::programs::{FEntry, FExit, ProgramFd, TestRun as _};
use aya::{Btf, Ebpf};
use probe_abi::maps::{self, Layout, program};

use super::backend::Backend;
use super::btf;
use super::object::{self, Sizes, map_mut};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::{Attached, Attachment, Progress, Session};
use super::syscall::clone_fd;
use crate::stats::histogram::Histogram;

/// A kernel function.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Function {
    /// Its symbol.
    pub name: Cow<'static, str>,
    /// Where the size of a call is.
    pub size: Place,
}

/// Where a function finds the size of what it is to do.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Place {
    /// Nowhere, or nobody knows.
    #[default]
    Unknown,
    /// In an argument, counted from 0.
    Argument(u32),
    /// In a field of the structure that an argument points to.
    Field {
        /// The argument, counted from 0.
        argument: u32,
        /// The structure's tag.
        structure: &'static str,
        /// The field's name; one of 64 bits.
        field: &'static str,
    },
}

impl Function {
    /// One whose size is not known.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), size: Place::Unknown }
    }

    /// One whose size is an argument.
    #[must_use]
    pub const fn sized(name: &'static str, argument: u32) -> Self {
        Self { name: Cow::Borrowed(name), size: Place::Argument(argument) }
    }

    /// The place as the programs know it; [`maps::NO_SIZE`] where this kernel has no such field.
    fn place(&self) -> u32 {
        match self.size {
            Place::Unknown => maps::NO_SIZE,
            Place::Argument(argument) => argument,
            Place::Field { argument, structure, field } => match btf::offset_of(structure, field) {
                Ok(offset) if offset < 1 << 16 => offset << 16 | maps::SIZE_IN_FIELD | argument,
                _ => maps::NO_SIZE,
            },
        }
    }
}

/// The emptiest function there is to trace: the kernel's own, for tests of this mechanism.
const EMPTY_FUNCTION: Function = Function::named("bpf_fentry_test1");

/// Traces all of `functions` by fentry and fexit.
///
/// # Errors
///
/// No BTF, hidden addresses, a function that is not there or cannot be traced, or a program that is refused.
pub fn trace(functions: &[Function], scope: &Scope) -> Result<Session, Refusal> {
    attach(functions, scope, &|_, _| true)?.whole()
}

/// Traces those of `functions` that can be by fentry and fexit.
///
/// # Errors
///
/// As [`trace`], where no function could be.
pub fn attach(functions: &[Function], scope: &Scope, progress: Progress<'_>) -> Result<Attachment, Refusal> {
    object::bytes()?;
    let btf = kernel_btf()?;
    let (mut ebpf, layout, mut refused) = load(functions, scope)?;
    let by_field =
        scope.wants_sizes() && functions.iter().any(|function| matches!(function.size, Place::Field { .. }));
    let entry = if by_field { program::FUNCTION_ENTER_FIELD } else { program::FUNCTION_ENTER };

    let mut links: BTreeMap<usize, Box<dyn Attached>> = BTreeMap::new();
    let mut entries: Vec<Box<dyn Attached>> = Vec::new();
    let mut programs = Vec::new();
    // All exits before any entry: see the system calls.
    for (index, function) in functions.iter().enumerate() {
        if is_in(&refused, index) {
            continue;
        }
        if scope.count_only || !progress(index, 2 * functions.len()) {
            break;
        }
        match attach_exit(&mut ebpf, function, btf) {
            Ok((link, fd)) => {
                links.insert(index, link);
                programs.extend(fd);
            }
            Err(refusal) if refusal.cause.is_of_all() => return Err(refusal),
            Err(refusal) => refused.push((index, refusal)),
        }
    }
    for (index, function) in functions.iter().enumerate() {
        if is_in(&refused, index) {
            continue;
        }
        if !progress(functions.len() + index, 2 * functions.len()) {
            break;
        }
        match attach_entry(&mut ebpf, entry, function, btf) {
            Ok((link, fd)) => {
                entries.push(link);
                programs.extend(fd);
            }
            Err(refusal) if refusal.cause.is_of_all() => return Err(refusal),
            Err(refusal) => {
                links.remove(&index);
                refused.push((index, refusal));
            }
        }
    }
    if entries.is_empty() {
        let stopped = || Refusal::new("attaching fentry", "it was interrupted", Cause::Interrupted);
        return Err(refused.into_iter().next().map_or_else(stopped, |(_, refusal)| refusal));
    }
    let links = links.into_values().chain(entries).collect();
    let session = Session::new(Backend::Fentry, layout, ebpf, programs, links, scope)?;
    Ok(Attachment { session, refused })
}

/// Targets by index, and why they are not attached.
pub(crate) type Refused = Vec<(usize, Refusal)>;

pub(crate) fn is_in(refused: &[(usize, Refusal)], index: usize) -> bool {
    refused.iter().any(|(refused, _)| *refused == index)
}

type Link = (Box<dyn Attached>, Option<ProgramFd>);

fn attach_exit(ebpf: &mut Ebpf, function: &Function, btf: &Btf) -> Result<Link, Refusal> {
    let exit: &mut FExit = object::program(ebpf, program::FUNCTION_EXIT);
    let refuse = |error| refusal(function, "fexit", &error);
    if exit.fd().is_ok() {
        exit.unload().map_err(refuse)?;
    }
    exit.load(&function.name, btf).map_err(refuse)?;
    let id = exit.attach().map_err(refuse)?;
    let link = exit.take_link(id).map_err(refuse)?;
    Ok((Box::new(link), clone_fd(exit.fd())))
}

fn attach_entry(ebpf: &mut Ebpf, program: &str, function: &Function, btf: &Btf) -> Result<Link, Refusal> {
    let entry: &mut FEntry = object::program(ebpf, program);
    let refuse = |error| refusal(function, "fentry", &error);
    if entry.fd().is_ok() {
        entry.unload().map_err(refuse)?;
    }
    entry.load(&function.name, btf).map_err(refuse)?;
    let id = entry.attach().map_err(refuse)?;
    let link = entry.take_link(id).map_err(refuse)?;
    Ok((Box::new(link), clone_fd(entry.fd())))
}

/// Loads the object and fills the maps that say which address is which target. Also tells which functions are not
/// there.
pub(crate) fn load(functions: &[Function], scope: &Scope) -> Result<(Ebpf, Layout, Refused), Refusal> {
    let (addresses, missing) = addresses(functions)?;
    let layout = Layout { targets: functions.len() as u32, classes: scope.classes };
    let sizes = Sizes { addresses: addresses.len().max(1) as u32, ..Sizes::aggregating(layout, scope) };
    let mut ebpf = object::load(sizes, scope)?;
    let refuse = |error: aya::maps::MapError| Refusal::from_error("naming the functions to trace", &error);
    let mut targets: HashMap<&mut MapData, u64, u32> = map_mut(&mut ebpf, maps::FUNCTIONS);
    for (address, target) in addresses {
        targets.insert(address, target, 0).map_err(refuse)?;
    }
    let mut places: Array<&mut MapData, u32> = map_mut(&mut ebpf, maps::SIZE_ARGUMENTS);
    for (target, function) in (0_u32..).zip(functions) {
        let place = if scope.wants_sizes() { function.place() } else { maps::NO_SIZE };
        places.set(target, place, 0).map_err(refuse)?;
    }
    Ok((ebpf, layout, missing))
}

/// The kernel's types, parsed once: that takes longer than all the rest.
pub(crate) fn kernel_btf() -> Result<&'static Btf, Refusal> {
    static BTF: OnceLock<Result<Btf, Refusal>> = OnceLock::new();
    BTF.get_or_init(|| {
        Btf::from_sys_fs().map_err(|error| Refusal {
            cause: Cause::NoBtf,
            ..Refusal::from_error("reading the kernel's BTF", &error)
        })
    })
    .as_ref()
    .map_err(Clone::clone)
}

fn refusal(function: &Function, kind: &str, error: &aya::programs::ProgramError) -> Refusal {
    Refusal::from_error(format!("attaching {kind} to {}", function.name), error)
}

/// What the pair reports for a function that does nothing.
///
/// # Errors
///
/// As [`trace`].
pub fn floor(calls: u32) -> Result<Histogram, Refusal> {
    let mut session = trace(&[EMPTY_FUNCTION], &Scope::own_thread())?;
    let exit: &mut FExit = object::program(session.ebpf_mut(), program::FUNCTION_EXIT);
    for _ in 0..calls {
        // The kernel calls its own test functions once, the empty one among them.
        exit.test_run(())
            .map_err(|error| Refusal::from_error("running the kernel's test functions", &error))?;
    }
    Ok(session.read()?.swap_remove(0).total())
}

type Addresses = (Vec<(u64, u32)>, Refused);

/// The addresses of `functions` with the index of each, and those that are not there. A name may have several: the target is the same.
fn addresses(functions: &[Function]) -> Result<Addresses, Refusal> {
    const TABLE: &str = "/proc/kallsyms";
    let table = fs::read_to_string(TABLE)
        .map_err(|error| Refusal::from_error("reading the addresses of functions", &error))?;
    find_addresses(&table, functions)
}

fn find_addresses(table: &str, functions: &[Function]) -> Result<Addresses, Refusal> {
    let mut found = Vec::new();
    // Many functions, and a table of a hundred thousand lines.
    let names: std::collections::HashMap<&str, usize> =
        functions.iter().enumerate().map(|(target, function)| (&*function.name, target)).collect();
    for line in table.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let is_code = matches!(kind, "t" | "T" | "w" | "W");
        let target = names.get(name).copied();
        if let (true, Some(target), Ok(address)) = (is_code, target, u64::from_str_radix(address, 16)) {
            found.push((address, target as u32));
        }
    }
    let tried = |target: usize| format!("looking up {}", functions[target].name);
    if let Some((_, target)) = found.iter().find(|(address, _)| *address == 0) {
        let tried = tried(*target as usize);
        return Err(Refusal::new(tried, "its address reads 0", Cause::HiddenAddresses));
    }
    let there: HashSet<u32> = found.iter().map(|(_, target)| *target).collect();
    let missing = (0..functions.len())
        .filter(|target| !there.contains(&(*target as u32)))
        .map(|target| {
            (target, Refusal::new(tried(target), "the kernel has no such symbol", Cause::NotBuiltIn))
        })
        .collect();
    Ok((found, missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Function = Function::sized("vfs_read", 2);
    const WRITE: Function = Function::sized("vfs_write", 2);

    #[test]
    fn every_address_of_a_name_is_its_target() {
        let table = "ffffffff81000010 T vfs_write\nffffffff81000020 t vfs_read\nffffffff81000030 t vfs_read\n\
                     ffffffff81000040 d vfs_read\nffffffff81000050 t vfs_read.cold\n";
        assert_eq!(
            find_addresses(table, &[READ, WRITE]).unwrap().0,
            [(0xffff_ffff_8100_0010, 1), (0xffff_ffff_8100_0020, 0), (0xffff_ffff_8100_0030, 0)]
        );
    }

    #[test]
    fn missing_and_hidden_are_told_apart() {
        let (found, missing) = find_addresses("ff T vfs_write", &[READ, WRITE]).unwrap();
        assert_eq!(found, [(0xff, 1)]);
        assert_eq!((missing.len(), missing[0].0, &missing[0].1.cause), (1, 0, &Cause::NotBuiltIn));
        assert_eq!(
            find_addresses("0000000000000000 T vfs_read", &[READ]).unwrap_err().cause,
            Cause::HiddenAddresses
        );
    }
}
