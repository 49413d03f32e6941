//! The generators of entropy-core through a battery of statistical tests: Debian's dieharder.
//!
//! A bounded part of it, some eight minutes, since the whole takes an hour for each generator. Streams are the same every
//! time, so the verdicts are too.

use std::{
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    cargo::{cargo, executables, find},
    process::{self, on_path},
};

const EXAMPLE: &str = "stream";
const BATTERY: &str = "dieharder";

/// Number and what it looks at: those that take seconds, without those that dieharder itself calls suspect.
const TESTS: [(&str, &str); 6] = [
    ("0", "distances of birthdays"),
    ("2", "ranks of 32x32 matrices of bits"),
    ("8", "ones in bytes, as a stream"),
    ("15", "runs up and down"),
    ("100", "ones in all"),
    ("101", "runs of bits"),
];

/// Samples behind each p-value: dieharder's usual number. With 20 its own AES generator gets three times as many p-values
/// above 0.9 as it should.
const SAMPLES: &str = "100";

/// Longest time for one test of one generator.
const LIMIT: Duration = Duration::from_secs(300);

/// What has to be there first, if it is not.
pub(super) fn missing() -> Option<&'static str> {
    (!on_path(BATTERY)).then_some("there is no dieharder here; Debian's package is dieharder")
}

/// Prints a line for every p-value, and fails if the battery fails any.
pub(super) fn run() -> Result<()> {
    let built =
        executables(&mut cargo(["build", "--release", "--package=entropy-core", "--example", EXAMPLE]))?;
    let example = find(&built, "example", EXAMPLE)?;
    let names = process::output(&mut Command::new(example))?;
    println!("{:<28} {:<34} {:>10}  verdict", "generator", "test", "p");
    let mut failed = Vec::new();
    for name in names.lines() {
        for (number, what) in TESTS {
            let results = battery(example, name, number)?;
            ensure!(!results.is_empty(), "{BATTERY} -d {number} of {name} printed no p-value");
            for Verdict { p, words } in results {
                println!("{name:<28} {what:<34} {p:>10.8}  {words}");
                if words == "FAILED" {
                    failed.push(format!("{name} ({what})"));
                }
            }
        }
    }
    ensure!(failed.is_empty(), "the battery fails {}", failed.join(", "));
    Ok(())
}

/// One p-value.
#[derive(Debug, PartialEq)]
struct Verdict {
    p: f64,
    words: String,
}

/// One test of one generator's stream.
fn battery(example: &Path, name: &str, number: &str) -> Result<Vec<Verdict>> {
    let mut stream = Command::new(example)
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", example.display()))?;
    let bytes = stream.stdout.take().context("the stream was not piped")?;
    // 200: bytes as they come on standard input.
    let mut command = process::limited(LIMIT, BATTERY);
    command.args(["-g", "200", "-p", SAMPLES, "-d", number]).stdin(bytes).stdout(Stdio::piped());
    let ran = command.spawn().and_then(|mut battery| {
        let mut text = String::new();
        if let Some(mut output) = battery.stdout.take() {
            output.read_to_string(&mut text)?;
        }
        Ok((battery.wait()?, text))
    });
    // The pipe's only reader is gone, so the stream ends by itself; where nothing was read it has to be told. The
    // command holds the pipe's other end.
    drop(command);
    let _ = stream.kill();
    stream.wait()?;
    let (status, text) = ran.with_context(|| format!("could not start {BATTERY}"))?;
    ensure!(status.success(), "{BATTERY} -d {number} of {name} ended with {status}");
    Ok(verdicts(&text))
}

/// Lines such as `sts_monobit|   1|    100000|      20|0.93|  PASSED`; headings have no number there.
fn verdicts(text: &str) -> Vec<Verdict> {
    let verdict = |line: &str| {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [.., p, words] = fields[..] else { return None };
        (fields.len() == 6).then_some(())?;
        Some(Verdict { p: p.parse().ok()?, words: words.to_owned() })
    };
    text.lines().filter_map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_read_and_headings_are_not() {
        let text = "#=====#\n   rng_name    |rands/second|   Seed   |\nstdin_input_raw|  5.61e+07  |1234|\n\
                    \u{20}       test_name   |ntup| tsamples |psamples|  p-value |Assessment\n\
                    \u{20} diehard_birthdays|   0|       100|      20|0.40412157|  PASSED  \n\
                    \u{20}       sts_serial|   1|    100000|      20|0.00000000|  FAILED  \n";
        let expected = [(0.40412157, "PASSED"), (0.0, "FAILED")]
            .map(|(p, words)| Verdict { p, words: words.to_owned() });
        assert_eq!(verdicts(text), expected);
    }
}
