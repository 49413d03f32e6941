//! The tracer as people and scripts meet it: what is counted, in which form, and with which exit code.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, getppid};
use probe_cli::trace::document::{self, Session};
use serde_json::Value;

fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("probe-cli"));
    command.args(arguments).env_remove("SUDO_UID").env_remove("SUDO_GID").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    probe(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

/// Whether system calls can be traced here; says why a test is skipped where not.
fn can_trace() -> bool {
    let output = run(&["trace", "syscall:getppid", "-d", "0.05", "-q"]);
    let can = output.status.code() == Some(0);
    if !can {
        println!("skipped: {}", text(&output.stderr).trim());
    }
    can
}

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&document::schema()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn session(output: &Output) -> Session {
    let value: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)));
    let schema = schema();
    let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    serde_json::from_value(value).unwrap()
}

/// A program that calls getppid so often and does next to nothing else: this test, started anew.
fn caller(calls: u32) -> [String; 6] {
    let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let name = "plays_the_traced_program".to_owned();
    let calls = format!("CALLS={calls}");
    ["env".to_owned(), calls, own, "--exact".to_owned(), "--nocapture".to_owned(), name]
}

/// Started as a test it does nothing.
#[test]
fn plays_the_traced_program() {
    let calls = std::env::var("CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(0_u32);
    for _ in 0..calls {
        getppid();
    }
}

fn traced(flags: &[&str], calls: u32) -> Output {
    let caller = caller(calls);
    let mut arguments = flags.to_vec();
    arguments.push("--");
    arguments.extend(caller.iter().map(String::as_str));
    run(&arguments)
}

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/session.schema.json");
    let current = document::schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(path, &current).unwrap();
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == current,
        "schema/session.schema.json is not that of the types; \
         `UPDATE_SCHEMA=1 cargo test -p probe-cli --test cli_trace` writes it anew"
    );
}

#[test]
fn every_call_of_a_program_is_counted_and_the_document_keeps_the_schema() {
    if !can_trace() {
        return;
    }
    const CALLS: u32 = 20_000;
    let output = traced(&["trace", "syscall:getppid", "--allow-system-changes", "-f", "json"], CALLS);
    // What the program prints stands before the document.
    let document = text(&output.stdout);
    let document = &document[document.find("{\n").expect("a document")..];
    let output = Output { stdout: document.as_bytes().to_vec(), ..output };
    assert_exit(&output, 0);
    let session = session(&output);
    assert_eq!((&*session.schema, session.interrupted, session.targets.len()), ("probe-session/1", false, 1));
    let row = &session.targets[0];
    // The runtime of a test program makes none of its own.
    assert_eq!(row.row.n, u64::from(CALLS));
    assert_eq!((row.row.unmatched, row.row.dropped, row.row.missed), (0, 0, Some(0)));
    assert_eq!(row.row.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), u64::from(CALLS));
    assert!(row.row.buckets.iter().all(|bucket| bucket.lo < bucket.hi));
    assert!(row.row.floor_ns.is_some() && row.row.added_ns.is_some() && row.row.bystander_ns.is_some());
    assert!(session.scope.contains("and its children"), "{}", session.scope);
}

#[test]
fn a_program_that_is_not_there_or_fails_is_told() {
    if !can_trace() {
        return;
    }
    let output = run(&["trace", "syscall:getppid", "--", "no-such-program-anywhere"]);
    assert_exit(&output, 1);
    assert!(text(&output.stderr).contains("could not be started"), "{}", text(&output.stderr));
    // How the program ends is its own affair.
    assert_exit(&run(&["trace", "syscall:getppid", "-q", "--", "false"]), 0);
}

#[test]
fn a_traced_program_has_none_of_our_descriptors_or_groups() {
    if !can_trace() {
        return;
    }
    let output = run(&["trace", "syscall:getppid", "-q", "-o", "/dev/null", "--", "ls", "/proc/self/fd"]);
    assert_exit(&output, 0);
    // The fourth is the folder that ls reads.
    assert_eq!(text(&output.stdout).split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    if !Uid::effective().is_root() {
        println!("skipped: only root has a user to give up");
        return;
    }
    let output = probe(&["trace", "syscall:getppid", "-q", "-o", "/dev/null", "--", "id"])
        .env("SUDO_UID", "65534")
        .env("SUDO_GID", "65534")
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("uid=65534") && said.contains("gid=65534") && !said.contains("root"), "{said}");
}

