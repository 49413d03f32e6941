//! Events where tracefs is mounted and where it is not.

use std::path::Path;

use libtest_mimic::Trial;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::getppid;
use probe_cli::probe::object;
use probe_cli::probe::scope::Scope;
use probe_cli::probe::syscall::{self, Syscall};
use probe_cli::probe::tracefs;

use crate::outcome::{Outcome, Stop, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_private_tracefs_is_seen_by_nobody_else", a_private_tracefs_is_private),
        trial("events_attach_without_a_mounted_tracefs", without),
        trial("events_attach_with_a_mounted_tracefs", with),
    ]
}

fn mounts() -> std::io::Result<String> {
    std::fs::read_to_string("/proc/self/mountinfo")
}

fn a_private_tracefs_is_private() -> Outcome {
    object::bytes()?;
    let before = mounts()?;
    let during = tracefs::with(|place| {
        assert!(place.join("events").is_dir());
        mounts()
    })??;
    assert_eq!(before, during, "seen from outside while it was there");
    assert_eq!(before, mounts()?, "left behind");
    Ok(())
}

fn count_a_call() -> Outcome {
    let call = Syscall::by_name("getppid").expect("the table has it");
    let session = syscall::trace_events(&[call], &Scope::own_thread())?;
    getppid();
    assert_eq!(session.read()?[0].total().n(), 1);
    Ok(())
}

/// In a thread with mounts of its own.
fn apart(test: impl FnOnce() -> Outcome + Send) -> Outcome {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let nothing = None::<&str>;
                unshare(CloneFlags::CLONE_NEWNS)
                    .and_then(|()| {
                        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
                    })
                    .map_err(|errno| Stop::Skip(format!("no mount namespace of our own: {errno}")))?;
                test()
            })
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn without() -> Outcome {
    apart(|| {
        while let Some(place) = tracefs::mounted() {
            nix::mount::umount2(place, nix::mount::MntFlags::MNT_DETACH)
                .map_err(|errno| Stop::Skip(format!("{} stays mounted: {errno}", place.display())))?;
        }
        count_a_call()
    })
}

fn with() -> Outcome {
    object::bytes()?;
    if tracefs::mounted().is_none() {
        tracefs::may_mount()?;
    }
    apart(|| {
        let place = Path::new("/sys/kernel/tracing");
        if tracefs::mounted().is_none() {
            mount(Some("tracefs"), place, Some("tracefs"), MsFlags::empty(), None::<&str>)
                .map_err(|errno| Stop::Skip(format!("tracefs cannot be mounted: {errno}")))?;
        }
        assert!(tracefs::mounted().is_some());
        count_a_call()
    })
}
