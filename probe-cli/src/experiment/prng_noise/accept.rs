//! Connections over the loopback device on one core, with draws from a generator beside each.

use std::hint::black_box;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use super::Draw;
use crate::experiment::Workload;
use crate::sys::loopback;

/// Draws of a connection: every gate of the thread that counts to eight is met once. How many a kernel of 2020 made is
/// not in the mail.
pub(super) const DRAWS_EACH: u64 = 8;

/// Connections of a batch.
pub(super) const CONNECTIONS: u64 = 48;

/// A task that connects to itself.
#[derive(Debug)]
pub(super) struct Accepting<D> {
    listener: TcpListener,
    address: SocketAddr,
    generator: D,
}

impl<D: Draw> Accepting<D> {
    /// # Panics
    ///
    /// If this machine has no loopback device that is up.
    pub(super) fn new(generator: D) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            bound.unwrap_or_else(|error| panic!("nobody can listen at the loopback device: {error}"));
        Self { listener, address, generator }
    }

    fn connection(&self) -> io::Result<()> {
        let client = loopback::connect(self.address)?;
        self.listener.accept()?;
        drop(client);
        Ok(())
    }
}

impl<D: Draw> Workload for Accepting<D> {
    fn reset(&mut self) {}

    fn run(&self, _task: usize) -> u64 {
        // A copy, so that every batch does the same.
        let mut generator = self.generator.clone();
        for _ in 0..CONNECTIONS {
            for _ in 0..DRAWS_EACH {
                black_box(black_box(&mut generator).draw());
            }
            if let Err(error) = self.connection() {
                panic!("a connection over the loopback device failed: {error}");
            }
        }
        CONNECTIONS
    }
}
