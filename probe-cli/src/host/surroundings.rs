//! What surrounds a tracer: the kernel's files and switches, the clock, the CPU, other tools.

use std::{env, os::unix::fs::PermissionsExt, path::PathBuf};

use serde::Serialize;

use super::{Tree, cpu::Cpu, privilege::Capability, vdso};
use crate::report::model::Host;

/// One thing that was looked at.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// Whether it is as the tool would have it; null where it could not be told.
    pub good: Option<bool>,
    /// What was found.
    pub detail: String,
    /// What to do about it, where something can be done and would help.
    pub remedy: Option<String>,
}

impl Finding {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, good: Some(true), detail: detail.into(), remedy: None }
    }

    fn bad(name: &'static str, detail: impl Into<String>, remedy: &str) -> Self {
        let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
        Self { name, good: Some(false), detail: detail.into(), remedy }
    }

    fn unknown(name: &'static str, why: impl Into<String>) -> Self {
        Self { name, good: None, detail: why.into(), remedy: None }
    }
}

/// Everything of the kernel and the machine that decides what can be measured, in the order people ask.
#[must_use]
pub fn look(tree: &Tree, host: &Host, cpu: &Cpu, capabilities: &[Capability]) -> Vec<Finding> {
    let held = |name: &str| capabilities.iter().any(|capability| capability.name == name && capability.held);
    vec![
        lockdown(host),
        perf_event_paranoid(tree, held("CAP_PERFMON")),
        unprivileged_bpf(tree, held("CAP_BPF")),
        vdso_getrandom(tree),
        clocksource(host),
        tsc(cpu),
        features(cpu),
        huge_pages(tree, host),
        quiet(host),
    ]
}

fn lockdown(host: &Host) -> Finding {
    let name = "lockdown";
    match host.lockdown.as_deref() {
        Some("none") => Finding::good(name, "none"),
        Some("integrity") => Finding::bad(
            name,
            "integrity: some kernels refuse programs that could change memory",
            "nothing need be done while the mechanisms above work",
        ),
        Some(level) => Finding::bad(
            name,
            format!("{level}: programs may not read kernel memory, and tracefs is never mounted"),
            "boot with lockdown=integrity or less for the rest",
        ),
        None => Finding::unknown(name, host.unknown.get("lockdown").cloned().unwrap_or_default()),
    }
}

fn perf_event_paranoid(tree: &Tree, held: bool) -> Finding {
    let name = "perf_event_paranoid";
    match tree.text("proc/sys/kernel/perf_event_paranoid").map(|text| text.parse::<i32>()) {
        Ok(Ok(level)) if level < 2 => Finding::good(name, level.to_string()),
        Ok(Ok(level)) if held => Finding::good(name, format!("{level}, and CAP_PERFMON is held")),
        Ok(Ok(level)) => Finding::bad(
            name,
            format!("{level}: attaching to tracepoints and user functions needs CAP_PERFMON"),
            "give the program CAP_PERFMON, or run as root; lowering the level is not needed",
        ),
        Ok(Err(error)) => Finding::unknown(name, error.to_string()),
        Err(absent) => Finding::unknown(name, absent.to_string()),
    }
}

fn unprivileged_bpf(tree: &Tree, held: bool) -> Finding {
    let name = "unprivileged eBPF";
    match tree.number("proc/sys/kernel/unprivileged_bpf_disabled", 3) {
        Ok(0) => Finding::good(name, "allowed (for socket filters only)"),
        Ok(level) if held => Finding::good(name, format!("off ({level}), and CAP_BPF is held")),
        Ok(level) => Finding::bad(
            name,
            format!("off ({level}), as on most systems: loading needs CAP_BPF"),
            "give the program CAP_BPF and CAP_PERFMON, or run as root",
        ),
        Err(absent) => Finding::unknown(name, absent.to_string()),
    }
}

fn vdso_getrandom(tree: &Tree) -> Finding {
    let name = "vDSO getrandom";
    match vdso::has_getrandom(tree) {
        Ok(true) => Finding::good(
            name,
            "a C library that uses it makes no system call; this tool calls the kernel directly",
        ),
        Ok(false) => Finding::bad(name, "not in this kernel (6.11 brought it)", ""),
        Err(why) => Finding::unknown(name, why),
    }
}

fn clocksource(host: &Host) -> Finding {
    let name = "clock source";
    match host.clocksource.as_deref() {
        Some(source @ ("tsc" | "arch_sys_counter")) => Finding::good(name, source),
        Some(source) => Finding::bad(
            name,
            format!("{source}: reading the time enters the kernel or a device, so floors are high"),
            "boot with clocksource=tsc where the hypervisor keeps the TSC steady",
        ),
        None => Finding::unknown(name, host.unknown.get("clocksource").cloned().unwrap_or_default()),
    }
}

