//! Running other programs: each is echoed before it starts, so that anybody can run it again by hand.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

/// What `timeout` answers when it ended the program itself.
const TIMED_OUT: i32 = 124;

/// A program of the system, ended after `limit`.
///
/// coreutils' `timeout` keeps the limit even when this process is killed; in the foreground it leaves the program in
/// the terminal's group, so that Ctrl-C still reaches it.
pub(crate) fn limited(limit: Duration, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "--kill-after=5"]).arg(limit.as_secs().to_string()).arg(program);
    command
}

/// Runs it to its end, whatever that is.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    echo(command);
    command.status().with_context(|| format!("could not start {}", program(command)))
}

/// Runs it, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    check(command, status)
}

/// Runs it without its words; if it fails, the error has the first of them that names one.
pub(crate) fn run_quietly(command: &mut Command) -> Result<()> {
    echo(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {}", program(command)))?;
    let words = String::from_utf8_lossy(&output.stderr);
    check(command, output.status).with_context(|| reason(&words).to_owned())
}

/// The line that says why, among those a failing program leaves.
fn reason(words: &str) -> &str {
    let names_an_error =
        |line: &&str| line.starts_with("E: ") || line.to_ascii_lowercase().starts_with("error");
    let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(names_an_error).or(lines.next()).unwrap_or("it gave no reason")
}

/// Its standard output; fails if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    echo(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not start {}", program(command)))?;
    check(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Hands over each line of its standard output as it comes, without the line's end.
pub(crate) fn lines(command: &mut Command, mut each: impl FnMut(&str)) -> Result<ExitStatus> {
    echo(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", program(command)))?;
    let mut stdout = BufReader::new(child.stdout.take().context("its output was not piped")?);
    let mut line = Vec::new();
    while stdout.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        each(text.trim_end_matches(['\n', '\r']));
        line.clear();
    }
    Ok(child.wait()?)
}

/// Whether a program of this name is on the PATH.
pub(crate) fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if status.code() == Some(TIMED_OUT) && command.get_program() == "timeout" {
        bail!("gave up on it after its time limit: {}", render(command));
    }
    ensure!(status.success(), "{} ended with {status}", program(command));
    Ok(())
}

/// The program that does the work, which for a limited one is an argument of `timeout`.
fn program(command: &Command) -> String {
    let limited = command.get_args().skip_while(|word| word.as_encoded_bytes().starts_with(b"--")).nth(1);
    let program = match limited {
        Some(program) if command.get_program() == "timeout" => program,
        _ => command.get_program(),
    };
    program.to_string_lossy().into_owned()
}

fn echo(command: &Command) {
    eprintln!("$ {}", render(command));
}

/// The command as a shell would take it, with the variables it sets.
pub(crate) fn render(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => words.push(format!("{}={}", name.to_string_lossy(), quote(value))),
            None => words.push(format!("{}=", name.to_string_lossy())),
        }
    }
    words.push(quote(command.get_program()));
    words.extend(command.get_args().map(quote));
    words.join(" ")
}

fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else if word.chars().any(char::is_control) {
        let escape = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
            c => c.to_string(),
        };
        format!("$'{}'", word.chars().map(escape).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echoed_command_can_be_pasted_into_a_shell() {
        let mut command = Command::new("printf");
        command.args(["%s|%s", "it's", "a b"]).env("FLAGS", "-Ca=1\u{1f}-Cb");
        assert_eq!(render(&command), r"FLAGS=$'-Ca=1\x1f-Cb' printf '%s|%s' 'it'\''s' 'a b'");
    }

    #[test]
    fn a_limit_ends_what_does_not_end_by_itself() {
        let error = run(limited(Duration::from_secs(1), "sleep").arg("60")).unwrap_err();
        assert!(error.to_string().contains("time limit"), "{error}");
    }

    #[test]
    fn a_failure_names_the_program_behind_the_limit_and_its_own_reason() {
        let script = "echo 'W: old' >&2; echo 'E: no such host' >&2; echo more >&2; exit 3";
        let error = run_quietly(limited(Duration::from_secs(9), "sh").args(["-c", script])).unwrap_err();
        assert_eq!(format!("{error:#}"), "E: no such host: sh ended with exit status: 3");
        assert_eq!(reason("\n  only this\n"), "only this");
        assert_eq!(reason(""), "it gave no reason");
    }

    #[test]
    fn lines_come_without_their_ends() {
        let mut seen = Vec::new();
        let status = lines(Command::new("printf").arg(r"a\r\nb\n\nlast"), |line| seen.push(line.to_owned()));
        assert!(status.unwrap().success());
        assert_eq!(seen, ["a", "b", "", "last"]);
    }
}
