//! `cargo xtask bench`: the speed targets, one row each.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::{build_ebpf, cargo::cargo, peers, places, process, run};

/// The target that is a chore of this workspace, and so is measured here and not by the tool.
const CHORE: &str = "T5";
const CHORE_WORK: &str = "cargo xtask run --quick after the build";
const CHORE_LIMIT_S: f64 = 60.0;

/// Measure the speed targets against their peers
///
/// One row a target: what was done, the target, what was measured with its interval, whether it is met. A miss is
/// reported as a miss and is no failure of the command. T5, the time of `cargo xtask run --quick`, is taken after
/// everything is built.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask bench                          every target\n  \
    cargo xtask bench E7 T2 --json rows.json   two of them, with the raw pairs\n  \
    cargo xtask bench T5 --quick               one run instead of three")]
pub(crate) struct Bench {
    /// Targets by id, or by a word of what they do
    #[arg(value_name = "ID or FILTER")]
    filters: Vec<String>,
    /// Fewer launches: a look, not a verdict
    #[arg(long)]
    quick: bool,
    /// Write the rows here as JSON, in place of what the file held
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Bench {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let json = self.json.as_deref().map(std::path::absolute).transpose()?;
        if let Some(json) = &json {
            // Written beside and renamed when all rows are there: an earlier file is whole until then.
            fs::write(partial(json), "[]").with_context(|| format!("cannot write {}", json.display()))?;
        }
        build_ebpf::build_or_say_why_not();
        let mut code = 0;
        if let Some(filters) = for_the_tool(&self.filters) {
            code = self.measure_by_the_tool(&filters, json.as_deref())?;
        }
        if code != 0 {
            // Half a list would stand where a whole one was.
            if let Some(json) = &json {
                let _ = fs::remove_file(partial(json));
            }
            return Ok(ExitCode::from(code));
        }
        if asks_for_the_chore(&self.filters) {
            let row = time_the_chore(if self.quick { 1 } else { 3 })?;
            println!("{}", render(&row));
            if let Some(json) = &json {
                merge(&partial(json), row)?;
            }
        }
        if let Some(json) = &json {
            fs::rename(partial(json), json)?;
            println!("rows  {}", json.display());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn measure_by_the_tool(&self, filters: &[&str], json: Option<&Path>) -> Result<u8> {
        let mut command = cargo(["bench", "--package=probe-cli", "--bench=targets", "--"]);
        command.args(filters);
        if self.quick {
            command.arg("--quick");
        }
        match peers::newest_c_library() {
            Ok(folders) => {
                command.env(peers::NEWEST_C_LIBRARY, folders);
            }
            Err(error) => eprintln!("bench  without Debian's newest C library: {error:#}"),
        }
        if let Some(json) = json {
            command.arg("--json").arg(partial(json));
        }
        command.env("RUSTFLAGS", with_peers_at_their_best(env::var("RUSTFLAGS").ok()));
        let status = process::status(&mut command)?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

/// The chacha20 crate has its AVX-512 behind a switch that no feature turns.
fn with_peers_at_their_best(flags: Option<String>) -> String {
    let switch = "--cfg chacha20_avx512";
    flags.map_or_else(|| switch.to_owned(), |flags| format!("{flags} {switch}"))
}

/// The filters that are the tool's to answer; `None` when there is nothing left for it.
fn for_the_tool(filters: &[String]) -> Option<Vec<&str>> {
    let rest: Vec<&str> =
        filters.iter().map(String::as_str).filter(|filter| !filter.eq_ignore_ascii_case(CHORE)).collect();
    (filters.is_empty() || !rest.is_empty()).then_some(rest)
}

fn asks_for_the_chore(filters: &[String]) -> bool {
    filters.is_empty()
        || filters
            .iter()
            .any(|filter| filter.eq_ignore_ascii_case(CHORE) || CHORE_WORK.contains(filter.as_str()))
}

/// Runs the very command, built beforehand, and takes its wall time.
fn time_the_chore(times: usize) -> Result<Value> {
    run::build()?;
    let folder = places::ebpf().with_file_name("bench").join("run");
    let mut seconds = Vec::new();
    for _ in 0..times {
        let mut command = Command::new(env::current_exe()?);
        command.args(["run", "--quick", "--out"]).arg(&folder);
        let started = Instant::now();
        let status = process::status(&mut command)?;
        ensure!(status.success(), "`cargo xtask run --quick` ended with {status}: nothing to time");
        seconds.push(started.elapsed().as_secs_f64());
    }
    Ok(row(seconds))
}

/// The row of wall times in seconds; there is no peer, hence no pairs.
fn row(mut seconds: Vec<f64>) -> Value {
    let raw = seconds.clone();
    seconds.sort_by(f64::total_cmp);
    let worst = seconds.last().copied();
    let (lo, hi, note) = match seconds.as_slice() {
        [_] => (None, None, "wall seconds of one run: no interval; the full run was not timed".to_owned()),
        runs => (
            runs.first().copied(),
            worst,
            format!(
                "median wall seconds of {} runs, lowest and highest; the full run was not timed",
                runs.len()
            ),
        ),
    };
    json!({
        "id": CHORE,
        "work": CHORE_WORK,
        "target": format!("<= {CHORE_LIMIT_S} s"),
        "measured": seconds.get(seconds.len() / 2),
        "lo": lo,
        "hi": hi,
        "met": worst.is_some_and(|worst| worst <= CHORE_LIMIT_S),
        "note": note,
        "pairs": [],
        "samples_s": raw,
    })
}

fn render(row: &Value) -> String {
    let met = if row["met"] == true { "met" } else { "missed" };
    let text = |field: &str| row[field].as_str().unwrap_or_default();
    let measured = row["measured"].as_f64().unwrap_or(f64::NAN);
    format!(
        "{}  {}  target {}  measured {measured:.1} s  {met}  ({})",
        text("id"),
        text("work"),
        text("target"),
        text("note")
    )
}

/// Puts a row into the file's list, in place of an earlier one of the same id.
fn merge(file: &Path, row: Value) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    let rows = merged(&text, row).with_context(|| format!("{} is not a list of rows", file.display()))?;
    fs::write(file, rows).with_context(|| format!("could not write {}", file.display()))
}

fn merged(text: &str, row: Value) -> Result<String> {
    let mut rows: Vec<Value> = serde_json::from_str(text)?;
    match rows.iter_mut().find(|old| old["id"] == row["id"]) {
        Some(old) => *old = row,
        None => rows.push(row),
    }
    Ok(serde_json::to_string_pretty(&rows)? + "\n")
}

fn partial(json: &Path) -> PathBuf {
    let mut name = json.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn each_target_is_asked_of_who_measures_it() {
        assert_eq!(for_the_tool(&filters(&[])), Some(vec![]));
        assert_eq!(for_the_tool(&filters(&["t5"])), None);
        assert_eq!(for_the_tool(&filters(&["E7", "T5"])), Some(vec!["E7"]));
        assert!(asks_for_the_chore(&[]) && asks_for_the_chore(&filters(&["E7", "t5"])));
        assert!(!asks_for_the_chore(&filters(&["E7", "T2"])));
    }

    #[test]
    fn a_row_of_several_runs_is_met_only_if_the_slowest_is() {
        let row = row(vec![59.0, 61.0, 50.0]);
        assert_eq!((&row["measured"], &row["lo"], &row["hi"]), (&json!(59.0), &json!(50.0), &json!(61.0)));
        assert_eq!(row["met"], false);
        assert_eq!(row["samples_s"], json!([59.0, 61.0, 50.0]));
    }

    #[test]
    fn one_run_has_no_interval() {
        let row = row(vec![12.5]);
        assert_eq!((&row["measured"], &row["lo"], &row["hi"]), (&json!(12.5), &Value::Null, &Value::Null));
        assert_eq!(row["met"], true);
        for field in ["id", "work", "target", "measured", "lo", "hi", "met", "note", "pairs"] {
            assert!(row.get(field).is_some(), "{field}");
        }
    }

    #[test]
    fn a_row_joins_the_others_or_takes_its_own_place() {
        let joined = merged(r#"[{"id":"E7","met":true}]"#, json!({"id": "T5", "met": true})).unwrap();
        let rows: Value = serde_json::from_str(&joined).unwrap();
        assert_eq!(rows, json!([{"id": "E7", "met": true}, {"id": "T5", "met": true}]));

        let replaced = merged(&joined, json!({"id": "T5", "met": false})).unwrap();
        let rows: Value = serde_json::from_str(&replaced).unwrap();
        assert_eq!(rows, json!([{"id": "E7", "met": true}, {"id": "T5", "met": false}]));
        assert!(merged("{}", json!({})).is_err());
    }
}
