//! Why the kernel would not: what was tried, what it answered, what is likely behind it, and what to do.

use std::error::Error as StdError;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use aya::EbpfError;
use aya::programs::ProgramError;
use nix::errno::Errno;

/// Lines of a verifier's log that are kept: the last ones say why.
const VERIFIER_LINES: usize = 6;

/// `ENOTSUPP` of the kernel, which it never meant to show.
const NOT_SUPPORTED_INSIDE: i32 = 524;

/// Something that was tried and did not work.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Refusal {
    /// What was tried, as in "loading hp_func_enter for vfs_read".
    pub tried: String,
    /// What the kernel, or whoever was asked, answered.
    pub answer: String,
    /// What is likely behind it.
    pub cause: Cause,
}

/// What is likely behind a refusal, as far as it changes what to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Cause {
    /// The process lacks a capability; named.
    Capability(&'static str),
    /// The kernel is locked down at this level.
    Lockdown(Lockdown),
    /// All capabilities are held and lockdown does not explain it: a policy of this kernel.
    Policy,
    /// `kernel.perf_event_paranoid` is this high.
    PerfEventParanoid(i32),
    /// The kernel gives no type information.
    NoBtf,
    /// This kernel was built without it, or has no function or event of that name.
    NotBuiltIn,
    /// It exists but cannot be traced: inlined, assembly, or marked so.
    NotTraceable,
    /// There is no tracefs.
    NoTracefs,
    /// The verifier refused the program; the end of its log.
    Verifier(String),
    /// This program was built without the eBPF object; why.
    NotEmbedded(&'static str),
    /// The addresses of functions are hidden.
    HiddenAddresses,
    /// The file to be probed is not as it should be.
    BadFile,
    /// Somebody asked to stop.
    Interrupted,
    /// No guess.
    Unknown,
}

/// How far a kernel is locked down.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Lockdown {
    /// Not at all.
    None,
    /// User space may not change the kernel.
    Integrity,
    /// Nor read it.
    Confidentiality,
}

impl Lockdown {
    /// The kernel's own word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
        }
    }

    /// The level that the kernel tells; `None` where it does not.
    #[must_use]
    pub fn read(root: &Path) -> Option<Self> {
        let text = fs::read_to_string(root.join("sys/kernel/security/lockdown")).ok()?;
        let level = text.split_once('[')?.1.split_once(']')?.0.to_owned();
        [Self::None, Self::Integrity, Self::Confidentiality].into_iter().find(|known| known.name() == level)
    }
}

/// What of the machine explains a refusal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Circumstances {
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    /// Where the kernel tells.
    pub lockdown: Option<Lockdown>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
}

/// `kernel.perf_event_paranoid` from which on only the privileged may trace the kernel.
const PERF_FORBIDS_KERNEL: i32 = 2;

/// Bits of `CapEff`, and the names to ask for. `CAP_SYS_ADMIN` includes the two others.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