fn tsc(cpu: &Cpu) -> Finding {
    let name = "invariant TSC";
    match cpu.invariant_tsc {
        Some(true) => Finding::good(name, "batches are timed by it"),
        Some(false) => Finding::bad(name, "batches are timed by the monotonic clock", ""),
        None => Finding::unknown(name, "CPUID does not tell"),
    }
}

fn features(cpu: &Cpu) -> Finding {
    let names = |present| {
        let names =
            cpu.features.iter().filter(|feature| feature.present == present).map(|feature| feature.name);
        names.collect::<Vec<_>>().join(" ")
    };
    let (there, missing) = (names(true), names(false));
    let name = "CPU features";
    match (there.is_empty(), missing.is_empty()) {
        (true, true) => Finding::unknown(name, "not looked for on this architecture"),
        (_, true) => Finding::good(name, there),
        _ => {
            Finding::bad(name, format!("{there}; without {missing}"), "variants that need them are left out")
        }
    }
}

fn huge_pages(tree: &Tree, host: &Host) -> Finding {
    let name = "huge pages";
    let meminfo = tree.text("proc/meminfo").unwrap_or_default();
    let reserved =
        meminfo.lines().find_map(|line| line.strip_prefix("HugePages_Total:")?.trim().parse::<u64>().ok());
    let reserved = reserved.map_or_else(String::new, |pages| format!("; {pages} reserved"));
    match host.thp.as_deref() {
        Some("never") => Finding::bad(
            name,
            format!("transparent ones never{reserved}"),
            "write madvise to /sys/kernel/mm/transparent_hugepage/enabled for rows with large working sets",
        ),
        Some(mode) => Finding::good(
            name,
            format!("transparent ones {mode}{reserved}; what a run obtained is in its report"),
        ),
        None => Finding::unknown(name, host.unknown.get("thp").cloned().unwrap_or_default()),
    }
}

fn quiet(host: &Host) -> Finding {
    let name = "quiet machine";
    let mut noise = Vec::new();
    if let Some(guest) = &host.virtualization {
        noise.push(format!("{guest}: the host can take CPUs away"));
    }
    if host.smt == Some(true) {
        noise.push("sibling threads share cores".to_owned());
    }
    if host.governor.as_deref().is_some_and(|governor| governor != "performance") {
        noise.push("the frequency governor is not `performance`".to_owned());
    }
    if noise.is_empty() {
        return Finding::good(name, "nothing speaks against it");
    }
    Finding::bad(
        name,
        noise.join("; "),
        "runs drop disturbed pairs and print how many; the noise floor is in every report",
    )
}

/// Programs that tests and comparisons can use, and where they are.
#[must_use]
pub fn programs() -> Vec<Finding> {
    let wanted = [
        ("bpftrace", "the peer that traces are compared with"),
        ("perf", "counts the probe sites in tests"),
        ("valgrind", "counts instructions"),
        ("qemu-system-x86_64", "boots other kernels"),
    ];
    let find = |name: &'static str, purpose: &str| match on_path(name) {
        Some(path) => Finding::good(name, path.display().to_string()),
        None => Finding::bad(
            name,
            format!("not on PATH: {purpose}"),
            "install the package of that name, if you want it",
        ),
    };
    wanted.iter().map(|&(name, purpose)| find(name, purpose)).collect()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(files: &[(&str, &str)], name: &str) -> Finding {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let tree = Tree::at(root.path());
        let host = super::super::read(&tree, &Cpu::default());
        look(&tree, &host, &Cpu::default(), &[]).into_iter().find(|finding| finding.name == name).unwrap()
    }

    #[test]
    fn each_level_of_lockdown_has_its_own_words() {
        let state = |text: &str| found(&[("sys/kernel/security/lockdown", text)], "lockdown");
        assert_eq!(state("[none] integrity confidentiality").good, Some(true));
        assert!(state("none [integrity] confidentiality").detail.starts_with("integrity"));
        assert!(state("none integrity [confidentiality]").detail.contains("never mounted"));
        let unknown = found(&[], "lockdown");
        assert_eq!(unknown.good, None);
        assert!(unknown.detail.contains("securityfs is not mounted"), "{unknown:?}");
    }

    #[test]
    fn an_empty_tree_leaves_nothing_out_and_panics_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::at(root.path());
        let findings = look(&tree, &super::super::read(&tree, &Cpu::default()), &Cpu::default(), &[]);
        assert_eq!(findings.len(), 9);
        // Whatever is bad and can be mended says how.
        assert!(findings.iter().all(|finding| !finding.detail.is_empty()), "{findings:?}");
    }
}
