//! The command line as people and scripts meet it: what is printed where, and with which exit code.

#[allow(dead_code, reason = "another test uses the rest of it")]
mod synthetic;

use std::{
    fs,
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use assert_cmd::cargo::cargo_bin;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, Uid},
};
use probe_cli::{
    experiment,
    report::{json, schema},
};
use serde_json::Value;

fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("probe-cli"));
    // As a user without sudo, whoever runs the tests.
    command.args(arguments).env_remove("SUDO_UID").env_remove("SUDO_GID").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    probe(arguments).output().unwrap()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}\n{}", text(&output.stdout), text(&output.stderr));
    // Whatever went wrong, nobody should see how.
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

/// A report that no machine made, as a file.
fn saved(folder: &Path) -> PathBuf {
    let path = folder.join("saved.json");
    fs::write(&path, json::to_string(&synthetic::full()).unwrap()).unwrap();
    path
}

/// The first experiment; none is a build of this tool without any.
fn some_experiment() -> Option<&'static str> {
    let name = experiment::ALL.first().map(|experiment| experiment.name());
    if name.is_none() {
        println!("skipped: this build has no experiment");
    }
    name
}

#[test]
fn alone_it_gives_six_lines_of_help_four_examples_and_what_works() {
    let output = run(&[]);
    assert_exit(&output, 0);
    let page = text(&output.stdout);
    let blocks: Vec<Vec<&str>> = page.split("\n\n").map(|block| block.lines().collect()).collect();
    assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5, 1], "{page}");
    assert_eq!(blocks[1][0], "examples");
    assert!(blocks[2][0].starts_with("works here now: the user-space lab"), "{page}");
}

#[test]
fn every_help_has_examples_and_goes_to_stdout() {
    for subcommand in [
        "run",
        "doctor",
        "list",
        "trace",
        "count",
        "slow",
        "heatmap",
        "call",
        "calibrate",
        "report",
        "completions",
        "man",
    ] {
        let output = run(&[subcommand, "--help"]);
        assert_exit(&output, 0);
        let help = text(&output.stdout);
        assert!(help.contains("Examples:\n") && help.contains(&format!("probe-cli {subcommand}")), "{help}");
    }
    let help = text(&run(&["--help"]).stdout);
    assert!(help.contains("Examples:\n"), "{help}");
    assert!(!help.contains("launch "), "the hidden subcommand shows: {help}");
}