impl Circumstances {
    /// Reads them below `root`, which is `/` but in tests.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
        let capabilities = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0);
        Self {
            capabilities,
            lockdown: Lockdown::read(root),
            perf_event_paranoid: fs::read_to_string(root.join("proc/sys/kernel/perf_event_paranoid"))
                .ok()
                .and_then(|level| level.trim().parse().ok()),
        }
    }

    fn holds(&self, capability: u32) -> bool {
        let held = |bit: u32| self.capabilities >> bit & 1 == 1;
        held(capability) || held(CAP_SYS_ADMIN)
    }

    /// The first capability that tracing takes and the process lacks.
    #[must_use]
    pub fn missing_capability(&self) -> Option<&'static str> {
        if !self.holds(CAP_BPF) {
            Some("CAP_BPF")
        } else if !self.holds(CAP_PERFMON) {
            Some("CAP_PERFMON")
        } else {
            None
        }
    }

    /// Every capability that tracing takes and the process lacks.
    #[must_use]
    pub fn missing_capabilities(&self) -> Vec<&'static str> {
        let needed = [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")];
        needed.into_iter().filter(|(bit, _)| !self.holds(*bit)).map(|(_, name)| name).collect()
    }

    /// What is behind "not permitted". perf says EACCES where its own switch decides, and all else EPERM.
    fn permission(&self, errno: Option<Errno>) -> Cause {
        if errno == Some(Errno::EACCES)
            && !self.holds(CAP_PERFMON)
            && let Some(level @ PERF_FORBIDS_KERNEL..) = self.perf_event_paranoid
        {
            return Cause::PerfEventParanoid(level);
        }
        if let Some(capability) = self.missing_capability() {
            return Cause::Capability(capability);
        }
        match self.lockdown {
            Some(level @ (Lockdown::Integrity | Lockdown::Confidentiality)) => Cause::Lockdown(level),
            _ => Cause::Policy,
        }
    }

    /// The likely cause of an error of the kernel's, where the verifier said `log`.
    #[must_use]
    pub fn explain(&self, errno: Option<Errno>, raw: Option<i32>, log: &str) -> Cause {
        let log = log.trim();
        // A program that may not use a helper is refused by the verifier, but not for a fault of its own. All
        // of ours exist on every kernel in scope, so a kernel that does not tell its lockdown tells it so.
        let forbidden =
            ["cannot use helper", "unknown func", "not allowed"].iter().any(|words| log.contains(words));
        if forbidden && matches!(self.lockdown, None | Some(Lockdown::Confidentiality)) {
            return Cause::Lockdown(Lockdown::Confidentiality);
        }
        let permission = matches!(errno, Some(Errno::EPERM | Errno::EACCES));
        if permission && self.missing_capability().is_some() {
            return self.permission(errno);
        }
        let said_more_than_statistics = log.lines().any(|line| !is_statistics(line));
        if said_more_than_statistics && !(errno == Some(Errno::EPERM)) {
            return Cause::Verifier(last_lines(log));
        }
        if permission {
            return self.permission(errno);
        }
        match (errno, raw) {
            (Some(Errno::ENOENT | Errno::ENODEV | Errno::ESRCH), _) => Cause::NotBuiltIn,
            (_, Some(NOT_SUPPORTED_INSIDE)) | (Some(Errno::EOPNOTSUPP), _) => Cause::NotTraceable,
            (Some(Errno::EBUSY | Errno::EADDRNOTAVAIL), _) => Cause::NotTraceable,
            _ => Cause::Unknown,
        }
    }
}

fn is_statistics(line: &str) -> bool {
    ["processed ", "verification time", "stack depth", "func#", "max_states"]
        .iter()
        .any(|start| line.trim_start().starts_with(start))
        || line.trim().is_empty()
}

fn last_lines(log: &str) -> String {
    let lines: Vec<_> = log.lines().filter(|line| !is_statistics(line)).collect();
    lines[lines.len().saturating_sub(VERIFIER_LINES)..].join("\n")
}

impl Refusal {
    /// With a cause that is known.
    #[must_use]
    pub fn new(tried: impl Into<String>, answer: impl Into<String>, cause: Cause) -> Self {
        Self { tried: tried.into(), answer: answer.into(), cause }
    }

