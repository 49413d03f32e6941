//! Which CPUs this thread may run on, and which it runs on now.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

/// This thread, for the calls that take a thread's id.
const THIS_THREAD: Pid = Pid::from_raw(0);

/// The CPUs this thread may run on, in order.
///
/// # Errors
///
/// What the kernel answered.
pub fn allowed() -> Result<Vec<usize>, Errno> {
    let set = sched_getaffinity(THIS_THREAD)?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu) == Ok(true)).collect())
}

/// Keeps this thread on `cpu` from now on.
///
/// # Errors
///
/// What the kernel answered: EINVAL for a CPU that is offline, not allowed here, or not there.
pub fn pin(cpu: usize) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(THIS_THREAD, &set)
}

/// Keeps this thread off `cpu` and on one other CPU from now on; false if there is none that takes it.
pub fn pin_elsewhere(cpu: usize) -> bool {
    // What this thread may run on now does not count: it may be pinned to `cpu` itself.
    (0..CpuSet::count()).any(|other| other != cpu && pin(other).is_ok())
}

/// Lets this thread run on `cpus` from now on.
///
/// # Errors
///
/// What the kernel answered.
pub fn allow(cpus: &[usize]) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|&cpu| set.set(cpu))?;
    sched_setaffinity(THIS_THREAD, &set)
}

/// The CPU this thread runs on now.
///
/// # Errors
///
/// What the kernel answered.
pub fn current() -> Result<usize, Errno> {
    sched_getcpu()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_where_it_was_pinned() {
        // On a thread of its own: the affinity of the test's thread stays what it was.
        std::thread::spawn(|| {
            for cpu in allowed().unwrap() {
                pin(cpu).unwrap();
                assert_eq!((current().unwrap(), allowed().unwrap()), (cpu, vec![cpu]));
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_sent_elsewhere_leaves_its_cpu_if_it_can() {
        std::thread::spawn(|| {
            let cpus = allowed().unwrap();
            pin(cpus[0]).unwrap();
            let moved = pin_elsewhere(cpus[0]);
            assert_eq!(current().unwrap() != cpus[0], moved);
            assert!(moved || cpus.len() == 1, "{cpus:?}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        assert_eq!(pin(CpuSet::count() - 1), Err(Errno::EINVAL));
        assert!(pin(usize::MAX).is_err());
    }
}
