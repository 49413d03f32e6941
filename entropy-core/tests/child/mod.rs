//! The door to what can only be tried by doing it: children by fork and by a bare clone, sandboxes, signals.
#![allow(unsafe_code, reason = "fork, clone, seccomp and signal handlers have no safe form")]
#![allow(dead_code, reason = "no test file uses everything")]

use std::{
    ffi::{c_int, c_long, c_ulong},
    io::{Read as _, Write as _},
    mem::ManuallyDrop,
    ptr,
};

/// How a child is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// By the C library, which runs handlers.
    Fork,
    /// By the system call, of which the C library learns nothing.
    Clone,
}

pub(crate) const BIRTHS: [Birth; 2] = [Birth::Fork, Birth::Clone];

/// What became of a child.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It wrote this and ended well.
    Wrote(Vec<u8>),
    /// It panicked, or was killed by a signal: the raw status.
    Failed(c_int),
}

impl End {
    /// The signal that killed it.
    pub(crate) fn signal(&self) -> Option<c_int> {
        match self {
            Self::Failed(status) => Some(status & 0x7f).filter(|&signal| signal != 0),
            Self::Wrote(_) => None,
        }
    }

    #[track_caller]
    pub(crate) fn bytes(self) -> Vec<u8> {
        match self {
            Self::Wrote(bytes) => bytes,
            Self::Failed(status) => panic!("the child failed with status {status:#x}"),
        }
    }
}

/// Runs `work` in a child and returns what it answered. A child that takes more than 20 seconds is killed.
///
/// A cloned child may not allocate: a lock of the allocator may be held by a thread that is not there.
pub(crate) fn run<const BYTES: usize>(birth: Birth, work: impl FnOnce() -> [u8; BYTES]) -> End {
    let (mut from_child, mut to_parent) = std::io::pipe().expect("a pipe");
    let Some(child) = give_birth(birth) else {
        // Nothing of the parent may be dropped or run on here, and a panic must not reach the test harness.
        let work = ManuallyDrop::new(work);
        // SAFETY: `work` is read once, and never dropped.
        let work = unsafe { ptr::read(&*work) };
        // SAFETY: a limit of this process.
        unsafe { libc::alarm(20) };
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let told = answer.is_ok_and(|bytes| to_parent.write_all(&bytes).is_ok());
        // SAFETY: ends the child and runs nothing of the parent's.
        unsafe { libc::_exit(if told { 0 } else { 1 }) }
    };
    drop(to_parent);
    let mut bytes = Vec::new();
    from_child.read_to_end(&mut bytes).expect("the pipe is ours");
    match wait(child) {
        0 => End::Wrote(bytes),
        status => End::Failed(status),
    }
}

/// In the child: `None`.
fn give_birth(birth: Birth) -> Option<c_int> {
    let child = match birth {
        // SAFETY: the child runs what its caller gives it and ends; what must not be done there is said to the caller.
        Birth::Fork => unsafe { libc::fork() },
        Birth::Clone => {
            let (flags, none) = (libc::SIGCHLD as c_ulong, 0_u64);
            // SAFETY: as above; without a stack of its own the child goes on here, as after a fork.
            unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) as c_int }
        }
    };
    assert!(child >= 0, "no child: {}", std::io::Error::last_os_error());
    (child > 0).then_some(child)
}

fn wait(child: c_int) -> c_int {
    let mut status = 0;
    // SAFETY: the status is written to where it is pointed.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(waited, child, "{}", std::io::Error::last_os_error());
    status
}

/// What a sandbox does with a system call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// It fails with this error.
    Fails(c_int),
    /// The process is killed.
    Kills,
}

/// Closes this process, for good, into a sandbox that lets everything through but what it is told.
pub(crate) fn sandbox(rules: &[(c_long, Verdict)]) {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    // The number is the first field of what a filter sees.
    let mut filter = vec![statement((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0)];
    for (call, verdict) in rules {
        let action = match verdict {
            Verdict::Fails(errno) => libc::SECCOMP_RET_ERRNO | errno.cast_unsigned(),
            Verdict::Kills => libc::SECCOMP_RET_KILL_PROCESS,
        };
        let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        filter.push(libc::sock_filter { code: equal, jt: 0, jf: 1, k: *call as u32 });
        filter.push(statement((libc::BPF_RET | libc::BPF_K) as u16, action));
    }
    filter.push(statement((libc::BPF_RET | libc::BPF_K) as u16, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a promise of this process to itself.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its filter live for as long as the call.
    let closed = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!((promised, closed), (0, 0), "{}", std::io::Error::last_os_error());
}

/// Calls `handler` on SIGALRM.
pub(crate) fn on_alarm(handler: extern "C" fn(c_int)) {
    // SAFETY: zeros are a value: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action lives for as long as the call; the handler does what handlers may.
    let set = unsafe { libc::sigaction(libc::SIGALRM, &action, ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// SIGALRM every so many microseconds of the process's time; none with 0.
pub(crate) fn alarm_every(microseconds: i64) {
    let interval = libc::timeval { tv_sec: 0, tv_usec: microseconds };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: the timer lives for as long as the call.
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut()) };
    assert_eq!(set, 0);
}

/// Forks here and now, in a signal handler too; `None` in the child.
pub(crate) fn fork_now() -> Option<c_int> {
    give_birth(Birth::Clone)
}

/// Ends this process at once, as well or badly as `status` says.
pub(crate) fn exit_now(status: c_int) -> ! {
    // SAFETY: runs nothing and never returns.
    unsafe { libc::_exit(status) }
}

/// The status of a child that [`fork_now`] made, when it has ended.
pub(crate) fn status_of(child: c_int) -> c_int {
    wait(child)
}

/// Asks for a page of memory, so that a test of a sandbox can see it refused.
pub(crate) fn maps_memory() -> bool {
    let (access, kind) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at a place of the kernel's choice.
    let place = unsafe { libc::mmap(ptr::null_mut(), 4096, access, kind, -1, 0) };
    place != libc::MAP_FAILED
}
