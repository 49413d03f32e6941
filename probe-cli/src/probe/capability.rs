//! What this kernel, user and build allow: each mechanism tried, not guessed.

use std::fs;
use std::path::Path;

use aya::programs::KProbe;
use probe_abi::batch::BatchKey;
use probe_abi::maps::program;
use probe_abi::site;

use super::call::{self, Primitive};
use super::function;
use super::markers::Markers;
use super::object::{self, Sizes};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use super::session::Session;
use super::syscall::{self, Syscall};
use super::tracefs;
use crate::harness::markers::BatchSource as _;

/// A mechanism and what became of trying it.
#[derive(Clone, Debug)]
pub struct Mechanism {
    /// Kebab-case.
    pub name: &'static str,
    /// What it gives, in a line.
    pub what: &'static str,
    /// What was seen when it worked, or the refusal.
    pub outcome: Result<String, Refusal>,
}

/// Function that the kprobe and its kin are tried on: every kernel has it, and it may be traced.
const ORDINARY_FUNCTION: &str = "vfs_read";
const CALLS: u64 = 3;

/// Tries every mechanism. Takes a second or two, and leaves nothing attached.
#[must_use]
pub fn mechanisms() -> Vec<Mechanism> {
    let trial = |name, what, outcome| Mechanism { name, what, outcome };
    vec![
        trial("object", "the eBPF object, embedded in this program", try_object()),
        trial("btf", "types of the kernel, for fentry", try_btf()),
        trial("kallsyms", "addresses of kernel functions, for fentry", try_kallsyms()),
        trial("tracefs", "numbers of events, for tracepoints", try_tracefs()),
        trial("ring-buffer", "maps of the object, the ring buffer among them", try_ring_buffer()),
        trial("uprobe", "the markers around batches of our own code", try_uprobe()),
        trial("tracepoint", "system calls by events of their own", try_pair(syscall::trace_events)),
        trial("raw-tracepoint", "system calls by the points all of them pass", try_pair(syscall::trace_raw)),
        trial("fentry", "kernel functions, at the least cost", try_fentry()),
        trial("kprobe", "kernel functions, by breakpoints", try_kprobe()),
        trial("call", "kernel primitives, called from a program", try_call()),
    ]
}

fn try_object() -> Result<String, Refusal> {
    object::bytes().map(|bytes| format!("{} bytes", bytes.len()))
}

fn try_btf() -> Result<String, Refusal> {
    function::kernel_btf().map(|_| "readable".to_owned())
}

fn try_kallsyms() -> Result<String, Refusal> {
    let tried = || "reading /proc/kallsyms";
    let table = fs::read_to_string("/proc/kallsyms").map_err(|error| Refusal::from_error(tried(), &error))?;
    let visible = table.lines().filter(|line| !line.starts_with("0000000000000000 ")).count();
    if visible == 0 {
        return Err(Refusal::new(tried(), "all addresses read 0", Cause::HiddenAddresses));
    }
    Ok(format!("{visible} addresses"))
}

fn try_tracefs() -> Result<String, Refusal> {
    let mounted = tracefs::mounted();
    tracefs::with(|place| match mounted {
        Some(_) => format!("mounted at {}", place.display()),
        None => "not mounted; can be, for one thread alone".to_owned(),
    })
}

fn try_ring_buffer() -> Result<String, Refusal> {
    object::load(Sizes::SMALLEST, &Scope::default()).map(|_| "created".to_owned())
}

fn try_uprobe() -> Result<String, Refusal> {
    let mut markers = Markers::attach(Path::new("/proc/self/exe"))?;
    for raw in 0..CALLS {
        site::begin(BatchKey::from_raw(raw));
        site::end(BatchKey::from_raw(raw));
    }
    seen(markers.drain().len() as u64)
}

fn try_pair(trace: fn(&[Syscall], &Scope) -> Result<Session, Refusal>) -> Result<String, Refusal> {
    let call = Syscall::by_name("getppid").into_iter().collect::<Vec<_>>();
    let session = trace(&call, &Scope::own_thread())?;
    for _ in 0..CALLS {
        nix::unistd::getppid();
    }
    seen(session.read()?[0].total().n())
}

fn try_fentry() -> Result<String, Refusal> {
    seen(function::floor(CALLS as u32)?.n())
}

fn try_kprobe() -> Result<String, Refusal> {
    let mut ebpf = object::load(Sizes::SMALLEST, &Scope::default())?;
    let probe: &mut KProbe = object::program(&mut ebpf, program::KPROBE_TRIAL);
    let refuse = |error| Refusal::from_error(format!("attaching a kprobe to {ORDINARY_FUNCTION}"), &error);
    probe.load().map_err(refuse)?;
    probe.attach(ORDINARY_FUNCTION, 0).map_err(refuse)?;
    Ok("attaches".to_owned())
}

fn try_call() -> Result<String, Refusal> {
    let primitives: Vec<_> = Primitive::by_name("bpf_get_prandom_u32").into_iter().collect();
    let times = call::measure(primitives[0], 1)?;
    Ok(format!("{} calls ran", times.calls_per_sample))
}

/// Attached is not enough: what was done must have been counted.
fn seen(count: u64) -> Result<String, Refusal> {
    if count == CALLS {
        return Ok(format!("{count} of {CALLS} counted"));
    }
    Err(Refusal::new("counting calls that were made", format!("{count} of {CALLS} arrived"), Cause::Unknown))
}