    /// From an error of aya's, whose cause the machine's state tells.
    #[must_use]
    pub fn from_error(tried: impl Into<String>, error: &(dyn StdError + 'static)) -> Self {
        let (mut io_error, mut log) = (None, String::new());
        let mut cause = None;
        let mut link = Some(error);
        while let Some(current) = link {
            if let Some(found) = current.downcast_ref::<io::Error>() {
                io_error = Some(found);
            }
            if let Some(ProgramError::LoadError { verifier_log, .. }) = program_error(current) {
                log = verifier_log.to_string();
            }
            if let Some(ProgramError::Btf(_)) = program_error(current) {
                cause = Some(Cause::NotBuiltIn);
            }
            link = current.source();
        }
        let raw = io_error.and_then(io::Error::raw_os_error);
        let errno = raw.map(Errno::from_raw);
        let cause = cause.unwrap_or_else(|| Circumstances::read(Path::new("/")).explain(errno, raw, &log));
        let answer = match (errno, io_error) {
            (_, Some(_)) if raw == Some(NOT_SUPPORTED_INSIDE) => "ENOTSUPP: not supported".to_owned(),
            (Some(errno), _) => format!("{errno:?}: {}", errno.desc()),
            (None, Some(error)) => error.to_string(),
            (None, None) => error.to_string(),
        };
        Self { tried: tried.into(), answer, cause }
    }
}

fn program_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a ProgramError> {
    error.downcast_ref::<ProgramError>().or_else(|| match error.downcast_ref::<EbpfError>() {
        Some(EbpfError::ProgramError(error)) => Some(error),
        _ => None,
    })
}

impl Cause {
    /// Stable, kebab-case.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Capability(_) => "capability",
            Self::Lockdown(_) => "lockdown",
            Self::Policy => "policy",
            Self::PerfEventParanoid(_) => "perf-event-paranoid",
            Self::NoBtf => "no-btf",
            Self::NotBuiltIn => "not-built-in",
            Self::NotTraceable => "not-traceable",
            Self::NoTracefs => "no-tracefs",
            Self::Verifier(_) => "verifier",
            Self::NotEmbedded(_) => "not-embedded",
            Self::HiddenAddresses => "hidden-addresses",
            Self::BadFile => "bad-file",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it stops every target of a mechanism, and not just the one it was met at.
    #[must_use]
    pub const fn is_of_all(&self) -> bool {
        matches!(
            self,
            Self::Capability(_)
                | Self::Lockdown(_)
                | Self::Policy
                | Self::PerfEventParanoid(_)
                | Self::NoBtf
                | Self::NoTracefs
                | Self::Verifier(_)
                | Self::NotEmbedded(_)
                | Self::HiddenAddresses
                | Self::Interrupted
        )
    }

    /// Whether it lies in this environment (privilege, kernel, lockdown, BTF) and not in the target.
    #[must_use]
    pub const fn is_of_environment(&self) -> bool {
        self.is_of_all() && !matches!(self, Self::Interrupted)
    }

