//! Two sides as people and scripts meet them: what is launched in which order, what is undone, what follows.

#[allow(dead_code, reason = "another test uses the rest of it")]
mod synthetic;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, getppid},
};
use probe_cli::{
    ab::{self, Ab, Live, Row, SideReport},
    compare::Verdict,
    report::{model::Ratio, text::Style},
};
use serde_json::Value;

fn probe(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("probe-cli"));
    command.arg("ab").args(arguments).env_remove("SUDO_UID").env_remove("SUDO_GID").stdin(Stdio::null());
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

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(&ab::schema()).unwrap()).unwrap()
}

#[track_caller]
fn document(output: &Output) -> Ab {
    let value: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)));
    let errors: Vec<String> = validator().iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    serde_json::from_value(value).unwrap()
}

fn row<'a>(found: &'a Ab, name: &str) -> &'a Row {
    found
        .rows
        .iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("no row {name}: {:?}", found.rows))
}

/// A file in a folder of the test's own, and a command that puts a word at its end.
struct Log {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Log {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("log"), _folder: folder }
    }

    fn word(&self, word: &str) -> String {
        format!("printf {word} >> '{}'", self.path.display())
    }

    fn read(&self) -> String {
        fs::read_to_string(&self.path).unwrap_or_default()
    }
}

/// Waits until `condition` holds; a minute is more than any machine needs.
fn until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never came to pass");
        thread::sleep(Duration::from_millis(5));
    }
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
}

#[test]
fn a_command_that_sleeps_four_times_as_long_is_found() {
    let output = run(&["--a", "sleep 0.05", "--b", "sleep 0.2", "--launches", "5", "-f", "json"]);
    assert_exit(&output, 10);
    let found = document(&output);
    let wall = row(&found, "wall time");
    assert_eq!((wall.verdict, found.pairs), (Verdict::Regression, 5));
    // A sleep lasts as long as asked, or longer.
    assert!(wall.samples_a.iter().all(|ns| ns.unwrap() >= 50e6), "{:?}", wall.samples_a);
    assert!(wall.samples_b.iter().all(|ns| ns.unwrap() >= 200e6), "{:?}", wall.samples_b);
    assert_eq!(text(&output.stderr), "probe-cli: 1 row got slower\n");

    let arguments = ["--a", "sleep 0.2", "--b", "sleep 0.05", "--launches", "5", "-f", "json"];
    let output = run(&arguments);
    assert_exit(&output, 0);
    assert_eq!(row(&document(&output), "wall time").verdict, Verdict::Improvement);
}

#[test]
fn the_machine_is_set_up_before_each_launch_and_put_back_once() {
    let log = Log::new();
    let (a, b, load, undo) = (log.word("a"), log.word("b"), log.word("."), log.word("undone"));
    let arguments =
        ["--setup-a", &a, "--setup-b", &b, "--undo", &undo, "--launches", "5", "--threshold", "1000%", "-q"];
    assert_exit(&run(&[&arguments[..], &["--", "sh", "-c", &load]].concat()), 0);
    assert_eq!(log.read(), "a.b.b.a.a.b.b.a.a.b.undone");
}

#[test]
fn two_commands_run_beside_their_load() {
    let log = Log::new();
    let (a, b, load) = (log.word("a"), log.word("b"), log.word("l"));
    let arguments = ["--a", &a, "--b", &b, "--launches", "5", "--threshold", "1000%", "-f", "json"];
    let output = run(&[&arguments[..], &["--", "sh", "-c", &load]].concat());
    assert_exit(&output, 0);
    let counts = ['a', 'b', 'l'].map(|letter| log.read().matches(letter).count());
    assert_eq!(counts, [5, 5, 10]);
    let found = document(&output);
    assert_eq!(row(&found, "wall time of the load").samples_a.len(), 5);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);

    // One that never ends is ended, and nothing of it stays.
    let flags = ["--a", "true", "--b", "true", "--launches", "5", "--load-for", "50ms", "-f", "json"];
    let load = ["--", "sh", "-c", "sleep 76543 & sleep 76543"];
    let output = run(&[&flags[..], &["--threshold", "1000%"], &load].concat());
    assert_exit(&output, 0);
    assert_eq!(document(&output).warnings[0].code, "load-cut-short");
    let running = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    assert!(!text(&running.stdout).contains("sleep 76543"));
}

