//! One line of reasoning for each fact of [`Host`].

use std::collections::BTreeMap;

use super::{Tree, caches, cpu::Cpu, cpu_list::CpuList, tree::Absent};
use crate::report::model::Host;

/// Collects why a fact is null.
#[derive(Default)]
struct Unknown(BTreeMap<String, String>);

impl Unknown {
    fn note<T>(&mut self, field: &str, fact: Result<T, impl ToString>) -> Option<T> {
        fact.map_err(|why| self.0.insert(field.to_owned(), why.to_string())).ok()
    }
}

pub(super) fn read(tree: &Tree, cpu: &Cpu) -> Host {
    let mut unknown = Unknown::default();
    let vulnerabilities = "sys/devices/system/cpu/vulnerabilities";
    let mut caches = caches::read(tree);
    if caches.is_empty() {
        caches.clone_from(&cpu.caches);
    }
    if caches.is_empty() {
        unknown.0.insert("caches".into(), "neither /sys/devices/system/cpu nor CPUID lists any".into());
    }
    Host {
        kernel: unknown.note("kernel", tree.text("proc/sys/kernel/osrelease")).unwrap_or_default(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu_model: unknown.note("cpu_model", model(tree, cpu)),
        cpus: unknown.note("cpus", cpus(tree)).unwrap_or(0),
        caches,
        clocksource: unknown.note(
            "clocksource",
            tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        governor: unknown.note("governor", tree.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        mitigations: tree
            .names(vulnerabilities)
            .into_iter()
            .filter_map(|name| {
                tree.text(&format!("{vulnerabilities}/{name}")).ok().map(|state| (name, state))
            })
            .collect(),
        virtualization: unknown.note("virtualization", virtualization(tree, cpu)),
        lockdown: unknown.note("lockdown", lockdown(tree)),
        preempt: unknown.note("preempt", preempt(tree)),
        thp: unknown.note("thp", chosen(tree, "sys/kernel/mm/transparent_hugepage/enabled")),
        aslr: unknown
            .note("aslr", tree.number("proc/sys/kernel/randomize_va_space", 3))
            .map(|level| level as u32),
        smt: unknown
            .note("smt", tree.number("sys/devices/system/cpu/smt/active", 2))
            .map(|active| active == 1),
        numa_nodes: unknown
            .note("numa_nodes", list(tree, "sys/devices/system/node/online"))
            .map(|nodes| nodes.len() as u32),
        microcode: unknown.note("microcode", microcode(tree)),
        memory_bytes: unknown.note("memory_bytes", memory(tree)),
        cmdline: unknown.note("cmdline", tree.text("proc/cmdline")),
        unknown: unknown.0,
    }
}

fn model(tree: &Tree, cpu: &Cpu) -> Result<String, String> {
    match &cpu.model {
        Some(model) => Ok(model.clone()),
        None => cpuinfo(tree, "model name"),
    }
}

fn cpuinfo(tree: &Tree, key: &str) -> Result<String, String> {
    let text = tree.text("proc/cpuinfo").map_err(|absent| absent.to_string())?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, value)| name.trim() == key && !value.trim().is_empty())
        .map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" "))
        .ok_or_else(|| format!("/proc/cpuinfo has no line `{key}`"))
}

fn list(tree: &Tree, path: &str) -> Result<CpuList, String> {
    let text = tree.text(path).map_err(|absent| absent.to_string())?;
    text.parse().map_err(|error| format!("/{path}: {error}"))
}

fn cpus(tree: &Tree) -> Result<u32, String> {
    list(tree, "sys/devices/system/cpu/online").map(|cpus| cpus.len() as u32).or_else(|why| {
        let text = tree.text("proc/cpuinfo").unwrap_or_default();
        match text.lines().filter(|line| line.starts_with("processor")).count() {
            0 => Err(why),
            count => Ok(count as u32),
        }
    })
}

/// The bracketed word of a list such as `always [madvise] never`.
fn chosen(tree: &Tree, path: &str) -> Result<String, String> {
    let text = tree.text(path).map_err(|absent| absent.to_string())?;
    bracketed(&text).ok_or_else(|| format!("/{path}: no choice is marked in {text:?}"))
}

fn bracketed(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    (!word.is_empty()).then(|| word.to_owned())
}

fn lockdown(tree: &Tree) -> Result<String, String> {
    chosen(tree, "sys/kernel/security/lockdown").map_err(|why| {
        if tree.names("sys/kernel/security").is_empty() {
            format!("{why}: securityfs is not mounted, or empty")
        } else {
            why
        }
    })
}

