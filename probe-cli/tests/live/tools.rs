//! Tools of others find the same markers and count the same hits.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::Trial;
use probe_cli::probe::object;
use probe_cli::probe::tracefs;

use crate::markers::RUN_BATCHES;
use crate::outcome::{Outcome, Stop, trial};

const BATCHES: &str = "2000";
/// What perf calls our provider. Its events are the whole kernel's.
const PERF_GROUP: &str = "sdt_hotpath";

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("bpftrace_counts_the_markers", bpftrace), trial("perf_counts_the_markers", perf)]
}

/// Runs a tool to its end; one that is not installed skips.
fn run(tool: &mut Command) -> Result<Output, Stop> {
    let name = tool.get_program().to_string_lossy().into_owned();
    match tool.output() {
        Ok(output) => Ok(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Stop::Skip(format!("{name} is not installed")))
        }
        Err(error) => Err(Stop::Fail(format!("{name}: {error}"))),
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn is_installed(tool: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file()))
}

fn bpftrace() -> Outcome {
    if !nix::unistd::Uid::effective().is_root() {
        return Err(Stop::Skip("bpftrace runs as root alone".to_owned()));
    }
    if !is_installed("bpftrace") {
        return Err(Stop::Skip("bpftrace is not installed".to_owned()));
    }
    let own = std::env::current_exe()?;
    let own = own.display();
    let script = format!(
        "usdt:{own}:hotpath:batch_begin {{ @begun = count(); }} usdt:{own}:hotpath:batch_end {{ @ended = count(); }}"
    );
    let traced = format!("{own} {RUN_BATCHES} {BATCHES}");
    let said = text(&run(Command::new("bpftrace").args(["-e", &script, "-c", &traced]))?);
    for expected in [format!("@begun: {BATCHES}"), format!("@ended: {BATCHES}")] {
        assert!(said.lines().any(|line| line == expected), "no {expected:?} in: {said}");
    }
    Ok(())
}

fn perf() -> Outcome {
    // perf needs its events in tracefs; it inherits the mount of the thread that starts it.
    object::bytes()?;
    if !is_installed("perf") {
        return Err(Stop::Skip("perf is not installed".to_owned()));
    }
    tracefs::with(perf_in)?
}

fn perf_in(tracefs: &Path) -> Outcome {
    let list = tracefs.join("uprobe_events");
    if std::fs::read_to_string(&list)?.contains(PERF_GROUP) {
        return Err(Stop::Skip("somebody else has perf events on these markers".to_owned()));
    }
    let own = std::env::current_exe()?;
    let home = tempfile::tempdir()?;
    let perf = |arguments: &[&OsStr]| {
        run(Command::new("perf")
            .env("HOME", home.path())
            .arg("--buildid-dir")
            .arg(home.path())
            .args(arguments))
    };
    let events = [format!("{PERF_GROUP}:batch_begin"), format!("{PERF_GROUP}:batch_end")];
    let counted = (|| {
        perf(&["buildid-cache".as_ref(), "--add".as_ref(), own.as_os_str()])?;
        for event in &events {
            let added = perf(&["probe".as_ref(), "-x".as_ref(), own.as_os_str(), event.as_ref()])?;
            if !added.status.success() {
                return Err(Stop::Fail(format!("perf probe {event}: {}", text(&added))));
            }
        }
        let both = events.join(",");
        perf(&[
            "stat".as_ref(),
            "-x,".as_ref(),
            "-e".as_ref(),
            both.as_ref(),
            own.as_os_str(),
            RUN_BATCHES.as_ref(),
            BATCHES.as_ref(),
        ])
    })();
    // Whatever happened, the kernel keeps events until told.
    let all = format!("{PERF_GROUP}:*");
    perf(&["probe".as_ref(), "-d".as_ref(), all.as_ref()])?;
    assert!(!std::fs::read_to_string(&list)?.contains(PERF_GROUP), "perf left its events behind");
    let counted = counted?;
    let said = text(&counted);
    assert!(counted.status.success(), "{said}");
    for event in &events {
        let expected = format!("{BATCHES},,{event},");
        assert!(said.lines().any(|line| line.starts_with(&expected)), "no {expected:?} in: {said}");
    }
    Ok(())
}
