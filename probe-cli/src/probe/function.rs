//! Kernel functions by fentry and fexit: one pair of programs for all of them.

use std::fs;
use std::sync::OnceLock;

use aya::Btf;
use aya::maps::{Array, HashMap, MapData};
use aya::programs::{FEntry, FExit, TestRun as _};
use probe_abi::maps::{self, Layout, program};
use probe_abi::size::Classes;

use super::backend::Backend;
use super::object::{self, Filter, Sizes, map_mut};
use super::refusal::{Cause, Refusal};
use super::session::{Attached, Session};
use super::syscall::clone_fd;
use crate::stats::histogram::Histogram;

/// A kernel function.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Function {
    /// Its symbol.
    pub name: &'static str,
    /// Which argument is a size, counted from 0.
    pub size_argument: Option<u32>,
}

/// The emptiest function there is to trace: the kernel's own, for tests of this mechanism.
const EMPTY_FUNCTION: Function = Function { name: "bpf_fentry_test1", size_argument: None };

/// Traces each of `functions`.
///
/// # Errors
///
/// No BTF, hidden addresses, a function that is not there or cannot be traced, or a program that is refused.
pub fn trace(functions: &[Function], filter: Filter, classes: Classes) -> Result<Session, Refusal> {
    object::bytes()?;
    let btf = kernel_btf()?;
    let addresses = addresses(functions)?;
    let layout = Layout { targets: functions.len() as u32, classes };
    let sizes = Sizes { addresses: addresses.len().max(1) as u32, ..Sizes::aggregating(layout) };
    let mut ebpf = object::load(sizes, filter)?;

    let refuse = |error: aya::maps::MapError| Refusal::from_error("naming the functions to trace", &error);
    let mut targets: HashMap<&mut MapData, u64, u32> = map_mut(&mut ebpf, maps::FUNCTIONS);
    for (address, target) in addresses {
        targets.insert(address, target, 0).map_err(refuse)?;
    }
    let mut arguments: Array<&mut MapData, u32> = map_mut(&mut ebpf, maps::SIZE_ARGUMENTS);
    for (target, function) in (0_u32..).zip(functions) {
        arguments.set(target, function.size_argument.unwrap_or(maps::NO_SIZE), 0).map_err(refuse)?;
    }

    let mut links: Vec<Box<dyn Attached>> = Vec::new();
    let mut programs = Vec::new();
    // All exits before any entry: see the system calls.
    for function in functions {
        let exit: &mut FExit = object::program(&mut ebpf, program::FUNCTION_EXIT);
        let refuse = |error| refusal(function, "fexit", &error);
        if exit.fd().is_ok() {
            exit.unload().map_err(refuse)?;
        }
        exit.load(function.name, btf).map_err(refuse)?;
        let id = exit.attach().map_err(refuse)?;
        links.push(Box::new(exit.take_link(id).map_err(refuse)?));
        programs.extend(clone_fd(exit.fd()));
    }
    for function in functions {
        let entry: &mut FEntry = object::program(&mut ebpf, program::FUNCTION_ENTER);
        let refuse = |error| refusal(function, "fentry", &error);
        if entry.fd().is_ok() {
            entry.unload().map_err(refuse)?;
        }
        entry.load(function.name, btf).map_err(refuse)?;
        let id = entry.attach().map_err(refuse)?;
        links.push(Box::new(entry.take_link(id).map_err(refuse)?));
        programs.extend(clone_fd(entry.fd()));
    }
    Session::new(Backend::Fentry, layout, ebpf, programs, links)
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
    let mut session = trace(&[EMPTY_FUNCTION], Filter::own_thread(), Classes::One)?;
    let exit: &mut FExit = object::program(session.ebpf_mut(), program::FUNCTION_EXIT);
    for _ in 0..calls {
        // The kernel calls its own test functions once, the empty one among them.
        exit.test_run(())
            .map_err(|error| Refusal::from_error("running the kernel's test functions", &error))?;
    }
    Ok(session.read()?.swap_remove(0).total())
}

/// The addresses of `functions` with the index of each. A name may have several: the target is the same.
pub(crate) fn addresses(functions: &[Function]) -> Result<Vec<(u64, u32)>, Refusal> {
    const TABLE: &str = "/proc/kallsyms";
    let table = fs::read_to_string(TABLE)
        .map_err(|error| Refusal::from_error("reading the addresses of functions", &error))?;
    find_addresses(&table, functions)
}

fn find_addresses(table: &str, functions: &[Function]) -> Result<Vec<(u64, u32)>, Refusal> {
    let mut found = Vec::new();
    for line in table.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let is_code = matches!(kind, "t" | "T" | "w" | "W");
        let target = functions.iter().position(|function| function.name == name);
        if let (true, Some(target), Ok(address)) = (is_code, target, u64::from_str_radix(address, 16)) {
            found.push((address, target as u32));
        }
    }
    for (target, function) in (0_u32..).zip(functions) {
        let mut own = found.iter().filter(|(_, of)| *of == target).peekable();
        let tried = || format!("looking up {}", function.name);
        if own.peek().is_none() {
            return Err(Refusal::new(tried(), "the kernel has no such symbol", Cause::NotBuiltIn));
        }
        if own.any(|(address, _)| *address == 0) {
            return Err(Refusal::new(tried(), "its address reads 0", Cause::HiddenAddresses));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Function = Function { name: "vfs_read", size_argument: Some(2) };
    const WRITE: Function = Function { name: "vfs_write", size_argument: Some(2) };

    #[test]
    fn every_address_of_a_name_is_its_target() {
        let table = "ffffffff81000010 T vfs_write\nffffffff81000020 t vfs_read\nffffffff81000030 t vfs_read\n\
                     ffffffff81000040 d vfs_read\nffffffff81000050 t vfs_read.cold\n";
        assert_eq!(
            find_addresses(table, &[READ, WRITE]).unwrap(),
            [(0xffff_ffff_8100_0010, 1), (0xffff_ffff_8100_0020, 0), (0xffff_ffff_8100_0030, 0)]
        );
    }

    #[test]
    fn missing_and_hidden_are_told_apart() {
        assert_eq!(find_addresses("ff T vfs_write", &[READ]).unwrap_err().cause, Cause::NotBuiltIn);
        assert_eq!(
            find_addresses("0000000000000000 T vfs_read", &[READ]).unwrap_err().cause,
            Cause::HiddenAddresses
        );
    }
}