fn virtualization(tree: &Tree, cpu: &Cpu) -> Result<String, String> {
    let guest = cpu.hypervisor.clone().or_else(|| tree.text("sys/hypervisor/type").ok());
    let guest = guest.map(|name| format!("{name} guest"));
    let parts: Vec<String> = guest.into_iter().chain(container(tree)).collect();
    if parts.is_empty() {
        return Err("neither a hypervisor nor a container shows".to_owned());
    }
    Ok(parts.join(", "))
}

fn container(tree: &Tree) -> Option<String> {
    if let Ok(manager) = tree.text("run/systemd/container") {
        return Some(format!("container ({manager})"));
    }
    let marks = [("run/.containerenv", "podman"), (".dockerenv", "docker")];
    marks.iter().find(|(mark, _)| tree.has(mark)).map(|(_, name)| format!("container ({name})"))
}

/// The model in force, told apart from the one that was built in: a dynamic kernel chooses at boot.
fn preempt(tree: &Tree) -> Result<String, String> {
    let debugfs = chosen_preempt(tree);
    if let Ok(model) = debugfs {
        return Ok(model);
    }
    let version = tree.text("proc/sys/kernel/version").unwrap_or_default();
    let has = |word: &str| version.split_whitespace().any(|part| part == word);
    if has("PREEMPT_RT") || tree.number("sys/kernel/realtime", 2) == Ok(1) {
        return Ok("rt".to_owned());
    }
    if has("PREEMPT_DYNAMIC") {
        let cmdline = tree.text("proc/cmdline").unwrap_or_default();
        return match cmdline.split_whitespace().rev().find_map(|word| word.strip_prefix("preempt=")) {
            Some(model @ ("none" | "voluntary" | "full" | "lazy")) => Ok(model.to_owned()),
            _ => Err(format!(
                "chosen at boot (PREEMPT_DYNAMIC), and only debugfs tells which: {}",
                debugfs.unwrap_err()
            )),
        };
    }
    if has("PREEMPT") {
        return Ok("full".to_owned());
    }
    Err("the kernel's version line does not tell".to_owned())
}

fn chosen_preempt(tree: &Tree) -> Result<String, String> {
    let path = "sys/kernel/debug/sched/preempt";
    let text = tree.text(path).map_err(|absent| absent.to_string())?;
    let (_, rest) = text.split_once('(').ok_or("no choice is marked")?;
    let (word, _) = rest.split_once(')').ok_or("no choice is marked")?;
    Ok(word.to_owned())
}

fn microcode(tree: &Tree) -> Result<String, String> {
    let file = tree.text("sys/devices/system/cpu/cpu0/microcode/version");
    file.or_else(|absent: Absent| cpuinfo(tree, "microcode").map_err(|_| absent.to_string()))
}

