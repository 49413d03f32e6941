//! The first program of a guest: lays out the file systems, runs the tests, says how they went, and powers off.
//!
//! Every way out ends in power-off, or in the end of process 1, which the kernel is told to take for a reboot: a guest
//! never hangs for a fault of this program. Reads from the kernel's command line: `guest.tests=PATH` (default
//! `/tests`) and `guest.tracefs=off`; its arguments go to the tests.

#[path = "../tally.rs"]
mod tally;

use std::{
    env,
    error::Error,
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use nix::{
    mount::{MsFlags, mount},
    sys::reboot::{RebootMode, reboot},
};

use tally::{Tallier, Tally};

fn main() {
    let tally = run().unwrap_or_else(|error| {
        say(&format!("guest-init: {error}"));
        Tally { failed: 1, ..Tally::default() }
    });
    // On a line of its own even if the kernel or a test left one unfinished.
    say(&format!("\nguest: {tally}"));
    let Err(error) = reboot(RebootMode::RB_POWER_OFF);
    say(&format!("guest-init: power-off was refused: {error}"));
}

fn run() -> Result<Tally, Box<dyn Error>> {
    mount_on("proc", "/proc")?;
    let parameters = fs::read_to_string("/proc/cmdline")?;
    let parameter = |name: &str| {
        parameters.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    mount_on("sysfs", "/sys")?;
    mount_on("devtmpfs", "/dev")?;
    mount_on("tmpfs", "/tmp")?;
    if let Err(error) = mount_on("securityfs", "/sys/kernel/security") {
        say(&format!("guest-init: {error}"));
    }
    if parameter("guest.tracefs") != Some("off") {
        tracefs();
    }
    tests(parameter("guest.tests").unwrap_or("/tests"))
}

/// Left alone under lockdown=confidentiality, where letting go of it again crashes the kernel.
fn tracefs() {
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        say("guest-init: tracefs is not mounted under lockdown=confidentiality");
    } else if let Err(error) = mount_on("tracefs", "/sys/kernel/tracing") {
        say(&format!("guest-init: {error}"));
    }
}

fn mount_on(kind: &str, path: &str) -> Result<(), String> {
    mount(Some(kind), path, Some(kind), MsFlags::empty(), None::<&str>)
        .map_err(|error| format!("{kind} could not be mounted on {path}: {error}"))
}

/// Runs the tests, streams what they print, and counts by their closing lines.
fn tests(program: &str) -> Result<Tally, Box<dyn Error>> {
    let mut child = Command::new(program)
        .args(env::args_os().skip(1))
        .envs([("PATH", "/bin:/sbin"), ("HOME", "/"), ("TMPDIR", "/tmp"), ("RUST_BACKTRACE", "1")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    let mut tallier = Tallier::default();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            say(&text);
            tallier.line(&text);
            line.clear();
        }
    }
    let status = child.wait()?;
    let mut tally = tallier.finish();
    if !status.success() && tally.failed == 0 {
        say(&format!("guest-init: no test failed, but {program} ended with {status}"));
        tally.failed = 1;
    }
    Ok(tally)
}

/// A console that does not take a line is no reason to end: `println!` would panic.
fn say(line: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}
