//! A network namespace of one thread that forwards packets, with one route for them.
#![allow(unsafe_code, reason = "nix has no wrappers for the ioctls of interfaces and routes")]

use std::fs;
use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;
use std::ptr;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use probe_abi::route::DESTINATION;

/// The loopback device, as the ioctls take its name.
const LOOPBACK: &[u8] = b"lo\0";
/// `RTF_UP`: the route can be used.
const RTF_UP: libc::c_ushort = 1;
/// Of the network of [`DESTINATION`], 198.18.0.0/15.
const MASK: [u8; 4] = [255, 254, 0, 0];

/// Moves this thread into a network namespace of its own, where [`DESTINATION`] is reached by way of the loopback
/// device and packets are forwarded. The namespace ends with its last thread and its last socket.
///
/// # Errors
///
/// What the kernel answered, and to what: EPERM without CAP_SYS_ADMIN. The thread may be in the new namespace already.
pub fn enter() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| told("entering a network namespace", errno.into()))?;
    // Any socket of the new namespace will do to speak to it by.
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(|error| told("opening a socket", error))?;
    bring_up(&socket).map_err(|error| told("bringing up the loopback device", error))?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")
        .map_err(|error| told("having packets forwarded", error))?;
    add_route(&socket).map_err(|error| told("adding a route", error))
}

fn told(tried: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{tried}: {error}"))
}

fn bring_up(socket: &UdpSocket) -> io::Result<()> {
    // SAFETY: all zeroes is a value of it.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(LOOPBACK) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: this call reads a `ifreq`, which outlives it.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    Ok(Errno::result(answer).map(drop)?)
}

fn add_route(socket: &UdpSocket) -> io::Result<()> {
    // SAFETY: all zeroes is a value of it.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    let network = [DESTINATION[0] & MASK[0], DESTINATION[1] & MASK[1], 0, 0];
    route.rt_dst = address(network);
    route.rt_genmask = address(MASK);
    route.rt_flags = RTF_UP;
    // The kernel does not write to the name.
    route.rt_dev = LOOPBACK.as_ptr().cast_mut().cast();
    // SAFETY: this call reads a `rtentry` and the name in it, which outlive it.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT, &raw const route) };
    Ok(Errno::result(answer).map(drop)?)
}

/// An address as the ioctls take it.
fn address(bytes: [u8; 4]) -> libc::sockaddr {
    let inet = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(bytes) },
        sin_zero: [0; 8],
    };
    const _: () = assert!(size_of::<libc::sockaddr_in>() == size_of::<libc::sockaddr>());
    // SAFETY: both have 16 bytes, as asserted, and every pattern of bits is a value of the second.
    unsafe { ptr::read_unaligned((&raw const inet).cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_is_in_the_namespace_of_its_thread_and_nowhere_else() {
        let table = || fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
        // 198.18.0.0, in the hexadecimal of a little-endian machine, by way of lo.
        let there = |table: &str| table.lines().any(|line| line.starts_with("lo\t000012C6\t"));
        let inside = std::thread::spawn(move || {
            enter()?;
            Ok::<_, io::Error>((table(), fs::read_to_string("/proc/sys/net/ipv4/ip_forward")?))
        });
        match inside.join().unwrap() {
            Ok((routes, forwards)) => {
                assert!(there(&routes), "{routes}");
                assert_eq!(forwards.trim(), "1");
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
        assert!(!there(&table()));
    }
}
