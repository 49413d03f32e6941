//! Threads that run before all ordinary ones.
#![allow(unsafe_code, reason = "nix has no wrapper for sched_setscheduler")]

use nix::errno::Errno;

/// From now on this thread runs as soon as it is ready, whatever ordinary thread has the CPU (`SCHED_FIFO`, the lowest
/// of its priorities). It must give the CPU up by itself.
///
/// # Errors
///
/// What the kernel answered: EPERM without CAP_SYS_NICE, and in some containers with it.
pub fn put_first() -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: thread 0 is the caller, and the parameters outlive the call, which only reads them.
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    Errno::result(answer).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_put_first_or_told_why_not() {
        // On a thread of its own, which ends with its priority.
        let answer = std::thread::spawn(put_first).join().unwrap();
        assert!(matches!(answer, Ok(()) | Err(Errno::EPERM)), "{answer:?}");
    }
}
