//! What a tracer costs a system call that it traces, and one that it does not: ours and those of others, on the same
//! calls.
//!
//! A probe is on the machine, not on a variant. So whatever is attached is taken off before a batch, and that variant's own
//! is put on: programs of others are started and ended for each batch, which is why a batch takes seconds.

use std::any::Any;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getppid, getuid};
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};
use probe_cli::harness::pairs::{self, Paired};
use probe_cli::harness::run::Measured;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::syscall::{self, Syscall};

use super::target::{Aim, Judge, Part, Sweep};

const NAME: &str = "tracer-cost";
const TRACED: &str = "traced-call";
const BYSTANDER: &str = "other-call";

const NOTHING: &str = "nothing";
const OURS: &str = "ours";
const PLAIN: &str = "bpftrace-plain";
const TUNED: &str = "bpftrace-tuned";
const PERF: &str = "perf-trace";

/// Calls of a batch.
const CALLS: u64 = 20_000;

/// What others are asked to do with `getppid`, whose number on x86-64 is 110.
const PLAIN_SCRIPT: &str = "BEGIN { printf(\"ready\\n\"); } \
    tracepoint:syscalls:sys_enter_getppid { @s[tid] = nsecs; } \
    tracepoint:syscalls:sys_exit_getppid /@s[tid]/ { @ns = hist(nsecs - @s[tid]); delete(@s[tid]); }";
const TUNED_SCRIPT: &str = "BEGIN { printf(\"ready\\n\"); } \
    tracepoint:raw_syscalls:sys_enter /args->id == 110/ { @s[tid] = nsecs; } \
    tracepoint:raw_syscalls:sys_exit /args->id == 110 && @s[tid]/ { @ns = hist(nsecs - @s[tid]); delete(@s[tid]); }";

/// How long a program of others has, after it says that it is ready, to be so.
const SETTLE: Duration = Duration::from_millis(300);

/// System calls under a tracer.
#[derive(Debug)]
pub(crate) struct TracerCost;

/// What is attached at the moment.
static ATTACHED: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);

#[derive(Clone, Copy)]
enum Tracer {
    Nothing,
    Ours,
    /// A program, and whether it says that it is ready.
    Program(fn() -> Vec<OsString>, bool),
}

const TRACERS: [(&str, &str, Tracer); 5] = [
    (NOTHING, "nobody traces", Tracer::Nothing),
    (OURS, "entry and exit events; histogram, quality counters, depth", Tracer::Ours),
    (
        PLAIN,
        "bpftrace, a map of begins by thread, a histogram",
        Tracer::Program(|| bpftrace(PLAIN_SCRIPT), true),
    ),
    (
        TUNED,
        "bpftrace on the events of all calls, by number",
        Tracer::Program(|| bpftrace(TUNED_SCRIPT), true),
    ),
    (PERF, "perf trace -s on the process", Tracer::Program(perf, false)),
];

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn bpftrace(script: &str) -> Vec<OsString> {
    words(&["bpftrace", "-e", script])
}

fn perf() -> Vec<OsString> {
    let own = std::process::id().to_string();
    words(&["perf", "trace", "-s", "-p", &own, "-o", "/dev/null"])
}

impl Comparison for TracerCost {
    fn name(&self) -> &str {
        NAME
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let variants = TRACERS.map(|(name, summary, tracer)| VariantInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            named: true,
            unavailable: unavailable(tracer),
        });
        let case = |name: &str, title: &str| Case {
            name: name.to_owned(),
            title: title.to_owned(),
            tasks: 1,
            operation: "call",
            variants: variants.to_vec(),
        };
        vec![
            case(TRACED, "getppid, which is traced: one of the emptiest calls there is"),
            case(BYSTANDER, "getuid, while getppid is traced"),
        ]
    }

    fn work_check(&self, _case: &Case) -> Result<String, String> {
        let session = syscall::trace_events(&[getppid_call()], &Scope::default());
        let session = session.map_err(|refusal| refusal.to_string())?;
        for _ in 0..CALLS {
            getppid();
        }
        let counted = session.read().map_err(|refusal| refusal.to_string())?[0].total().n();
        // Everybody is counted, as the others do.
        if counted < CALLS {
            return Err(format!("{counted} of {CALLS} calls were counted"));
        }
        Ok(format!("each batch makes {CALLS} calls; ours counts them all"))
    }

    /// A program that was started a moment ago takes a CPU now and then, and what it takes is part of what it costs.
    fn waits_by_design(&self, _case: &Case) -> bool {
        true
    }

    fn prepare(&self, case: &Case, variant: usize, _seed: u64) -> Box<dyn Workload> {
        Box::new(Calls { tracer: TRACERS[variant].2, traced: case.name == TRACED })
    }
}

fn getppid_call() -> Syscall {
    Syscall::by_name("getppid").expect("the table has it")
}

fn unavailable(tracer: Tracer) -> Option<String> {
    match tracer {
        Tracer::Nothing => None,
        Tracer::Ours => syscall::trace_events(&[getppid_call()], &Scope::default())
            .err()
            .map(|refusal| refusal.to_string()),
        Tracer::Program(command, _) => {
            let program = command().remove(0);
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path).any(|folder| folder.join(&program).is_file());
            (!found).then(|| format!("{} is not installed", Path::new(&program).display()))
        }
    }
}

