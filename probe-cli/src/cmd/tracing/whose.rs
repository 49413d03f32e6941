//! From flags to a scope: what the kernel is to count.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use probe_abi::maps::By;
use probe_abi::size::Classes;

use super::arguments::{Arguments, Split};
use crate::error::{Error, Result};
use crate::probe::scope::{Cgroup, Scope};
use crate::probe::session;

/// The scope, but for the process that is yet to be started; and in words.
pub(super) fn scope(arguments: &Arguments) -> Result<Scope> {
    let mut by = By::Nobody;
    for split in &arguments.by {
        let wanted = match split {
            Split::Pid => By::Process,
            Split::Comm => By::Comm,
            Split::Cgroup => By::Cgroup,
            Split::Size => continue,
        };
        if by != By::Nobody && by != wanted {
            return usage("--by takes one of pid, comm and cgroup, and size beside it");
        }
        by = wanted;
    }
    if by != By::Nobody && arguments.per_cpu {
        return usage("--per-cpu tells CPUs apart and --by tells callers apart; take one of them");
    }
    let numbers = [arguments.pid, arguments.tid].into_iter().flatten();
    for number in numbers {
        if !session::in_first_namespace() {
            return usage(
                "-p and -t need the numbers of the kernel's first namespace, and this is another one",
            );
        }
        if !Path::new(&format!("/proc/{number}")).exists() {
            return Err(Error::Usage(format!("there is no process or thread {number}")));
        }
    }
    let range = |(low, high): (u64, u64), (other_low, other_high): &(u64, u64)| {
        (low.max(*other_low), high.min(*other_high))
    };
    let sizes = arguments.conditions.iter().fold((0, u64::MAX), range);
    if sizes.0 > sizes.1 {
        return usage("no size fulfils all conditions");
    }
    let by_size = arguments.by.contains(&Split::Size);
    Ok(Scope {
        process: arguments.pid.unwrap_or(0),
        thread: arguments.tid.unwrap_or(0),
        // What this program does while it reads would be counted as well.
        excluded: std::process::id(),
        comm: arguments.comm.clone(),
        cgroup: arguments.cgroup.as_deref().map(cgroup).transpose()?,
        cpus: arguments.cpu.as_ref().map(|cpus| cpus.iter().collect()),
        sizes: (!arguments.conditions.is_empty()).then_some(sizes),
        classes: if by_size { Classes::BySize } else { Classes::One },
        by,
        per_cpu: arguments.per_cpu,
        depth: arguments.depth,
        ..Scope::default()
    })
}

fn usage<T>(text: &str) -> Result<T> {
    Err(Error::Usage(text.to_owned()))
}

/// Whether others than a process that was named are counted, and so disturbed.
pub(super) const fn is_everybody(scope: &Scope) -> bool {
    scope.process == 0 && scope.thread == 0 && scope.followed.is_empty()
}

/// The folder of a cgroup: as it stands, or below where the unified hierarchy is mounted.
fn cgroup(path: &Path) -> Result<Cgroup> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let root = unified(&mounts).ok_or_else(|| {
        Error::Usage("there is no cgroup of version 2 here: no such file system is mounted".to_owned())
    })?;
    let place = if path.starts_with(&root) {
        path.to_owned()
    } else {
        root.join(path.strip_prefix("/").unwrap_or(path))
    };
    let refuse = |_| Error::Usage(format!("there is no cgroup {}", place.display()));
    let found = fs::canonicalize(&place).map_err(refuse)?;
    let id = fs::metadata(&found).map_err(refuse)?.ino();
    let level = found.strip_prefix(&root).map_or(0, |rest| rest.components().count());
    Ok(Cgroup { id, level: level as u32 })
}

fn unified(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (_, place, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })
}

/// The scope in words, for the document.
pub(super) fn words(scope: &Scope, arguments: &Arguments) -> String {
    let mut parts = Vec::new();
    for process in &scope.followed {
        parts.push(format!("process {process} and its children"));
    }
    parts.extend(arguments.pid.map(|pid| format!("process {pid}")));
    parts.extend(arguments.tid.map(|tid| format!("thread {tid}")));
    parts.extend(arguments.comm.as_ref().map(|comm| format!("threads called {comm}")));
    parts.extend(arguments.cgroup.as_ref().map(|path| format!("cgroup {}", path.display())));
    parts.extend(arguments.cpu.as_ref().map(|cpus| format!("calls that begin on CPU {cpus}")));
    parts.extend(scope.sizes.map(|(low, high)| match high {
        u64::MAX => format!("sizes from {low}"),
        _ => format!("sizes from {low} to {high}"),
    }));
    if parts.is_empty() { "everybody but this program".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_among_the_others() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(unified(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(unified("cgroup /x cgroup rw 0 0"), None);
    }
}
