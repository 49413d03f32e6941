//! The questions of every experiment, asked with little effort.

use std::fs;
use std::path::Path;

use libtest_mimic::Trial;
use probe_cli::experiment::question::{Candidate, Question, Traced};
use probe_cli::experiment::{self, Experiment};
use probe_cli::probe::calibration::calibrate;
use probe_cli::probe::capability::mechanisms;
use probe_cli::probe::live::{Effort, ask};
use probe_cli::probe::object;

use crate::outcome::{Outcome, Stop, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_live_row_counts_every_call_it_made", every_call_is_in_the_row),
        trial("each_mechanism_works_or_says_why_not", each_mechanism),
        trial("doctor_is_right_about_this_kernel", doctor_is_right),
        trial("calibration_has_a_cost_for_what_works", calibration),
    ]
}

fn every_call_is_in_the_row() -> Outcome {
    object::bytes()?;
    let effort = Effort { rounds: 2, calls: 200 };
    for question in
        experiment::ALL.iter().flat_map(|experiment| experiment.live(3).into_iter().chain(called(experiment)))
    {
        let row = ask(&question, effort);
        if row.backend == "none" {
            // The calls can be traced or nothing can; what they cause takes more than every kernel has. And some cannot
            // be made everywhere: a small guest has no disk, and a loopback device that is down.
            let made = !row.reason.contains("making the calls to trace");
            if made && question.load.traced() == Traced::OurCalls {
                return Err(Stop::Skip(row.reason));
            }
            println!("{}: {}", row.target, row.reason);
            continue;
        }
        if row.backend == "call" {
            // Nothing is attached, so nothing can be lost; the number of loops is the tool's own.
            assert!(row.n > 0 && row.p50_ns.is_some() && row.floor_ns.is_some(), "{}", row.target);
            continue;
        }
        if question.load.traced() == Traced::OurCalls {
            assert_eq!(row.calls, Some(question.tasks as u64 * 2 * 200), "{}", row.target);
            assert_eq!(Some(row.n + row.dropped + row.missed.unwrap_or(0)), row.calls, "{}", row.target);
            assert_eq!((row.in_flight, row.unmatched), (0, 0), "{}", row.target);
        } else {
            assert!(row.calls.is_none() && row.reason.contains(" calls"), "{}: {}", row.target, row.reason);
        }
        assert_eq!(row.clock_regressions, 0, "{}", row.target);
        assert!(
            row.n == 0 || row.p50_ns.is_some() && row.p50_ns <= row.p90_ns && row.p90_ns <= row.p99_ns,
            "{}",
            row.target
        );
        assert!(
            row.floor_ns.is_some() && row.added_ns.is_some() && row.bystander_ns.is_some(),
            "{}",
            row.target
        );
    }
    Ok(())
}

fn each_mechanism() -> Outcome {
    let mechanisms = mechanisms();
    for mechanism in &mechanisms {
        match &mechanism.outcome {
            Ok(seen) => println!("{}: {seen}", mechanism.name),
            Err(refusal) => println!("{}: {refusal}", mechanism.name),
        }
    }
    // A refusal of the kernel's is an answer; one that lies in us is not.
    for mechanism in mechanisms {
        if let Err(refusal) = mechanism.outcome
            && let Stop::Fail(reason) = Stop::from(refusal)
        {
            return Err(Stop::Fail(format!("{}: {reason}", mechanism.name)));
        }
    }
    Ok(())
}

/// What `doctor` says, held against what this kernel shows in other ways.
fn doctor_is_right() -> Outcome {
    object::bytes()?;
    if !nix::unistd::geteuid().is_root() {
        return Err(Stop::Skip("only root sees all of what a kernel shows".to_owned()));
    }
    let mechanisms = mechanisms();
    let works = |name: &str| {
        let found = mechanisms.iter().find(|mechanism| mechanism.name == name);
        found.unwrap_or_else(|| panic!("doctor does not know {name}")).outcome.is_ok()
    };
    let symbols = fs::read_to_string("/proc/kallsyms")?;
    // A beginning will do: compilers put endings to the names of what they split.
    let symbol = |name: &str| {
        symbols.lines().any(|line| line.split(' ').nth(2).is_some_and(|found| found.starts_with(name)))
    };
    assert_eq!(works("btf"), Path::new("/sys/kernel/btf/vmlinux").exists(), "btf");
    assert_eq!(
        works("kallsyms"),
        symbols.lines().any(|line| !line.starts_with("0000000000000000")),
        "kallsyms"
    );
    assert!(!works("kprobe") || symbol("register_kprobe"), "kprobe in a kernel without them");
    assert!(
        !works("fentry") || works("btf") && symbol("bpf_trampoline_link_prog"),
        "fentry without trampolines"
    );
    assert!(
        !works("tracepoint") || works("tracefs") && symbol("perf_syscall_enter"),
        "no events of system calls"
    );

    // Debian builds all of them into its kernels, and without lockdown nothing forbids any to root.
    let release = nix::sys::utsname::uname()?.release().to_string_lossy().into_owned();
    let command_line = fs::read_to_string("/proc/cmdline")?;
    if release.contains("-cloud-amd64") && !command_line.contains("lockdown=") {
        for name in ["fentry", "kprobe", "tracepoint", "raw-tracepoint", "uprobe", "call"] {
            assert!(works(name), "{name} does not work on {release}");
        }
    }
    Ok(())
}

fn calibration() -> Outcome {
    object::bytes()?;
    let (costs, refusals) = calibrate();
    for (name, cost) in &costs {
        assert!(cost.n > 0 && cost.p50_ns <= cost.p99_ns, "{name}");
    }
    // Three floors, each there or refused; the markers give two costs or one refusal.
    let floors = costs.keys().filter(|name| name.ends_with("-floor")).count();
    let markers = costs.keys().filter(|name| name.starts_with("marker-")).count();
    assert!(markers == 0 || markers == 2, "{costs:?}");
    assert_eq!(floors + refusals.len() + markers / 2, 4, "{costs:?} {refusals:?}");
    Ok(())
}

/// The questions that one task asks and more do not.
fn called(experiment: &&dyn Experiment) -> Vec<Question> {
    let mut questions = experiment.live(1);
    questions.retain(|question| {
        matches!(question.candidates, [Candidate::Called(_)]) || question.load.traced() != Traced::OurCalls
    });
    questions
}
