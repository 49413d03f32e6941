//! Packets over the loopback device of a network namespace of their own, past a firewall's rule or none.
//!
//! The sockets keep the namespace alive: when they are dropped it goes, with its rules and its device.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};

use crate::experiment::Workload;

/// Packets of a batch.
pub(super) const PACKETS: u64 = 500;

/// A packet on the loopback device is there when it has been sent; one that was lost ends the wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a packet passes on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// No table, no chain.
    None,
    /// A rule that counts every packet.
    Count,
    /// A rule that draws a number for every packet and counts half of them: one draw of LFSR113 in kernels of today.
    Random,
}

impl Rule {
    pub(super) const ALL: [Self; 3] = [Self::Count, Self::Random, Self::None];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "no-rule",
            Self::Count => "count",
            Self::Random => "random",
        }
    }

    pub(super) const fn summary(self) -> &'static str {
        match self {
            Self::None => "no rule at all",
            Self::Count => "a rule of nft's that counts every packet",
            Self::Random => "the rule draws a random number and counts half of the packets",
        }
    }

    fn text(self) -> Option<String> {
        let rule = match self {
            Self::None => return None,
            Self::Count => "counter",
            Self::Random => "numgen random mod 2 < 1 counter",
        };
        Some(format!(
            "table ip lab {{\n chain out {{\n type filter hook output priority 0;\n {rule}\n }}\n}}\n"
        ))
    }
}

/// Why there can be no such namespace here, if there can be none: tried once, with the richest rule.
pub(super) fn refused() -> Option<&'static str> {
    static REFUSED: LazyLock<Option<String>> =
        LazyLock::new(|| sockets(Rule::Random).err().map(|error| error.to_string()));
    REFUSED.as_deref()
}

/// Two sockets in a namespace of their own, connected to each other.
#[derive(Debug)]
pub(super) struct Passing {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Passing {
    /// # Panics
    ///
    /// If there can be none, which [`refused`] tells before.
    pub(super) fn new(rule: Rule) -> Self {
        let (sender, receiver) =
            sockets(rule).unwrap_or_else(|error| panic!("no network namespace for packets: {error}"));
        Self { sender, receiver }
    }

    fn packet(&self) -> io::Result<()> {
        self.sender.send(&[0; 64])?;
        self.receiver.recv(&mut [0; 64])?;
        Ok(())
    }
}

impl Workload for Passing {
    fn reset(&mut self) {}

    fn run(&self, _task: usize) -> u64 {
        for _ in 0..PACKETS {
            if let Err(error) = self.packet() {
                panic!("a packet over the loopback device was lost: {error}");
            }
        }
        PACKETS
    }
}

/// Makes the namespace in a thread of its own, which leaves this process where it is.
fn sockets(rule: Rule) -> io::Result<(UdpSocket, UdpSocket)> {
    let inside = || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| {
            io::Error::other(format!("a network namespace takes CAP_SYS_ADMIN ({})", errno.desc()))
        })?;
        run(Command::new("ip").args(["link", "set", "lo", "up"]), "")?;
        if let Some(text) = rule.text() {
            run(Command::new("nft").args(["-f", "-"]), &text)?;
        }
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        receiver.set_read_timeout(Some(PATIENCE))?;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        sender.connect(receiver.local_addr()?)?;
        Ok((sender, receiver))
    };
    thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Runs a tool of the system in the namespace of the calling thread.
fn run(command: &mut Command, input: &str) -> io::Result<()> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("no {tool} here ({error})")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A tool that does not read its input says so by its status.
        let _ = stdin.write_all(input.as_bytes());
    }
    match child.wait()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("{tool} failed ({status}): is nf_tables in this kernel?"))),
    }
}