#[test]
fn the_flags_of_the_contract_are_there() {
    let help = text(&run(&["run", "--help"]).stdout);
    for flag in [
        "--quick",
        "--threads",
        "--cpus",
        "--membind",
        "--launches",
        "--blocks",
        "--seed",
        "--no-live",
        "--json",
    ] {
        assert!(help.contains(flag), "run has no {flag}");
    }
    for flag in ["--quiet", "--verbose", "--color", "--format", "--output"] {
        assert!(help.contains(flag), "run has no {flag}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for arguments in [
        &["nonsense"][..],
        &["run", "--nonsense"],
        &["run", "--threads", "3-1"],
        &["run", "--threads", "banana"],
        &["run", "--cpus", "0-99999999999"],
        &["run", "--cpus", ""],
        &["run", "--launches", "0"],
        &["run", "--blocks", "-1"],
        &["run", "--seed", "1.5"],
        &["run", "--quiet", "--verbose"],
        &["doctor", "--json", "--format", "text"],
        &["call"],
        &["report"],
        &["completions", "tcsh-of-old"],
    ] {
        assert_exit(&run(arguments), 2);
    }
}

#[test]
fn a_bad_list_says_how_one_is_written() {
    let output = run(&["run", "--cpus", "0,x"]);
    assert!(text(&output.stderr).contains("write a list like 0-3,8"), "{}", text(&output.stderr));
}

#[test]
fn cpus_and_nodes_that_are_not_there_exit_with_2() {
    let output = run(&["run", "--cpus", "8191"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).contains("this process may run on"), "{}", text(&output.stderr));
    if Path::new("/sys/devices/system/node/online").exists() {
        assert_exit(&run(&["run", "--membind", "4000000000"]), 2);
    } else {
        println!("skipped: this kernel lists no NUMA nodes");
    }
}

#[test]
fn unknown_experiments_exit_with_2_and_the_nearest_names() {
    let output = run(&["run", "zzzzzzzz"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).contains("no experiment is called `zzzzzzzz`"), "{}", text(&output.stderr));
    if let Some(name) = some_experiment() {
        let output = run(&["run", &name[..name.len() - 1]]);
        assert_exit(&output, 2);
        assert!(text(&output.stderr).contains(&format!("did you mean `{name}`")), "{}", text(&output.stderr));
    }
}

#[test]
fn unknown_targets_exit_with_4_and_the_nearest_names() {
    for name in ["bpf_get_prandom_u23", "call:bpf_get_prandom_u23"] {
        let output = run(&["call", name]);
        assert_exit(&output, 4);
        assert!(
            text(&output.stderr).contains("did you mean `bpf_get_prandom_u32`"),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn what_was_typed_is_not_printed_raw() {
    let output = run(&["run", "\x1b[2Jname"]);
    assert_exit(&output, 2);
    assert!(!output.stderr.contains(&0x1b), "{}", text(&output.stderr));
}

#[test]
fn a_primitive_is_timed_or_the_environment_is_said_to_be_in_the_way() {
    let output = run(&["call", "bpf_get_prandom_u32", "--samples", "5", "-f", "json"]);
    match output.status.code() {
        Some(0) => {
            let row = &document(&output)["primitives"][0];
            assert_eq!(row["target"], "call:bpf_get_prandom_u32");
            assert_eq!(row["n"], 5);
        }
        Some(3) => {
            println!("skipped: {}", text(&output.stderr));
            assert!(text(&output.stderr).contains("probe-cli doctor"), "{}", text(&output.stderr));
        }
        other => panic!("exit code {other:?}: {}", text(&output.stderr)),
    }
}

#[test]
fn a_doctor_always_ends_well_and_names_the_next_step() {
    let output = run(&["doctor"]);
    assert_exit(&output, 0);
    let document = document(&run(&["doctor", "--json"]));
    assert_eq!(document["schema"], "probe-doctor/1");
    let names: Vec<&str> =
        document["mechanisms"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fentry", "kprobe", "tracepoint", "raw-tracepoint", "uprobe", "call"]);
    for row in document["mechanisms"].as_array().unwrap() {
        assert_eq!(row["works"] == true, row["remedy"].is_null(), "{row}");
        assert_ne!(row["reason"], "", "{row}");
    }
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(document["host"]["kernel"], kernel.trim());
}

#[test]
fn a_listing_is_filtered_and_each_target_says_how() {
    let all = document(&run(&["list", "--json"]));
    for row in all["targets"].as_array().unwrap() {
        assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row}");
    }
    let calls = document(&run(&["list", "call:*", "-f", "json"]));
    let targets = calls["targets"].as_array().unwrap();
    assert!(!targets.is_empty());
    assert!(targets.iter().all(|row| row["name"].as_str().unwrap().starts_with("call:")), "{calls}");
    assert_eq!(calls["experiments"], Value::Array(vec![]));
    let nothing = run(&["list", "no-such-thing"]);
    assert_exit(&nothing, 0);
    assert!(nothing.stdout.is_empty() && text(&nothing.stderr).contains("nothing matches"));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(folder.path());
    let commands: [&[&str]; 6] = [
        &[],
        &["list"],
        &["doctor"],
        &["completions", "bash"],
        &["report", saved.to_str().unwrap()],
        &["report", saved.to_str().unwrap(), "-f", "json"],
    ];
    for arguments in commands {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = probe(arguments).stdout(writer).output().unwrap();
        assert_exit(&output, 0);
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_full_standard_output_is_a_failure() {
    let output = probe(&["list"]).stdout(fs::File::create("/dev/full").unwrap()).output().unwrap();
    assert_exit(&output, 1);
    assert!(text(&output.stderr).contains("No space left"), "{}", text(&output.stderr));
}

#[test]
fn saved_reports_are_printed_again() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(folder.path());
    let saved = saved.to_str().unwrap();
    let again = run(&["report", saved, "-f", "json"]);
    assert_exit(&again, 0);
    assert_eq!(text(&again.stdout), json::to_string(&synthetic::full()).unwrap());
    let page = text(&run(&["report", saved]).stdout);
    assert!(page.contains("pool-mix   Does laying out"), "{page}");
    assert!(!page.contains('\x1b'), "colours in a pipe");
    assert!(text(&run(&["report", saved, "--color", "always"]).stdout).contains('\x1b'));
    assert_exit(&run(&["report", saved, saved, "-f", "json"]), 2);
}

#[test]
fn files_that_are_no_reports_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut other = serde_json::to_value(synthetic::full()).unwrap();
    other["schema"] = "probe-report/9".into();
    for path in [
        file("empty", b""),
        file("cut", &json::to_string(&synthetic::full()).unwrap().as_bytes()[..1000]),
        file("binary", b"\xff\xfe\0"),
        file("other", other.to_string().as_bytes()),
        file("deep", "[".repeat(100_000).as_bytes()),
        "/no/such/file".to_owned(),
        folder.path().to_str().unwrap().to_owned(),
    ] {
        assert_exit(&run(&["report", &path]), 1);
    }
}

#[test]
fn output_that_cannot_be_written_exits_with_1_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(folder.path());
    let link = folder.path().join("link");
    symlink(folder.path().join("target"), &link).unwrap();
    for (place, why) in [
        ("/dev/full", "No space left"),
        ("/proc/report.json", "could not be written"),
        ("/no/such/folder/report.json", "No such file"),
        (folder.path().to_str().unwrap(), "directory"),
        (link.to_str().unwrap(), "symbolic link"),
    ] {
        let output = run(&["report", saved.to_str().unwrap(), "-o", place]);
        assert_exit(&output, 1);
        assert!(text(&output.stderr).contains(why), "{place}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("target").exists());
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(folder.path());
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // The mount is in a namespace of its own, and goes with the shell.
    let script = "mount -t tmpfs -o size=4k none \"$0\" || exit 77; echo old > \"$0/out.json\"; \
                  \"$1\" report \"$2\" -f json -o \"$0/out.json\"; code=$?; ls -A \"$0\"; cat \"$0/out.json\"; exit $code";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .args([&disk, &cargo_bin("probe-cli"), &saved])
        .env_remove("SUDO_UID")
        .output();
    match output {
        Ok(output) if output.status.code() == Some(1) && !text(&output.stderr).contains("unshare:") => {
            assert!(text(&output.stderr).contains("No space left"), "{}", text(&output.stderr));
            assert_eq!(text(&output.stdout), "out.json\nold\n");
        }
        Ok(output) if output.status.success() => panic!("the disk was not full"),
        other => println!("skipped: no small disk can be mounted here: {other:?}"),
    }
}

#[test]
fn under_sudo_files_are_the_users_own() {
    if !Uid::effective().is_root() {
        println!("skipped: only root can act for another user");
        return;
    }
    const NOBODY: u32 = 65534;
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(folder.path());
    let write_to = |place: &Path| {
        let arguments = ["report", saved.to_str().unwrap(), "-o", place.to_str().unwrap()];
        probe(&arguments)
            .env("SUDO_UID", NOBODY.to_string())
            .env("SUDO_GID", NOBODY.to_string())
            .output()
            .unwrap()
    };
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(folder.path(), 0o755);
    let denied = write_to(&folder.path().join("roots.txt"));
    assert_exit(&denied, 1);
    assert!(text(&denied.stderr).contains("Permission denied"), "{}", text(&denied.stderr));
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    mode(&open, 0o777);
    assert_exit(&write_to(&open.join("report.txt")), 0);
    let file = fs::metadata(open.join("report.txt")).unwrap();
    assert_eq!((file.uid(), file.gid()), (NOBODY, NOBODY));
}

#[test]
fn completions_and_manual_pages_cover_the_subcommands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert_exit(&output, 0);
        assert!(text(&output.stdout).contains("doctor"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert_exit(&run(&["man", folder.path().to_str().unwrap()]), 0);
    let mut pages: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert_eq!(
        pages,
        [
            "probe-cli-ab.1",
            "probe-cli-calibrate.1",
            "probe-cli-call.1",
            "probe-cli-compare.1",
            "probe-cli-completions.1",
            "probe-cli-count.1",
            "probe-cli-doctor.1",
            "probe-cli-heatmap.1",
            "probe-cli-list.1",
            "probe-cli-man.1",
            "probe-cli-report.1",
            "probe-cli-run.1",
            "probe-cli-slow.1",
            "probe-cli-trace.1",
            "probe-cli.1"
        ]
    );
    assert_exit(&run(&["man", "/no/such/folder"]), 1);
}

#[test]
fn a_launch_without_orders_says_who_gives_them() {
    let output = run(&["launch"]);
    assert_exit(&output, 1);
    assert!(text(&output.stderr).contains("probe-cli run"), "{}", text(&output.stderr));
}

/// Words and data of a run keep apart, and the file is the schema's.
#[test]
fn a_run_gives_text_and_a_report_that_keeps_the_schema() {
    let Some(name) = some_experiment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let arguments = [
        "run",
        name,
        "--launches",
        "1",
        "--blocks",
        "1",
        "--threads",
        "1",
        "--no-live",
        "--seed",
        "7",
        "--json",
    ];
    let output = run(&[&arguments[..], &[path.to_str().unwrap()]].concat());
    assert_exit(&output, 0);
    let page = text(&output.stdout);
    assert!(
        page.contains(&format!("\n{name}   ")) && page.contains(&format!("report  {}", path.display())),
        "{page}"
    );
    assert!(page.contains("few-repetitions") && page.contains("no-live"), "{page}");

    let document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema::report()).unwrap()).unwrap();
    let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(faults, [""; 0]);
    assert_eq!(document["seed"], 7);
    assert_eq!(document["interrupted"], false);
    assert_eq!(document["experiments"][0]["name"], name);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn one_interrupt_ends_a_run_with_what_there_is() {
    let Some(name) = some_experiment() else { return };
    let arguments = ["run", name, "--launches", "1000", "--threads", "1", "--no-live", "-v", "-f", "json"];
    let mut child = probe(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The run says that it measures once it has taken over the signal.
    let mut words = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("measuring") {
        line.clear();
        assert_ne!(words.read_line(&mut line).unwrap(), 0, "the run ended early");
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    // Both pipes at once: a document is larger than a pipe, and who waits for one end must not fill the other.
    let rest = thread::spawn(move || {
        let mut rest = String::new();
        words.read_to_string(&mut rest).unwrap();
        rest
    });
    let output = child.wait_with_output().unwrap();
    let rest = rest.join().unwrap();
    assert_exit(&output, 0);
    assert!(rest.contains("finishing with what has been measured"), "{rest}");
    let document = document(&output);
    assert_eq!(document["interrupted"], true);
    assert!(document["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "interrupted"));
}

/// One experiment without a case for the flags leaves the others alone.
#[test]
fn an_experiment_that_cannot_be_measured_is_missing_and_the_others_are_there() {
    let flags = ["--threads", "2", "--no-live", "--launches", "1", "--blocks", "1", "-f", "json"];
    let output = run(&[&["run", "prng-noise", "pool-mix"], &flags[..]].concat());
    assert_exit(&output, 0);
    let report = document(&output);
    let list = |field: &str| report[field].as_array().unwrap().clone();
    let names: Vec<Value> = list("experiments").iter().map(|found| found["name"].clone()).collect();
    assert_eq!(names, ["pool-mix"]);
    let missing = list("warnings").into_iter().find(|found| found["code"] == "not-measured").unwrap();
    assert!(
        missing["text"].as_str().unwrap().starts_with("prng-noise is missing from this report"),
        "{missing}"
    );

    assert_exit(&run(&[&["run", "prng-noise"], &flags[..]].concat()), 2);
}
