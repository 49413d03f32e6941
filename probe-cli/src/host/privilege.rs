//! Which capabilities this process has: what it may do, whoever it is.

use serde::Serialize;

use super::Tree;

/// Capabilities that loading and attaching can need: number in `linux/capability.h`, name, what for.
const NEEDED: &[(u32, &str, &str)] = &[
    (39, "CAP_BPF", "load eBPF programs and maps"),
    (38, "CAP_PERFMON", "attach them, and read kernel memory from them"),
    (12, "CAP_NET_ADMIN", "load network programs, such as the one that calls bpf_fib_lookup"),
    (34, "CAP_SYSLOG", "see kernel addresses in /proc/kallsyms"),
    (21, "CAP_SYS_ADMIN", "mount tracefs in a namespace of its own; stands in for CAP_BPF and CAP_PERFMON"),
];

const SYS_ADMIN: u32 = 21;

/// One capability, as this process has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Capability {
    /// Its name.
    pub name: &'static str,
    /// Whether it is in the effective set.
    pub held: bool,
    /// What it is needed for here.
    pub needed_for: &'static str,
}

/// The effective capabilities, of those that matter here; null where /proc does not tell.
#[must_use]
pub fn capabilities(tree: &Tree) -> Option<Vec<Capability>> {
    let mask = effective(&tree.text("proc/self/status").ok()?)?;
    let held = |number: u32| mask & 1 << number != 0;
    let rows = NEEDED.iter().map(|&(number, name, needed_for)| Capability {
        name,
        held: held(number) || (matches!(number, 38 | 39) && held(SYS_ADMIN)),
        needed_for,
    });
    Some(rows.collect())
}

/// The mask on the line `CapEff:` of /proc/PID/status.
fn effective(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?.trim();
    u64::from_str_radix(mask, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn held(status: &str) -> Option<Vec<&'static str>> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/status"), status).unwrap();
        let rows = capabilities(&Tree::at(root.path()))?;
        Some(rows.into_iter().filter(|row| row.held).map(|row| row.name).collect())
    }

    #[test]
    fn the_effective_set_decides_not_the_user() {
        // Uid 0 with nothing, uid 1000 with two.
        assert_eq!(
            held("Uid:\t0\t0\t0\t0\nCapPrm:\tffffffffff\nCapEff:\t0000000000000000\n").unwrap(),
            [""; 0]
        );
        assert_eq!(held("Uid:\t1000\nCapEff:\t000000c000000000\n").unwrap(), ["CAP_BPF", "CAP_PERFMON"]);
    }

    #[test]
    fn the_old_capability_stands_in_for_the_new_ones() {
        assert_eq!(held("CapEff:\t0000000000200000\n").unwrap(), ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN"]);
    }

    #[test]
    fn a_status_without_the_line_says_nothing() {
        assert_eq!(held("Name:\tx\n"), None);
        assert_eq!(held("CapEff:\tzz\n"), None);
        assert_eq!(held("CapEff:\t1ffffffffffffffffffff\n"), None);
    }
}
