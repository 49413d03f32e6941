//! Ctrl-C: the first asks to finish with what there is, the second ends at once.

use std::{
    io::{self, Write},
    process, thread,
};

use nix::sys::signal::{SigSet, Signal};
use tokio::sync::watch;

use crate::error::{Error, Result};

/// What a shell reports for a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// Ends this program as the second Ctrl-C does; probes and children end with it.
pub(super) fn leave() -> ! {
    process::exit(INTERRUPTED)
}

/// From now on, a value that the first Ctrl-C makes true; the second exits with 130.
///
/// Signals are taken by a thread that waits for them, so that no code ever runs inside a handler. Threads inherit
/// the mask that keeps the others out of it: call this before any is started.
pub(super) fn watch() -> Result<watch::Receiver<bool>> {
    watch_and(SigSet::from(Signal::SIGINT), || ())
}

/// The same for all of `signals`; the second one does `last` before it exits.
pub(super) fn watch_and(signals: SigSet, last: impl Fn() + Send + 'static) -> Result<watch::Receiver<bool>> {
    signals.thread_block().map_err(|errno| Error::Signals(errno.into()))?;
    let (asked, receiver) = watch::channel(false);
    let wait = move || {
        while signals.wait().is_ok() {
            if asked.send_replace(true) {
                last();
                leave();
            }
            let _ =
                writeln!(io::stderr(), "\nfinishing with what has been measured; Ctrl-C again ends at once");
        }
    };
    thread::Builder::new().name("interrupt".into()).spawn(wait).map_err(Error::Signals)?;
    Ok(receiver)
}
