//! System calls: by events of their own, or by the points that all of them pass.

use aya::Ebpf;
use aya::maps::{Array, MapData};
use aya::programs::{ProgramFd, RawTracePoint, TracePoint};
use probe_abi::maps::{self, Layout, program};
use probe_abi::size::Classes;

use super::backend::Backend;
use super::object::{self, Filter, Sizes, map_mut};
use super::refusal::{Cause, Refusal};
use super::session::Session;
use super::tracefs;

/// A system call that can be traced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Syscall {
    /// As in `syscall:NAME`.
    pub name: &'static str,
    /// Its number on this architecture.
    pub number: u32,
    /// Which argument is a size, counted from 0; only 1 and 2 occur.
    pub size_argument: Option<u32>,
}

/// Those that are known by name.
pub const SYSCALLS: &[Syscall] = &[
    Syscall::new("accept4", libc::SYS_accept4, None),
    Syscall::new("getppid", libc::SYS_getppid, None),
    Syscall::new("getrandom", libc::SYS_getrandom, Some(1)),
    Syscall::new("pread64", libc::SYS_pread64, Some(2)),
    Syscall::new("pwrite64", libc::SYS_pwrite64, Some(2)),
    Syscall::new("read", libc::SYS_read, Some(2)),
    Syscall::new("recvfrom", libc::SYS_recvfrom, Some(2)),
    Syscall::new("sendto", libc::SYS_sendto, Some(2)),
    Syscall::new("write", libc::SYS_write, Some(2)),
];

impl Syscall {
    const fn new(name: &'static str, number: libc::c_long, size_argument: Option<u32>) -> Self {
        Self { name, number: number as u32, size_argument }
    }

    /// The one called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        SYSCALLS.iter().copied().find(|call| call.name == name)
    }
}

/// Traces each of `calls` by its own entry and exit events.
///
/// # Errors
///
/// There is no tracefs, a call has no events, or a program or link is refused.
pub fn trace_events(calls: &[Syscall], filter: Filter, classes: Classes) -> Result<Session, Refusal> {
    let (mut ebpf, layout) = load(calls, filter, classes)?;
    let enter_of = |call: &Syscall| match (classes, call.size_argument) {
        (Classes::BySize, Some(1)) => program::SYSCALL_ENTER_SIZE_1,
        (Classes::BySize, Some(2)) => program::SYSCALL_ENTER_SIZE_2,
        _ => program::SYSCALL_ENTER,
    };
    // Exits before entries: a call under way at the attach is then an unmatched exit, never an entry that
    // stays open.
    let mut pairs: Vec<(&str, String)> =
        calls.iter().map(|call| (program::SYSCALL_EXIT, format!("sys_exit_{}", call.name))).collect();
    pairs.extend(calls.iter().map(|call| (enter_of(call), format!("sys_enter_{}", call.name))));

    let mut programs = Vec::new();
    let mut loaded: Vec<&str> = Vec::new();
    for (name, _) in &pairs {
        if loaded.contains(name) {
            continue;
        }
        loaded.push(name);
        let program: &mut TracePoint = object::program(&mut ebpf, name);
        program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
        programs.extend(clone_fd(program.fd()));
    }
    let ebpf = tracefs::with(move |events| {
        for (name, event) in &pairs {
            if !events.join("events/syscalls").join(event).is_dir() {
                return Err(Refusal::new(
                    format!("attaching to syscalls:{event}"),
                    "there is no such event",
                    Cause::NotBuiltIn,
                ));
            }
            object::program::<TracePoint>(&mut ebpf, name)
                .attach("syscalls", event)
                .map_err(|error| Refusal::from_error(format!("attaching to syscalls:{event}"), &error))?;
        }
        Ok(ebpf)
    })??;
    Session::new(Backend::Tracepoint, layout, ebpf, programs, Vec::new())
}

/// Traces `calls` by the raw tracepoints of all system calls, which all others then pay for too.
///
/// # Errors
///
/// A program or link is refused; telling sizes apart takes reading the kernel's memory here.
pub fn trace_raw(calls: &[Syscall], filter: Filter, classes: Classes) -> Result<Session, Refusal> {
    let (mut ebpf, layout) = load(calls, filter, classes)?;
    let enter = match classes {
        Classes::One => program::RAW_ENTER,
        Classes::BySize => program::RAW_ENTER_SIZED,
    };
    let mut programs = Vec::new();
    for (name, event) in [(program::RAW_EXIT, "sys_exit"), (enter, "sys_enter")] {
        let program: &mut RawTracePoint = object::program(&mut ebpf, name);
        program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
        program.attach(event).map_err(|error| {
            Refusal::from_error(format!("attaching to the raw tracepoint {event}"), &error)
        })?;
        programs.extend(clone_fd(program.fd()));
    }
    Session::new(Backend::RawTracepoint, layout, ebpf, programs, Vec::new())
}

pub(crate) fn clone_fd(fd: Result<&ProgramFd, aya::programs::ProgramError>) -> Option<ProgramFd> {
    fd.ok()?.try_clone().ok()
}

/// Loads the object and fills the maps that say which call is which target.
fn load(calls: &[Syscall], filter: Filter, classes: Classes) -> Result<(Ebpf, Layout), Refusal> {
    let layout = Layout { targets: calls.len() as u32, classes };
    let mut ebpf = object::load(Sizes::aggregating(layout), filter)?;
    let refuse = |error: aya::maps::MapError| Refusal::from_error("naming the calls to trace", &error);
    for (target, call) in (0_u32..).zip(calls) {
        let register = call.size_argument.and_then(saved_register).unwrap_or(maps::NO_SIZE);
        let mut sizes: Array<&mut MapData, u32> = map_mut(&mut ebpf, maps::SIZE_ARGUMENTS);
        sizes.set(target, register, 0).map_err(refuse)?;
        let mut targets: Array<&mut MapData, u32> = map_mut(&mut ebpf, maps::SYSCALLS);
        targets.set(call.number, target + 1, 0).map_err(refuse)?;
    }
    Ok((ebpf, layout))
}

/// Offset of an argument in the registers that a system call saves.
const fn saved_register(argument: u32) -> Option<u32> {
    if cfg!(target_arch = "x86_64") {
        match argument {
            0 => Some(112),
            1 => Some(104),
            2 => Some(96),
            _ => None,
        }
    } else {
        None
    }
}