#[test]
fn whatever_fails_is_undone_and_said() {
    let log = Log::new();
    let undo = log.word("undone");
    for (flags, words) in [
        (
            &["--setup-a", "true", "--setup-b", "exit 3"][..],
            "set-up of B failed: it ended with exit status: 3",
        ),
        (
            &["--setup-a", "sleep 76542", "--setup-timeout", "100ms"],
            "set-up of A failed: it did not end in 100ms and was stopped; the command was: sleep 76542",
        ),
        (
            &["--setup-a", "true", "--a", "true", "--b", "sh -c 'exit 9'"],
            "a launch of B ended with exit status: 9",
        ),
        (&["--setup-a", "true", "--a", "true", "--b", "no-such-program-anywhere"], "could not be started"),
    ] {
        let load = if flags.contains(&"--a") { &[][..] } else { &["--", "true"] };
        let output = run(&[flags, &["--undo", &undo], load].concat());
        assert_exit(&output, 1);
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
        assert_eq!(log.read(), "undone", "after {flags:?}");
        fs::remove_file(&log.path).unwrap();
    }
    let arguments = ["--setup-a", "true", "--undo", "exit 5", "--launches", "5", "--", "true"];
    let output = run(&arguments);
    assert_exit(&output, 1);
    assert!(
        text(&output.stderr).contains("undo failed: it ended with exit status: 5"),
        "{}",
        text(&output.stderr)
    );
    // Without a set-up there is nothing to put back.
    let output = run(&["--a", "true", "--b", "true", "--undo", &undo, "--threshold", "1000%", "-q"]);
    assert_exit(&output, 0);
    assert_eq!(log.read(), "");
}

#[test]
fn an_interrupted_comparison_is_undone_and_shows_what_it_has() {
    let log = Log::new();
    let (setup, undo) = (log.word("s"), log.word("u"));
    let arguments = ["--setup-a", &setup, "--undo", &undo, "-f", "json", "--", "sleep", "76541"];
    let child = probe(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| log.read() == "s");
    // The launch begins a moment later; it is ended whether it has or not.
    thread::sleep(Duration::from_millis(100));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_exit(&output, 0);
    let found = document(&output);
    assert!(found.interrupted && found.pairs == 0);
    assert_eq!(log.read(), "su");
    let running = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    assert!(!text(&running.stdout).contains("sleep 76541"));
}

