//! Kernel functions by kprobe and kretprobe: where there is no fentry, and the kernel was built with kprobes.
//!
//! A kretprobe has a pool of its own for calls that are under way, two for each CPU or a little more; where that is
//! used up the kernel skips the exit, and the entry stays open. fexit has no such limit.

use aya::programs::KProbe;
use probe_abi::maps::program;

use super::backend::Backend;
use super::function::{self, Function};
use super::object;
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::{Attached, Attachment, Progress, Session};
use super::syscall::clone_fd;

/// Traces those of `functions` that can be.
///
/// # Errors
///
/// No kprobes, hidden addresses, or no function that is there and may be probed.
pub fn attach(functions: &[Function], scope: &Scope, progress: Progress<'_>) -> Result<Attachment, Refusal> {
    object::bytes()?;
    let (mut ebpf, layout, mut refused) = function::load(functions, scope)?;
    let pair: &[&str] = match scope.count_only {
        true => &[program::KPROBE_ENTER],
        // All exits before any entry: see the system calls.
        false => &[program::KPROBE_RETURN, program::KPROBE_ENTER],
    };
    let mut links: Vec<(usize, Box<dyn Attached>)> = Vec::new();
    let mut programs = Vec::new();
    for (turn, name) in pair.iter().enumerate() {
        let probe: &mut KProbe = object::program(&mut ebpf, name);
        probe.load().map_err(|error| Refusal::from_error(format!("loading {name}"), &error))?;
        programs.extend(clone_fd(probe.fd()));
        for (index, function) in functions.iter().enumerate() {
            if function::is_in(&refused, index) {
                continue;
            }
            if !progress(turn * functions.len() + index, pair.len() * functions.len()) {
                return Err(Refusal::new("attaching kprobes", "it was interrupted", Cause::Interrupted));
            }
            let attached = probe.attach(&*function.name, 0).and_then(|id| probe.take_link(id));
            match attached {
                Ok(link) => links.push((index, Box::new(link))),
                Err(error) => {
                    let mut refusal =
                        Refusal::from_error(format!("attaching a kprobe to {}", function.name), &error);
                    if refusal.cause.is_of_all() {
                        return Err(refusal);
                    }
                    // The kernel's answer for functions in its list of what must not be probed.
                    if refusal.cause == Cause::Unknown {
                        refusal.cause = Cause::NotTraceable;
                    }
                    links.retain(|(attached, _)| *attached != index);
                    refused.push((index, refusal));
                }
            }
        }
    }
    if links.is_empty() {
        let none = || Refusal::new("attaching kprobes", "there is nothing to attach to", Cause::NotBuiltIn);
        return Err(refused.into_iter().next().map_or_else(none, |(_, refusal)| refusal));
    }
    let links = links.into_iter().map(|(_, link)| link).collect();
    let session = Session::new(Backend::Kprobe, layout, ebpf, programs, links, scope)?;
    Ok(Attachment { session, refused })
}
