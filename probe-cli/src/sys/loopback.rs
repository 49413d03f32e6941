//! Connections of this program to itself that leave nothing behind.

use std::io;
use std::net::{SocketAddr, TcpStream};

use nix::sys::socket::{setsockopt, sockopt};

/// Connects to `address`. The connection ends with a reset when the stream that is returned is dropped, or sooner: no
/// port of this machine then waits a minute for stragglers, as thousands of them otherwise would.
///
/// # Errors
///
/// What the kernel answered.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    setsockopt(&stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    // A message is sent when it is written.
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn the_other_side_sees_a_reset() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = connect(listener.local_addr().unwrap()).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        drop(stream);
        assert_eq!(other.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}