struct Calls {
    tracer: Tracer,
    traced: bool,
}

impl Workload for Calls {
    fn reset(&mut self) {
        let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
        // First off, then on.
        drop(attached.take());
        *attached = match self.tracer {
            Tracer::Nothing => None,
            Tracer::Ours => {
                let session = syscall::trace_events(&[getppid_call()], &Scope::default());
                Some(Box::new(session.unwrap_or_else(|refusal| panic!("{refusal}"))))
            }
            Tracer::Program(command, says_so) => Some(Box::new(Program::start(&command(), says_so))),
        };
    }

    fn run(&self, _task: usize) -> u64 {
        for _ in 0..CALLS {
            if self.traced {
                getppid();
            } else {
                getuid();
            }
        }
        CALLS
    }
}

/// A tracer of somebody else's, with what it starts. It ends with the thread that started it: what is attached last is
/// dropped by nobody.
struct Program(Child);

impl Program {
    /// It needs a tracefs, and gets one that nobody else sees.
    fn start(command: &[OsString], says_so: bool) -> Self {
        let mut child = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "KILL",
                "unshare",
                "--mount",
                "sh",
                "-c",
                "mount -t tracefs nodev /sys/kernel/tracing && exec \"$@\"",
                "sh",
            ])
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("setpriv could not be started: {error}"));
        if says_so && let Some(output) = &mut child.stdout {
            let mut lines = BufReader::new(output).lines();
            let ready = lines.by_ref().map_while(Result::ok).any(|line| line == "ready");
            assert!(ready, "{} ended before it was ready", Path::new(&command[0]).display());
        } else {
            thread::sleep(2 * SETTLE);
        }
        thread::sleep(SETTLE);
        Self(child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.0.id().cast_signed());
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.0.wait();
        // Its probes are gone when the kernel has seen the last of them.
        thread::sleep(Duration::from_millis(100));
    }
}

/// What ours adds to a call beside what the peer adds: both less the call that nobody traces, in the same block.
pub(crate) fn paired(measured: &Measured, cpus: usize, part: &Part) -> Result<Paired, String> {
    let less_nothing = |variant: &str| {
        let pair = pairs::paired(&TracerCost, measured, cpus, &part.case, variant, NOTHING)?;
        let added = pair.ours.iter().zip(&pair.theirs).map(|(with, without)| {
            let blocks = with.iter().zip(without);
            blocks.map(|(with, without)| Some((*with)? - (*without)?)).collect::<Vec<_>>()
        });
        Ok::<_, String>((added.collect::<Vec<_>>(), pair.drop_rate, pair.drops))
    };
    let ((ours, dropped, drops), (theirs, theirs_dropped, their_drops)) =
        (less_nothing(part.ours)?, less_nothing(part.peer)?);
    let drops = if dropped > theirs_dropped { drops } else { their_drops };
    Ok(Paired { ours, theirs, drop_rate: dropped.max(theirs_dropped), drops })
}

/// Whether a target is of this comparison and held against a peer, so that [`paired`] is asked.
pub(crate) fn is_added(part: &Part) -> bool {
    [PLAIN, TUNED, PERF].contains(&part.peer)
}

pub(crate) fn sweeps() -> Vec<Sweep> {
    let sweep = |id, work, case: &str, peer, aim, note| Sweep {
        id,
        work,
        comparison: NAME,
        parts: vec![Part { case: case.to_owned(), ours: OURS, peer, aim }],
        judged_by: Judge::Worst,
        note,
    };
    vec![
        sweep(
            "T1",
            "added to one traced call, against bpftrace, plain",
            TRACED,
            PLAIN,
            Aim::AtMost(0.55),
            added,
        ),
        sweep(
            "T1",
            "added to one traced call, against bpftrace, tuned",
            TRACED,
            TUNED,
            Aim::AtMost(0.9),
            added,
        ),
        sweep("T1", "added to one traced call, against perf trace -s", TRACED, PERF, Aim::AtMost(0.9), added),
        sweep("T7", "added to a call that is not traced", BYSTANDER, NOTHING, Aim::NsMore(5.0), bystander),
        sweep(
            "T7",
            "added to a call that is not traced, against bpftrace, tuned",
            BYSTANDER,
            TUNED,
            Aim::AtMost(1.0),
            added,
        ),
        sweep(
            "T7",
            "added to a call that is not traced, against perf trace -s",
            BYSTANDER,
            PERF,
            Aim::AtMost(1.0),
            added,
        ),
    ]
}

fn added() -> String {
    "both less the untraced call in the same block; everybody's calls are traced, by perf those of the process; bpftrace \
     of this version knows no raw tracepoints, so its tuned form takes the events of all calls and looks at the number"
        .to_owned()
}

fn bystander() -> String {
    "entry and exit events of another call: the kernel's own path for traced calls is taken by all, which is what is \
     seen; the target is 0 within what a bench can tell, 5 ns"
        .to_owned()
}
