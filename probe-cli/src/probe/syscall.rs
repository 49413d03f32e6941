//! System calls: by events of their own, or by the points that all of them pass.

use aya::Ebpf;
use aya::maps::{Array, MapData};
use aya::programs::{ProgramFd, RawTracePoint, TracePoint};
use probe_abi::maps::{self, Layout, program};

use super::backend::Backend;
use super::object::{self, Sizes, map_mut};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::{Attachment, Session};
use super::syscall_names;
use super::tracefs;

/// A system call that can be traced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Syscall {
    /// As in `syscall:NAME`.
    pub name: &'static str,
    /// Its number on this architecture.
    pub number: u32,
    /// Which argument is a size, counted from 0. Events tell sizes in 1 and 2, raw tracepoints in 0 to 4.
    pub size_argument: Option<u32>,
}

impl Syscall {
    /// The one called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        syscall_names::by_name(name)
    }

    /// Every one of this architecture.
    pub fn all() -> impl Iterator<Item = Self> {
        syscall_names::all()
    }
}

/// Traces all of `calls` by their own entry and exit events.
///
/// # Errors
///
/// There is no tracefs, a call has no events, or a program or link is refused.
pub fn trace_events(calls: &[Syscall], scope: &Scope) -> Result<Session, Refusal> {
    attach_events(calls, scope)?.whole()
}

/// Traces those of `calls` that have entry and exit events of their own.
///
/// # Errors
///
/// As [`trace_events`], where no call has any.
pub fn attach_events(calls: &[Syscall], scope: &Scope) -> Result<Attachment, Refusal> {
    let (mut ebpf, layout) = load(calls, scope)?;
    let (session, refused) = tracefs::with(move |events| {
        let events = events.join("events/syscalls");
        let (there, missing): (Vec<_>, Vec<_>) = calls.iter().enumerate().partition(|(_, call)| {
            events.join(format!("sys_enter_{}", syscall_names::event(call.name))).is_dir()
        });
        let refused: Vec<_> = missing.into_iter().map(|(index, call)| (index, no_events(call))).collect();
        if let (true, Some((_, refusal))) = (there.is_empty(), refused.first()) {
            return Err(refusal.clone());
        }
        let there: Vec<_> = there.into_iter().map(|(_, call)| *call).collect();
        let programs = attach_pairs(&mut ebpf, &there, scope)?;
        Session::new(Backend::Tracepoint, layout, ebpf, programs, Vec::new(), scope)
            .map(|session| (session, refused))
    })??;
    Ok(Attachment { session, refused })
}

fn no_events(call: &Syscall) -> Refusal {
    let tried = format!("attaching to syscalls:sys_enter_{}", syscall_names::event(call.name));
    Refusal::new(tried, "there is no such event", Cause::NotBuiltIn)
}

fn attach_pairs(ebpf: &mut Ebpf, calls: &[Syscall], scope: &Scope) -> Result<Vec<ProgramFd>, Refusal> {
    let enter_of = |call: &Syscall| match (scope.wants_sizes(), call.size_argument) {
        (true, Some(1)) => program::SYSCALL_ENTER_SIZE_1,
        (true, Some(2)) => program::SYSCALL_ENTER_SIZE_2,
        _ => program::SYSCALL_ENTER,
    };
    let event = |side: &str, call: &Syscall| format!("sys_{side}_{}", syscall_names::event(call.name));
    // Exits before entries: a call under way at the attach is then an unmatched exit, never an entry that
    // stays open.
    let mut pairs: Vec<(&str, String)> = Vec::new();
    if !scope.count_only {
        pairs.extend(calls.iter().map(|call| (program::SYSCALL_EXIT, event("exit", call))));
    }
    pairs.extend(calls.iter().map(|call| (enter_of(call), event("enter", call))));
    let mut programs = Vec::new();
    let mut loaded: Vec<&str> = Vec::new();
    for (name, event) in &pairs {
        let program: &mut TracePoint = object::program(ebpf, name);
        if !loaded.contains(name) {
            loaded.push(name);
            program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
            programs.extend(clone_fd(program.fd()));
        }
        program
            .attach("syscalls", event)
            .map_err(|error| Refusal::from_error(format!("attaching to syscalls:{event}"), &error))?;
    }
    Ok(programs)
}

/// Traces `calls` by the raw tracepoints of all system calls, which all others then pay for too.
///
/// # Errors
///
/// A program or link is refused; telling sizes apart takes reading the kernel's memory here.
pub fn trace_raw(calls: &[Syscall], scope: &Scope) -> Result<Session, Refusal> {
    let (mut ebpf, layout) = load(calls, scope)?;
    let enter = if scope.wants_sizes() { program::RAW_ENTER_SIZED } else { program::RAW_ENTER };
    let mut programs = Vec::new();
    let pair = [(program::RAW_EXIT, "sys_exit"), (enter, "sys_enter")];
    for (name, event) in if scope.count_only { &pair[1..] } else { &pair } {
        let program: &mut RawTracePoint = object::program(&mut ebpf, name);
        program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
        program.attach(event).map_err(|error| {
            Refusal::from_error(format!("attaching to the raw tracepoint {event}"), &error)
        })?;
        programs.extend(clone_fd(program.fd()));
    }
    Session::new(Backend::RawTracepoint, layout, ebpf, programs, Vec::new(), scope)
}

pub(crate) fn clone_fd(fd: Result<&ProgramFd, aya::programs::ProgramError>) -> Option<ProgramFd> {
    fd.ok()?.try_clone().ok()
}

/// Loads the object and fills the maps that say which call is which target.
fn load(calls: &[Syscall], scope: &Scope) -> Result<(Ebpf, Layout), Refusal> {
    let layout = Layout { targets: calls.len() as u32, classes: scope.classes };
    let mut ebpf = object::load(Sizes::aggregating(layout, scope), scope)?;
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
            3 => Some(56),
            4 => Some(72),
            _ => None,
        }
    } else {
        None
    }
}
