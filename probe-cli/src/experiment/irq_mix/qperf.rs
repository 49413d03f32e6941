//! The mail's own command, where it is installed: messages of 4 KiB to 1 MiB by `qperf`, here and now over the loopback
//! device.
//!
//! Between two machines it waits for interrupts of a network card; over the loopback device there are none. It shows what
//! the program itself reads on this machine, beside our own exchange, and nothing of the mail's claim.

use std::{
    io::Read as _,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{
    experiment::ProgramRun,
    report::model::{ProgramRow, ProgramValue},
    sys::{affinity, memory_policy},
};

/// Not the usual one: somebody's own server may be there.
const PORT: &str = "19766";

/// What it measures, and how that differs from the mail.
const WHAT: &str = "half of an exchange of messages, as the mail printed it; there between two machines and for 60 s a size, \
                    here over the loopback device, where no card interrupts, and for less";

/// How long it may take beside its own time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs it, and says what it printed or why it did not.
pub(super) fn run(how: &ProgramRun<'_>) -> ProgramRow {
    let (seconds, sizes) = if how.quick { (1, "4K:1024K:*16") } else { (2, "4K:1024K:*2") };
    let arguments = format!(
        "127.0.0.1 -lp {PORT} -v -uu -ub --time {seconds} --wait_server 20 -oo msg_size:{sizes} tcp_lat"
    );
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let numactl = how.membind.map_or_else(String::new, |node| format!("(memory of node {node}) "));
    let mut row = ProgramRow {
        command: format!("{numactl}qperf {}", arguments.join(" ")),
        what: WHAT.to_owned(),
        values: Vec::new(),
        reason: None,
    };
    match printed(how, &arguments) {
        Ok(text) => {
            row.values = values(&text);
            row.reason = row.values.is_empty().then(|| format!("it printed no latency: {}", text.trim()));
        }
        Err(why) => row.reason = Some(why),
    }
    row
}

fn printed(how: &ProgramRun<'_>, arguments: &[&str]) -> Result<String, String> {
    // What is allowed to a thread is allowed to what it starts: nothing of it stays with this process.
    let (cpus, membind) = (how.cpus, how.membind);
    let start = || -> Result<(Group, Group), String> {
        affinity::allow(cpus).map_err(|errno| format!("its CPUs could not be set: {errno}"))?;
        if let Some(node) = membind {
            memory_policy::bind(node).map_err(|errno| format!("its memory could not be bound: {errno}"))?;
        }
        // Should this process be killed, its server ends all the same.
        let server = Group::start(Command::new("timeout").args(["120", "qperf", "-lp", PORT]))?;
        Ok((server, Group::start(Command::new("qperf").args(arguments).stdout(Stdio::piped()))?))
    };
    let started = thread::scope(|scope| scope.spawn(start).join());
    let (_server, mut client) = started.map_err(|_| "it could not be started".to_owned())??;
    let begun = Instant::now();
    // All that it prints fits into a pipe.
    let status = loop {
        match client.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if (how.stop)() => return Err("it was interrupted".to_owned()),
            Ok(None) if begun.elapsed() > PATIENCE => {
                return Err("it did not end, and was stopped".to_owned());
            }
            Ok(None) => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("it could not be waited for: {error}")),
        }
    };
    let mut text = String::new();
    if let Some(output) = &mut client.0.stdout {
        output
            .take(1 << 20)
            .read_to_string(&mut text)
            .map_err(|error| format!("it printed no text: {error}"))?;
    }
    if status.success() { Ok(text) } else { Err(format!("it ended with {status}: {}", text.trim())) }
}

/// A program with all that it starts; ended when dropped.
struct Group(Child);

impl Group {
    fn start(command: &mut Command) -> Result<Self, String> {
        command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Self).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "qperf is not installed (Debian's package qperf)".to_owned(),
            _ => format!("qperf could not be started: {error}"),
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// The latency of each size.
fn values(text: &str) -> Vec<ProgramValue> {
    let field = |line: &str, name: &str| -> Option<(f64, String)> {
        let (key, value) = line.split_once('=')?;
        let mut words = value.split_whitespace();
        let number =
            words.next()?.replace(',', "").parse::<f64>().ok().filter(|number| number.is_finite())?;
        (key.trim() == name).then(|| (number, words.collect::<Vec<_>>().join(" ")))
    };
    let mut values = Vec::new();
    let mut latency = None;
    for line in text.lines() {
        if line.trim() == "tcp_lat:" {
            latency = None;
        }
        latency = field(line, "latency").or(latency);
        if let Some((size, unit)) = field(line, "msg_size")
            && let Some((value, of)) = latency.take()
        {
            values.push(ProgramValue { name: format!("messages of {size} {unit}"), value, unit: of });
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_its_latency() {
        let text = "tcp_lat:\n    latency        =        2318 ns\n    msg_rate       =      431394 /sec\n    \
                    msg_size       =        4096 bytes\n    time           =  1000000000 ns\ntcp_lat:\n    \
                    latency        =      326,052 ns\n    msg_size       =     1048576 bytes\n";
        let found: Vec<(String, f64, String)> =
            values(text).into_iter().map(|value| (value.name, value.value, value.unit)).collect();
        let expected = [("messages of 4096 bytes", 2318.0), ("messages of 1048576 bytes", 326_052.0)];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value, "ns".to_owned())));
    }

    #[test]
    fn whatever_is_printed_makes_no_numbers_up() {
        for text in [
            "",
            "latency = 5 ns",
            "msg_size = 4096 bytes",
            "tcp_lat:\nlatency = x ns\nmsg_size = 1 bytes",
            "=",
        ] {
            assert_eq!(values(text), [], "{text}");
        }
        assert_eq!(values("latency = inf ns\nmsg_size = 1 bytes"), []);
    }
}