#[test]
fn a_second_interrupt_waits_for_the_undo_alone() {
    let log = Log::new();
    let setup = log.word("s");
    let undo = format!("{}; sleep 1; {}", log.word("u"), log.word("U"));
    let arguments = ["--setup-a", &setup, "--undo", &undo, "--", "sleep", "76540"];
    let mut child = probe(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(|| log.read() == "s");
    interrupt(&child);
    until(|| log.read() == "su");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(log.read(), "suU");
}

#[test]
fn what_means_nothing_is_a_usage_error() {
    for (arguments, words) in [
        (&[][..], "nothing to launch"),
        (&["--", "true"], "both sides are the same"),
        (&["--a", "true"], "--b <CMD>"),
        (&["--a", "true", "--b", "a 'b"], "a quote does not end"),
        (&["--a", "true", "--b", ""], "it is empty"),
        (&["--a", "true", "--b", "true", "--launches", "4"], "4 is not in 5..=1000"),
    ] {
        let output = run(arguments);
        assert_exit(&output, 2);
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
    }
    assert_exit(&run(&["--a", "true", "--b", "true", "no:such:target"]), 4);
}

/// A program that calls getppid so often and does next to nothing else: this test, started anew.
fn caller(calls: u32) -> String {
    let own = std::env::current_exe().unwrap();
    format!("env CALLS={calls} '{}' --exact --nocapture plays_the_traced_program", own.display())
}

/// Started as a test it does nothing.
#[test]
fn plays_the_traced_program() {
    let calls = std::env::var("CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(0_u32);
    for _ in 0..calls {
        getppid();
    }
}

#[test]
fn live_targets_count_the_calls_of_each_side_exactly() {
    let arguments = ["--a", &caller(3000), "--b", &caller(5000), "syscall:getppid", "--launches", "5"];
    let flags = ["--threshold", "1000%", "-f", "json"];
    let output = run(&[&arguments[..], &flags].concat());
    if output.status.code() == Some(3) {
        println!("skipped: {}", text(&output.stderr).trim());
        return;
    }
    assert_exit(&output, 0);
    let found = document(&output);
    assert_eq!(found.live.len(), 1);
    let Live { a, b } = &found.live[0];
    assert_eq!((a.n, b.n), (5 * 3000, 5 * 5000));
    for row in [a, b] {
        assert_eq!((row.unmatched, row.dropped, row.missed), (0, 0, Some(0)));
        assert!(row.floor_ns.is_some() && row.added_ns.is_some() && row.bystander_ns.is_some());
    }
    let p99 = row(&found, "syscall:getppid p99");
    assert!(p99.samples_a.iter().chain(&p99.samples_b).all(Option::is_some));
}

/// Names that mean harm, in a document that no machine made.
fn hostile() -> Ab {
    let report = synthetic::hostile();
    let attack = "</style><script>alert(1)</script>\x1b[2J=1+1\n日本".to_owned();
    let live = report.experiments[0].live[0].clone();
    Ab {
        schema: ab::SCHEMA.into(),
        host: report.host,
        tool: report.tool,
        started: attack.clone(),
        interrupted: true,
        a: SideReport { command: Some(attack.clone()), setup: Some(attack.clone()) },
        b: SideReport { command: None, setup: None },
        load: Some(attack.clone()),
        undo: Some(attack.clone()),
        pairs: 0,
        threshold: 0.05,
        rows: vec![Row {
            name: attack.clone(),
            unit: "ns".into(),
            a: Some(0.0),
            b: None,
            ratio: Some(Ratio { value: 1e300, ci95: [1e-300, f64::MAX] }),
            noise: Some([1e-300, 1e300]),
            q: Some(0.0),
            verdict: Verdict::Inconclusive,
            why: attack,
            samples_a: vec![],
            samples_b: vec![None],
        }],
        live: vec![Live { a: live.clone(), b: live }],
        calibration: report.calibration,
        probes_added: Some([0.5, 1.0]),
        warnings: report.warnings,
    }
}

#[test]
fn names_of_harm_come_through_every_form() {
    let found = hostile();
    let (text, csv) = (ab::table::text(&found, Style::PLAIN), ab::table::csv(&found).replace("\r\n", "\n"));
    let (markdown, page) = (ab::table::markdown(&found), ab::html::page(&found));
    for form in [&text, &csv, &markdown, &page] {
        assert!(form.chars().all(|letter| letter == '\n' || !letter.is_control()), "{form:?}");
        assert!(!form.contains("NaN"), "{form}");
    }
    assert!(!markdown.contains("<script") && !page.contains("<script"));
    assert!(csv.lines().all(|line| !line.starts_with('=')), "{csv}");
    let errors = validator().iter_errors(&serde_json::to_value(&found).unwrap()).count();
    assert_eq!(errors, 0);
}

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path: &Path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/ab.schema.json").as_ref();
    let current = ab::schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(path, &current).unwrap();
    }
    assert!(
        fs::read_to_string(path).unwrap_or_default() == current,
        "schema/ab.schema.json is not that of the types; `UPDATE_SCHEMA=1 cargo test -p probe-cli --test ab` writes it"
    );
}