fn memory(tree: &Tree) -> Result<u64, String> {
    let text = tree.text("proc/meminfo").map_err(|absent| absent.to_string())?;
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
    kilobytes
        .and_then(|number| number.trim().parse::<u64>().ok()?.checked_mul(1024))
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "/proc/meminfo has no usable MemTotal".to_owned())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use proptest::prelude::*;

    use super::*;
    use crate::report::model::Cache;

    /// Every file that a fact is read from.
    const FILES: &[(&str, &str)] = &[
        ("proc/sys/kernel/osrelease", "6.12.1-test\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Thu Jan 1\n"),
        ("proc/sys/kernel/randomize_va_space", "2\n"),
        (
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Test  CPU   3000\nmicrocode\t: 0xab\n\nprocessor\t: 1\n",
        ),
        ("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n"),
        ("proc/cmdline", "quiet preempt=none preempt=full\n"),
        ("sys/devices/system/cpu/online", "0-2,5\n"),
        ("sys/devices/system/cpu/smt/active", "1\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ("sys/devices/system/cpu/vulnerabilities/spectre_v1", "Mitigation: fences\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", "64\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0,2\n"),
        ("sys/devices/system/cpu/cpu0/cache/index1/type", "Instruction\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/devices/system/node/online", "0-1\n"),
        ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/hypervisor/type", "xen\n"),
    ];

    fn lay_out(root: &Path, files: &[(&str, impl AsRef<[u8]>)]) {
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    #[test]
    fn a_whole_tree_gives_every_fact() {
        let root = tempfile::tempdir().unwrap();
        lay_out(root.path(), FILES);
        let host = read(&Tree::at(root.path()), &Cpu::default());
        assert_eq!(
            host,
            Host {
                kernel: "6.12.1-test".into(),
                arch: std::env::consts::ARCH.into(),
                cpu_model: Some("Test CPU 3000".into()),
                cpus: 4,
                caches: vec![Cache {
                    level: 1,
                    kind: "Data".into(),
                    size_bytes: 48 * 1024,
                    line_bytes: 64,
                    shared_by: 2
                }],
                clocksource: Some("tsc".into()),
                governor: Some("performance".into()),
                mitigations: BTreeMap::from([
                    ("meltdown".into(), "Not affected".into()),
                    ("spectre_v1".into(), "Mitigation: fences".into()),
                ]),
                virtualization: Some("xen guest".into()),
                lockdown: Some("integrity".into()),
                // The last word of the command line wins, as it does in the kernel.
                preempt: Some("full".into()),
                thp: Some("madvise".into()),
                aslr: Some(2),
                smt: Some(true),
                numa_nodes: Some(2),
                microcode: Some("0xab".into()),
                memory_bytes: Some(2048 * 1024),
                cmdline: Some("quiet preempt=none preempt=full".into()),
                unknown: BTreeMap::new(),
            }
        );
    }

    #[test]
    fn an_empty_tree_gives_nulls_with_reasons() {
        let root = tempfile::tempdir().unwrap();
        let host = read(&Tree::at(root.path()), &Cpu::default());
        assert_eq!((host.cpus, host.kernel.as_str(), host.lockdown.as_deref()), (0, "", None));
        for field in
            ["cpu_model", "caches", "governor", "lockdown", "preempt", "microcode", "memory_bytes", "cmdline"]
        {
            assert!(host.unknown.contains_key(field), "no reason for {field}");
        }
        assert_eq!(
            host.unknown["lockdown"],
            "/sys/kernel/security/lockdown: does not exist: securityfs is not mounted, or empty"
        );
    }

    #[test]
    fn a_dynamic_kernel_without_debugfs_does_not_guess_its_preemption() {
        let root = tempfile::tempdir().unwrap();
        lay_out(
            root.path(),
            &[("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC @0"), ("proc/cmdline", "quiet")],
        );
        let host = read(&Tree::at(root.path()), &Cpu::default());
        assert_eq!(host.preempt, None);
        assert!(host.unknown["preempt"].contains("PREEMPT_DYNAMIC"));
        lay_out(root.path(), &[("sys/kernel/debug/sched/preempt", "none voluntary (lazy)\n")]);
        assert_eq!(read(&Tree::at(root.path()), &Cpu::default()).preempt.as_deref(), Some("lazy"));
    }

    #[test]
    fn absurd_values_are_null() {
        let root = tempfile::tempdir().unwrap();
        lay_out(
            root.path(),
            &[
                ("sys/devices/system/cpu/online", "0-99999999999"),
                ("sys/devices/system/cpu/smt/active", "7"),
                ("proc/sys/kernel/randomize_va_space", "-1"),
                ("proc/meminfo", "MemTotal: 99999999999999999999 kB"),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise never"),
                ("sys/kernel/security/lockdown", "none [integrity"),
                ("sys/devices/system/node/online", "banana"),
            ],
        );
        let host = read(&Tree::at(root.path()), &Cpu::default());
        assert_eq!(host.cpus, 0);
        assert_eq!((host.smt, host.aslr, host.memory_bytes), (None, None, None));
        assert_eq!((host.thp, host.lockdown, host.numa_nodes), (None, None, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_content_panics(content in prop::collection::vec(any::<u8>(), 0..64), cut in 0_usize..40) {
            let root = tempfile::tempdir().unwrap();
            let files: Vec<(&str, Vec<u8>)> = FILES
                .iter()
                .map(|(path, whole)| {
                    let whole = whole.as_bytes();
                    (*path, [&whole[..cut.min(whole.len())], &content[..]].concat())
                })
                .collect();
            lay_out(root.path(), &files);
            let _ = read(&Tree::at(root.path()), &Cpu::default());
        }

        #[test]
        fn a_directory_in_the_place_of_a_file_is_null(which in 0..FILES.len()) {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join(FILES[which].0)).unwrap();
            let _ = read(&Tree::at(root.path()), &Cpu::default());
        }
    }
}
