//! Giving up capabilities that are not needed any more.

#![allow(unsafe_code, reason = "no safe wrapper of capset is at hand")]

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Capabilities that this program may need, by their numbers in linux/capability.h.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Capability {
    /// Read and write files of others.
    DacOverride = 1,
    /// Signal programs of others.
    Kill = 5,
    /// Take on a group.
    SetGid = 6,
    /// Take on a user.
    SetUid = 7,
    /// See what processes of others have mapped.
    SysPtrace = 19,
    /// Mount, in a namespace of one's own too.
    SysAdmin = 21,
    /// See the addresses of the kernel's functions.
    SysLog = 34,
    /// Attach programs.
    PerfMon = 38,
    /// Load programs.
    Bpf = 39,
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    process: i32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every capability of the calling thread but `kept`, for good; threads that are started later have no more
/// either. Whether it worked: a thread without privileges has nothing to give up, and that is no failure.
pub fn keep(kept: &[Capability]) -> bool {
    // The calling thread.
    let mut header = Header { version: VERSION, process: 0 };
    let mut sets = [Sets::default(); 2];
    // SAFETY: the kernel writes two sets for this version, and reads the header.
    if unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) } != 0 {
        return false;
    }
    for (word, set) in (0_u32..).zip(&mut sets) {
        let bits = kept.iter().map(|capability| *capability as u32).filter(|bit| bit / 32 == word);
        let mask = bits.fold(0, |mask, bit| mask | 1 << (bit % 32));
        set.effective &= mask;
        set.permitted &= mask;
        set.inheritable = 0;
    }
    // SAFETY: the kernel reads the header and two sets.
    unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) == 0 }
}

/// Lets this process open as many files as it may: every function that is traced takes a few.
pub fn raise_open_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // With fewer it still works, for fewer functions.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    #[test]
    fn what_is_not_kept_is_gone_from_this_thread_alone() {
        let before = held("CapEff:");
        let kept = [Capability::Kill, Capability::Bpf];
        let mask = 1 << 5 | 1 << 39;
        let inside = std::thread::spawn(move || {
            assert!(keep(&kept));
            [held("CapEff:"), held("CapPrm:"), held("CapInh:")]
        });
        assert_eq!(inside.join().unwrap(), [before & mask, before & mask, 0]);
        assert_eq!(held("CapEff:"), before);
    }
}