    /// What to do about it.
    #[must_use]
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::Capability(_) => "run as root, or give the program CAP_BPF and CAP_PERFMON",
            Self::Lockdown(_) => "boot without lockdown, or use a mechanism that it leaves",
            Self::Policy => "use another mechanism: this kernel does not give this one",
            Self::PerfEventParanoid(_) => "run as root, or lower kernel.perf_event_paranoid",
            Self::NoBtf => "use a kernel built with CONFIG_DEBUG_INFO_BTF",
            Self::NotBuiltIn => "use another target or mechanism: this kernel was built without it",
            Self::NotTraceable => "trace its caller, or its system call",
            Self::NoTracefs => "mount tracefs on /sys/kernel/tracing, or use a mechanism that needs none",
            Self::Verifier(_) => "report this: the program should load on every kernel from 6.1 on",
            Self::NotEmbedded(_) => "run `cargo xtask build-ebpf`, then build again",
            Self::HiddenAddresses => "run as root with kernel.kptr_restrict below 2",
            Self::BadFile => "name a program that contains the probe sites",
            Self::Interrupted => "start again",
            Self::Unknown => "see what the kernel's log says",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability(name) => write!(f, "{name} is not held"),
            Self::Lockdown(level) => write!(f, "the kernel is locked down ({})", level.name()),
            Self::Policy => f.write_str("capabilities are held, so it is a policy of this kernel"),
            Self::PerfEventParanoid(level) => write!(f, "kernel.perf_event_paranoid is {level}"),
            Self::NoBtf => f.write_str("the kernel has no BTF"),
            Self::NotBuiltIn => f.write_str("not in this kernel"),
            Self::NotTraceable => f.write_str("it exists but cannot be traced"),
            Self::NoTracefs => f.write_str("there is no tracefs"),
            Self::Verifier(log) => write!(f, "the verifier refused the program: {log}"),
            Self::NotEmbedded(why) => write!(f, "this build has no eBPF object: {why}"),
            Self::HiddenAddresses => f.write_str("the kernel hides its addresses"),
            Self::BadFile => f.write_str("the file is not as expected"),
            Self::Interrupted => f.write_str("a signal"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tried, answer, cause } = self;
        write!(f, "{tried}: {answer} (likely: {cause}; next: {})", cause.next_step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_CAPABILITIES: u64 = 0x1ff_ffff_ffff;

    fn circumstances(capabilities: u64, lockdown: Option<Lockdown>) -> Circumstances {
        Circumstances { capabilities, lockdown, perf_event_paranoid: Some(2) }
    }

    fn explain(circumstances: &Circumstances, errno: Errno, log: &str) -> Cause {
        circumstances.explain(Some(errno), Some(errno as i32), log)
    }

    #[test]
    fn not_permitted_is_told_apart() {
        assert_eq!(explain(&circumstances(0, None), Errno::EPERM, ""), Cause::Capability("CAP_BPF"));
        let only_bpf = circumstances(1 << CAP_BPF, None);
        assert_eq!(explain(&only_bpf, Errno::EPERM, ""), Cause::Capability("CAP_PERFMON"));
        assert_eq!(explain(&only_bpf, Errno::EACCES, ""), Cause::PerfEventParanoid(2));
        let permissive = Circumstances { perf_event_paranoid: Some(1), ..only_bpf };
        assert_eq!(explain(&permissive, Errno::EACCES, ""), Cause::Capability("CAP_PERFMON"));
        let both = circumstances(1 << CAP_BPF | 1 << CAP_PERFMON, Some(Lockdown::None));
        assert_eq!(explain(&both, Errno::EPERM, ""), Cause::Policy);
        let locked = circumstances(ALL_CAPABILITIES, Some(Lockdown::Integrity));
        assert_eq!(explain(&locked, Errno::EPERM, ""), Cause::Lockdown(Lockdown::Integrity));
    }

    #[test]
    fn a_verifier_s_refusal_is_no_missing_privilege() {
        let root = circumstances(ALL_CAPABILITIES, None);
        let log = "0: R1=ctx()\n1: (85) call foo#9\nR1 invalid mem access 'scalar'\nprocessed 2 insns (limit 1000000)";
        let Cause::Verifier(tail) = explain(&root, Errno::EACCES, log) else { panic!("not the verifier") };
        assert!(tail.ends_with("R1 invalid mem access 'scalar'"), "{tail}");
        assert_eq!(
            explain(&root, Errno::EPERM, "processed 0 insns (limit 1000000) max_states_per_insn 0"),
            Cause::Policy
        );
    }

    #[test]
    fn a_helper_that_lockdown_takes_away_is_lockdown() {
        let locked = circumstances(ALL_CAPABILITIES, Some(Lockdown::Confidentiality));
        let log = "program of this type cannot use helper bpf_probe_read#4";
        assert_eq!(explain(&locked, Errno::EINVAL, log), Cause::Lockdown(Lockdown::Confidentiality));
        let untold = circumstances(ALL_CAPABILITIES, None);
        assert_eq!(explain(&untold, Errno::EINVAL, log), Cause::Lockdown(Lockdown::Confidentiality));
        let open = circumstances(ALL_CAPABILITIES, Some(Lockdown::None));
        assert!(matches!(explain(&open, Errno::EINVAL, log), Cause::Verifier(_)));
    }

    #[test]
    fn what_is_missing_is_not_what_is_forbidden() {
        let root = circumstances(ALL_CAPABILITIES, None);
        assert_eq!(explain(&root, Errno::ENOENT, ""), Cause::NotBuiltIn);
        assert_eq!(root.explain(Some(Errno::UnknownErrno), Some(524), ""), Cause::NotTraceable);
        assert_eq!(explain(&root, Errno::EBUSY, ""), Cause::NotTraceable);
    }

    #[test]
    fn circumstances_are_read_from_files() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\n");
        write("proc/sys/kernel/perf_event_paranoid", "3\n");
        write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        let read = Circumstances::read(root.path());
        assert_eq!(
            read,
            Circumstances {
                capabilities: 0xc0_0000_0000,
                lockdown: Some(Lockdown::Integrity),
                perf_event_paranoid: Some(3),
            }
        );
        assert_eq!(read.missing_capability(), None);
    }

    #[test]
    fn a_refusal_says_all_four() {
        let refusal = Refusal::new("attaching a kprobe", "ENOENT", Cause::NotBuiltIn);
        assert_eq!(
            refusal.to_string(),
            "attaching a kprobe: ENOENT (likely: not in this kernel; next: use another target or mechanism: this kernel was built without it)"
        );
    }
}