#[test]
fn every_form_says_the_same() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for form in ["text", "json", "ndjson", "csv", "md"] {
        let path = folder.path().join(form);
        let saved = folder.path().join(format!("{form}.saved"));
        let (out, save) = (path.to_string_lossy().into_owned(), saved.to_string_lossy().into_owned());
        let output = traced(&["trace", "syscall:getppid", "-f", form, "-o", &out, "--save", &save], 777);
        assert_exit(&output, 0);
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.contains("777") && page.contains("syscall:getppid"), "{form}: {page}");
        let saved: Session = serde_json::from_str(&fs::read_to_string(&saved).unwrap()).unwrap();
        assert_eq!(saved.targets[0].row.n, 777, "{form}");
        if form == "csv" {
            let cells: Vec<usize> = page.lines().map(|line| line.split(',').count()).collect();
            assert!(cells.len() == 2 && cells[0] == cells[1], "{page}");
        }
    }
}

#[test]
fn a_stream_begins_ready_and_ends_with_the_end_and_intervals_are_deltas() {
    if !can_trace() {
        return;
    }
    let own = std::process::id().to_string();
    let mut child =
        probe(&["trace", "syscall:getppid", "-p", &own, "-i", "0.2", "-d", "0.7", "-f", "ndjson"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let record = |line: String| -> Value { serde_json::from_str(&line).unwrap() };
    let first = record(lines.next().unwrap().unwrap());
    assert_eq!((&first["record"], &first["schema"]), (&"ready".into(), &"probe-session/1".into()));
    // Other tests of this process make calls as well, so only sums can be compared.
    (0..1000).for_each(|_| {
        getppid();
    });
    let records: Vec<Value> = lines.map(|line| record(line.unwrap())).collect();
    assert!(child.wait().unwrap().success());
    let end = records.last().unwrap();
    assert_eq!(end["record"], "end");
    let n = |record: &Value| record["targets"][0]["n"].as_u64().unwrap();
    let intervals: Vec<&Value> = records.iter().filter(|record| record["record"] == "interval").collect();
    assert!((3..=5).contains(&intervals.len()), "{}", intervals.len());
    assert!(n(end) >= 1000);
    assert_eq!(intervals.iter().map(|interval| n(interval)).sum::<u64>(), n(end));
    for pair in intervals.windows(2) {
        assert_eq!(pair[0]["to_ns"], pair[1]["from_ns"]);
    }
}

#[test]
fn one_interrupt_ends_a_session_with_what_there_is() {
    if !can_trace() {
        return;
    }
    let mut child = probe(&["trace", "syscall:getppid", "-f", "ndjson"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"ready\""));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let last = lines.last().unwrap().unwrap();
    assert!(last.contains("\"end\"") && last.contains("\"interrupted\":true"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_second_interrupt_ends_at_once() {
    if !can_trace() {
        return;
    }
    // A program that does not care keeps the session from its end for two seconds.
    let mut child =
        probe(&["trace", "syscall:getppid", "-f", "ndjson", "--", "sh", "-c", "trap '' TERM INT; sleep 5"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    thread::sleep(Duration::from_millis(300));
    let pid = Pid::from_raw(child.id().cast_signed());
    kill(pid, Signal::SIGINT).unwrap();
    thread::sleep(Duration::from_millis(200));
    kill(pid, Signal::SIGINT).unwrap();
    let asked = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(5));
}

#[test]
fn usage_errors_exit_with_2() {
    for arguments in [
        &["trace"][..],
        &["trace", "syscall:"],
        &["trace", "usdt:/bin/sh:x"],
        &["trace", "/bin/sh:"],
        &["trace", "-r", "("],
        &["trace", "syscall:read", "-p", "0"],
        &["trace", "syscall:read", "-p", "4000000000"],
        &["trace", "syscall:read", "-d", "0"],
        &["trace", "syscall:read", "-i", "soon"],
        &["trace", "syscall:read", "-u", "-m"],
        &["trace", "syscall:read", "-l", "9"],
        &["trace", "syscall:read", "--if", "length>4"],
        &["trace", "syscall:read", "--if", "size>4", "--if", "size<3"],
        &["trace", "syscall:read", "--by", "pid,comm"],
        &["trace", "syscall:read", "--by", "pid", "--per-cpu"],
        &["trace", "syscall:read", "--strict=200"],
        &["trace", "syscall:read", "-k", "--probe", "fentry"],
        &["trace", "syscall:read", "-p", "1", "--", "true"],
        &["trace", "syscall:read", "-f", "xml"],
        &["slow", "syscall:read"],
        &["slow", "syscall:read", "--over", "0"],
        &["heatmap"],
        &["count"],
    ] {
        assert_exit(&run(arguments), 2);
    }
}

#[test]
fn what_cannot_be_traced_exits_with_4_and_says_why() {
    let own = cargo_bin("probe-cli");
    let own = own.to_string_lossy();
    let script = tempfile::NamedTempFile::new().unwrap();
    writeln!(&script, "#!/bin/sh").unwrap();
    let script = script.path().to_string_lossy();
    for (target, why) in [
        ("no_function_has_this_name".to_owned(), "nothing that can be traced"),
        ("syscall:getrandon".to_owned(), "`syscall:getrandom`"),
        ("call:bpf_get_prandom_u33".to_owned(), "`bpf_get_prandom_u32`"),
        ("_raw_spin_lock".to_owned(), "_raw_spin_lock"),
        ("/no/such/file:main".to_owned(), "there is no file"),
        (format!("{own}:no_function_has_this_name"), "nothing that can be traced"),
        (format!("usdt:{own}:hotpath:batch_begn"), "hotpath:batch_begin"),
        (format!("{own}:+0x10"), "not in its code"),
        (format!("{script}:main"), "cannot be read"),
    ] {
        let output = run(&["trace", &target, "-d", "0.1"]);
        assert_exit(&output, 4);
        assert!(text(&output.stderr).contains(why), "{target}: {}", text(&output.stderr));
    }
}

#[test]
fn a_dry_run_says_the_ways_and_attaches_nothing() {
    let output = run(&["trace", "syscall:getrandom", "--dry-run"]);
    assert_exit(&output, 0);
    let page = text(&output.stdout);
    assert!(page.contains("by tracepoint") && page.contains("by raw-tracepoint"), "{page}");
    let only = text(&run(&["trace", "syscall:getrandom", "--dry-run", "--probe", "raw-tracepoint"]).stdout);
    assert!(!only.contains("by tracepoint") && only.contains("by raw-tracepoint"), "{only}");
}

#[test]
fn an_ordinary_user_is_told_the_missing_capabilities() {
    if !Uid::effective().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: it takes root and setpriv to play an ordinary user");
        return;
    }
    // The program must be reached by anybody.
    let folder =
        tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755)).tempdir();
    let folder = folder.unwrap();
    let program = folder.path().join("probe-cli");
    fs::copy(cargo_bin("probe-cli"), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["trace", "random"])
        .output()
        .unwrap();
    assert_exit(&output, 3);
    let said = text(&output.stderr);
    assert!(said.contains("CAP_BPF") && said.contains("CAP_PERFMON"), "{said}");
}

#[test]
fn a_target_that_is_hit_too_often_is_let_go() {
    if !can_trace() {
        return;
    }
    let output = traced(
        &["trace", "syscall:getppid", "--max-rate", "1k", "-f", "json", "-o", "/dev/null"],
        50_000_000,
    );
    assert_exit(&output, 5);
    assert!(text(&output.stderr).contains("times a second"), "{}", text(&output.stderr));
}

#[test]
fn counting_and_mapping_take_the_same_targets() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page").to_string_lossy().into_owned();
    assert_exit(&traced(&["count", "syscall:getppid", "-o", &path], 1234), 0);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("1 234") && page.contains("/s"), "{page}");
    assert_exit(&run(&["heatmap", "syscall:read", "-o", &path, "--", "cat", "/etc/passwd"]), 0);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("each column half a power of two"), "{page}");
}

#[test]
fn slow_calls_say_who_and_where_from() {
    if !can_trace() {
        return;
    }
    let flags = ["slow", "syscall:clock_nanosleep", "--over", "20ms", "-f", "ndjson", "--", "sleep", "0.05"];
    let output = run(&flags);
    assert_exit(&output, 0);
    let page = text(&output.stdout);
    let slow: Vec<Value> = page
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &Value| record["record"] == "slow")
        .collect();
    assert_eq!(slow.len(), 1, "{page}");
    assert_eq!(
        (&slow[0]["comm"], slow[0]["elapsed_ns"].as_u64() >= Some(50_000_000)),
        (&"sleep".into(), true)
    );
    assert!(!slow[0]["kernel_stack"].as_array().unwrap().is_empty(), "{page}");
}

#[test]
fn a_user_function_is_found_by_its_path() {
    if !can_trace() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let target = format!("{}:*plays_the_traced_program", own.display());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.json").to_string_lossy().into_owned();
    let output = traced(&["trace", &target, "-f", "json", "-o", &path], 1);
    assert_exit(&output, 0);
    let session: Session = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(session.targets.iter().any(|row| row.row.n == 1 && row.row.backend == "uprobe"), "{session:?}");
}
