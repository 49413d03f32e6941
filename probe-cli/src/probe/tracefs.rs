//! Where events are numbered, mounted for one thread alone where nobody has mounted it.
//!
//! An event's number is read once and its probe then lives in a file descriptor, so the mount is needed only
//! while attaching. It is made in a mount namespace that ends with its thread: nothing is seen outside it, and
//! nothing stays.
//!
//! Trap: under lockdown=confidentiality the kernel (6.12, 6.18 and 7.2) crashes when a tracefs is let go again.
//! It is never mounted there; and where the level cannot be read it is tried out.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use aya::programs::RawTracePoint;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use probe_abi::maps::program;

use super::object::{self, Sizes};
use super::refusal::{Cause, Lockdown, Refusal};
use super::scope::Scope;

/// The two places where tracefs is looked for, by us and by everyone.
const USUAL: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Where tracefs is visible to the calling thread.
#[must_use]
pub fn mounted() -> Option<&'static Path> {
    USUAL.into_iter().map(Path::new).find(|place| place.join("events").is_dir())
}

static FOR_EVERYBODY: AtomicBool = AtomicBool::new(false);

/// Whether tracefs may be mounted where everybody sees it, for as long as attaching takes, where no mount namespace can
/// be had.
pub fn allow_system_changes(allowed: bool) {
    FOR_EVERYBODY.store(allowed, Ordering::Relaxed);
}

/// Runs `work` with a tracefs, in another thread where it has to be mounted for that.
///
/// # Errors
///
/// There is none and none can be mounted here.
pub fn with<R: Send>(work: impl FnOnce(&Path) -> R + Send) -> Result<R, Refusal> {
    if let Some(place) = mounted() {
        return Ok(work(place));
    }
    may_mount()?;
    std::thread::scope(|scope| scope.spawn(|| mount_and_run(work)).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn mount_and_run<R>(work: impl FnOnce(&Path) -> R) -> Result<R, Refusal> {
    let place = Path::new(USUAL[0]);
    let refuse = |tried: &str| {
        let tried = format!("{tried} for tracefs");
        move |errno: nix::errno::Errno| {
            let mut refusal = Refusal::from_error(tried, &std::io::Error::from(errno));
            if matches!(refusal.cause, Cause::NotBuiltIn | Cause::Unknown) {
                refusal.cause = Cause::NoTracefs;
            }
            refusal
        }
    };
    let nothing = None::<&str>;
    let private = || {
        unshare(CloneFlags::CLONE_NEWNS).map_err(refuse("entering a private mount namespace"))?;
        // Else the mount would spread to the namespace this one was copied from.
        mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
            .map_err(refuse("making the mount namespace private"))
    };
    match private() {
        Err(refusal) if !FOR_EVERYBODY.load(Ordering::Relaxed) => return Err(refusal),
        Ok(()) | Err(_) => {}
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tracefs"), place, Some("tracefs"), flags, nothing).map_err(refuse("mounting"))?;
    let result = work(place);
    // A private one ends with the thread; this only makes it end now.
    let _ = umount2(place, MntFlags::MNT_DETACH);
    Ok(result)
}

/// Whether a tracefs may be mounted and let go again here. Where the kernel does not tell how far it is locked
/// down, a small program that reads its memory is tried: one that it takes rules confidentiality out.
///
/// # Errors
///
/// It may not, or it could not be found out.
pub fn may_mount() -> Result<(), Refusal> {
    static ANSWER: OnceLock<Result<(), Refusal>> = OnceLock::new();
    ANSWER
        .get_or_init(|| match Lockdown::read(Path::new("/")) {
            Some(Lockdown::Confidentiality) => Err(Refusal::new(
                "mounting tracefs",
                "not tried: some kernels crash when it is let go again under this lockdown",
                Cause::Lockdown(Lockdown::Confidentiality),
            )),
            Some(Lockdown::None | Lockdown::Integrity) => Ok(()),
            None => try_kernel_read(),
        })
        .clone()
}

fn try_kernel_read() -> Result<(), Refusal> {
    const TRIED: &str =
        "finding out whether tracefs may be mounted, by a program that reads the kernel's memory";
    let mut ebpf = object::load(Sizes::SMALLEST, &Scope::default())
        .map_err(|refusal| Refusal { tried: TRIED.to_owned(), ..refusal })?;
    object::program::<RawTracePoint>(&mut ebpf, program::CALL_READ_KERNEL_64)
        .load()
        .map_err(|error| Refusal::from_error(TRIED, &error))
}
