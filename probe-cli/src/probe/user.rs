//! Functions and probe sites of programs, timed by uprobes. Each carries its target as its cookie, so that one pair of
//! programs serves them all, and several places can be one target.

use std::path::PathBuf;

use aya::programs::uprobe::{UProbe, UProbeAttachLocation, UProbeAttachPoint, UProbeScope};
use probe_abi::maps::{Layout, program};
use probe_abi::size::Classes;

use super::backend::Backend;
use super::object::{self, Sizes};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::{Attachment, Progress, Session};
use super::syscall::clone_fd;

/// What is timed in a program file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UserTarget {
    /// The file, as it is reached from here.
    pub binary: PathBuf,
    /// Offsets in the file of every place where a call begins.
    pub begins: Vec<u64>,
    /// Where it ends.
    pub end: End,
}

/// The end of what is timed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum End {
    /// The return of the function that begins there.
    Return,
    /// Other places: the second site of a pair.
    Sites(Vec<u64>),
    /// The next hit by the same thread.
    NextHit,
}

impl UserTarget {
    fn begin_program(&self) -> &'static str {
        if self.end == End::NextHit { program::UPROBE_POINT } else { program::UPROBE_ENTER }
    }

    /// Program and offset of everything that is attached, ends before begins: see the system calls.
    fn probes(&self, scope: &Scope) -> Vec<(&'static str, u64)> {
        let ends: Vec<_> = match &self.end {
            _ if scope.count_only => Vec::new(),
            End::Return => self.begins.iter().map(|offset| (program::UPROBE_RETURN, *offset)).collect(),
            End::Sites(sites) => sites.iter().map(|offset| (program::UPROBE_END, *offset)).collect(),
            End::NextHit => Vec::new(),
        };
        ends.into_iter().chain(self.begins.iter().map(|offset| (self.begin_program(), *offset))).collect()
    }
}

/// Traces those of `targets` that can be.
///
/// # Errors
///
/// A program is refused, or every link.
pub fn attach(targets: &[UserTarget], scope: &Scope, progress: Progress<'_>) -> Result<Attachment, Refusal> {
    object::bytes()?;
    // Where the size of a call is nobody knows.
    let layout = Layout { targets: targets.len() as u32, classes: Classes::One };
    let scope = &Scope { classes: Classes::One, sizes: None, ..scope.clone() };
    let mut ebpf = object::load(Sizes::aggregating(layout, scope), scope)?;
    // Probes in one process disturb no other; children can be followed only through all.
    let processes = match std::num::NonZeroU32::new(scope.process) {
        Some(process) if scope.followed.is_empty() => UProbeScope::OneProcess(process),
        _ => UProbeScope::AllProcesses,
    };
    let (mut programs, mut loaded) = (Vec::new(), Vec::new());
    let (mut attached, mut refused) = (0_usize, Vec::new());
    for (index, target) in targets.iter().enumerate() {
        for (name, offset) in target.probes(scope) {
            if !progress(index, targets.len()) {
                return Err(Refusal::new("attaching uprobes", "it was interrupted", Cause::Interrupted));
            }
            let program: &mut UProbe = object::program(&mut ebpf, name);
            if !loaded.contains(&name) {
                program.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
                programs.extend(clone_fd(program.fd()));
                loaded.push(name);
            }
            let point = UProbeAttachPoint {
                location: UProbeAttachLocation::AbsoluteOffset(offset),
                cookie: Some(index as u64),
            };
            if let Err(error) = program.attach(point, &target.binary, processes) {
                let tried = format!("attaching {name} to offset {offset:#x} of {}", target.binary.display());
                refused.push((index, Refusal::from_error(tried, &error)));
                break;
            }
            attached += 1;
        }
    }
    match refused.first() {
        Some((_, refusal)) if attached == 0 || refusal.cause.is_of_all() => Err(refusal.clone()),
        _ => {
            let session = Session::new(Backend::Uprobe, layout, ebpf, programs, Vec::new(), scope)?;
            Ok(Attachment { session, refused })
        }
    }
}
