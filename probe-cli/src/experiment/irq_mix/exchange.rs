//! Request and response over the loopback device, while the stand-in's interrupts hit the CPU of the one who asks.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use entropy_core::clock::CycleSource;

use super::path::{HZ, event};
use super::stand_in::{StandIn, Tally};
use crate::experiment::Workload;
use crate::experiment::cycles::Cycles;
use crate::stats::rng::Rng;
use crate::sys::loopback;

/// An interrupt stands for this many bytes: one packet of an Ethernet, of a card that saves no interrupts.
const PACKET_BYTES: u64 = 1500;

/// Bytes of a batch each way, within the limits below.
const BATCH_BYTES: usize = 4 << 20;

/// Bytes that one system call is asked for: a bound on what happens between two looks at the interrupts.
const PIECE: usize = 64 << 10;

/// One side gives up when the other is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The task that asks, and the one that answers.
pub(super) const CLIENT: usize = 0;

/// A connection with a buffer at each end, and what interrupts the client.
#[derive(Debug)]
pub(super) struct Exchange {
    ends: [TcpStream; 2],
    buffers: [Mutex<Vec<u8>>; 2],
    requests: u64,
    /// None does nothing at all.
    stand_in: Option<StandIn>,
    raised: Mutex<Raised>,
}

/// How far the stand-in is.
#[derive(Debug, Default)]
struct Raised {
    /// Bytes that have not made a whole packet.
    rest: u64,
    /// Interrupts so far.
    interrupts: u64,
    /// Time that the client was at work: nobody else's batches make a second pass.
    worked: Duration,
    /// The last tick that was seen.
    tick: u64,
}

impl Exchange {
    /// Exchanges of `bytes` each way.
    ///
    /// # Panics
    ///
    /// If this machine cannot connect to itself.
    pub(super) fn new(bytes: usize, stand_in: Option<StandIn>, seed: u64) -> Self {
        let ends =
            connect().unwrap_or_else(|error| panic!("no connection over the loopback device: {error}"));
        let mut rng = Rng::new(seed);
        let message: Vec<u8> = (0..bytes).map(|_| rng.next_u64() as u8).collect();
        Self {
            ends,
            buffers: [Mutex::new(message), Mutex::new(vec![0; bytes])],
            requests: (BATCH_BYTES / bytes).clamp(4, 128) as u64,
            stand_in,
            raised: Mutex::default(),
        }
    }

    fn ask(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let worked = raised.worked;
        for _ in 0..self.requests {
            move_all(buffer.len(), |from, to| {
                let sent = (&self.ends[CLIENT]).write(&buffer[from..to])?;
                self.raise(&mut raised, sent, worked, start);
                Ok(sent)
            })?;
            move_all(buffer.len(), |from, to| {
                let received = (&self.ends[CLIENT]).read(&mut buffer[from..to])?;
                self.raise(&mut raised, received, worked, start);
                Ok(received)
            })?;
        }
        if let Some(stand_in) = &self.stand_in {
            stand_in.settle();
            raised.worked = worked + start.elapsed();
        }
        Ok(())
    }

    /// The interrupts of so many bytes, and the tick if one has come.
    #[inline]
    fn raise(&self, raised: &mut Raised, bytes: usize, worked: Duration, start: Instant) {
        let Some(stand_in) = &self.stand_in else { return };
        let now = ((worked + start.elapsed()).as_nanos() * u128::from(HZ) / 1_000_000_000) as u64;
        if now != raised.tick {
            raised.tick = now;
            stand_in.tick(now);
        }
        raised.rest += bytes as u64;
        while raised.rest >= PACKET_BYTES {
            raised.rest -= PACKET_BYTES;
            raised.interrupts += 1;
            stand_in.interrupt(event(Cycles.cycles()), now);
        }
    }

    fn answer(&self, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..self.requests {
            (&self.ends[1]).read_exact(buffer)?;
            (&self.ends[1]).write_all(buffer)?;
        }
        Ok(())
    }
}

fn connect() -> io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = loopback::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    server.set_nodelay(true)?;
    for end in [&client, &server] {
        end.set_read_timeout(Some(PATIENCE))?;
        end.set_write_timeout(Some(PATIENCE))?;
    }
    Ok([client, server])
}

/// Moves `bytes` in as many pieces as it takes.
#[inline]
fn move_all(bytes: usize, mut piece: impl FnMut(usize, usize) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        match piece(done, bytes.min(done + PIECE))? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            moved => done += moved,
        }
    }
    Ok(())
}

impl Workload for Exchange {
    fn reset(&mut self) {
        if let Some(stand_in) = &mut self.stand_in {
            stand_in.settle_here();
        }
    }

    fn run(&self, task: usize) -> u64 {
        let mut buffer = self.buffers[task].lock().unwrap_or_else(PoisonError::into_inner);
        let done = if task == CLIENT { self.ask(&mut buffer) } else { self.answer(&mut buffer) };
        if let Err(error) = done {
            panic!("an exchange over the loopback device broke off: {error}");
        }
        // What the server does is a part of the same request.
        if task == CLIENT { self.requests } else { 0 }
    }
}

/// One batch: the bytes come back as they were sent, with an interrupt for each packet of them, each handed over once or
/// still counted.
pub(super) fn prove(bytes: usize, stand_in: Option<StandIn>) -> Result<Tally, String> {
    let mut exchange = Exchange::new(bytes, stand_in, 2022);
    let sent = exchange.buffers[CLIENT].lock().unwrap_or_else(PoisonError::into_inner).clone();
    exchange.reset();
    thread::scope(|scope| {
        scope.spawn(|| exchange.run(1));
        exchange.run(CLIENT);
    });
    for buffer in &exchange.buffers {
        if *buffer.lock().unwrap_or_else(PoisonError::into_inner) != sent {
            return Err("other bytes came than were sent".to_owned());
        }
    }
    let Some(stand_in) = &exchange.stand_in else { return Ok(Tally::default()) };
    let (tally, expected) = (stand_in.tally(), 2 * exchange.requests * bytes as u64 / PACKET_BYTES);
    if tally.handed + tally.waiting != expected {
        return Err(format!(
            "{} interrupts handed over, {} kept, of {expected}",
            tally.handed, tally.waiting
        ));
    }
    Ok(tally)
}
