//! The fallback: the kernel copies within this very process, and answers a fault with a short count.
//!
//! Pieces end at page boundaries, where alone protection and presence change, so that a short count is an exact one.

use core::mem::MaybeUninit;

use super::account::{Cause, Fault};

/// The smallest page of any Linux; a larger one only means more pieces than needed.
const PAGE: usize = 4096;

/// The most pieces in one call, as the kernel allows.
const PIECES: usize = 64;

/// Which side cannot be trusted.
#[derive(Clone, Copy)]
enum Risk {
    Source,
    Destination,
}

/// Copies `len` bytes, both sides at risk, through a buffer on the stack; returns how many are left and why.
///
/// # Safety
///
/// What can be read of `src` and written of `dst`, up to `len` bytes each, may be read and written by this call.
pub(super) unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) -> (usize, Option<Fault>) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); PAGE];
    let mut done = 0;
    while done < len {
        let piece = (len - done).min(PAGE);
        // SAFETY: the buffer is ours and long enough; the source is the caller's contract.
        let (unread, first) = unsafe { read(buffer.as_mut_ptr().cast(), src.wrapping_add(done), piece) };
        // SAFETY: what was read of the buffer is initialised; the destination is the caller's contract.
        let (unwritten, second) =
            unsafe { write(dst.wrapping_add(done), buffer.as_ptr().cast(), piece - unread) };
        done += piece - unread - unwritten;
        if unread + unwritten > 0 {
            return (len - done, if unwritten > 0 { second } else { first });
        }
    }
    (0, None)
}

/// Copies from a source at risk.
///
/// # Safety
///
/// `dst` is valid for writes of `len` bytes; what can be read of `src` may be read by this call.
pub(super) unsafe fn read(dst: *mut u8, src: *const u8, len: usize) -> (usize, Option<Fault>) {
    // SAFETY: the contract is the same.
    unsafe { pieces_by_call(Risk::Source, dst, src, len) }
}

/// Copies to a destination at risk.
///
/// # Safety
///
/// `src` is valid for reads of `len` bytes; what can be written of `dst` may be written by this call.
pub(super) unsafe fn write(dst: *mut u8, src: *const u8, len: usize) -> (usize, Option<Fault>) {
    // SAFETY: the contract is the same.
    unsafe { pieces_by_call(Risk::Destination, dst, src, len) }
}

/// # Safety
///
/// As [`read`] or [`write`].
unsafe fn pieces_by_call(risk: Risk, dst: *mut u8, src: *const u8, len: usize) -> (usize, Option<Fault>) {
    // SAFETY: asks for this process's own number.
    let this = unsafe { libc::getpid() };
    let transfer = match risk {
        Risk::Source => libc::process_vm_readv,
        Risk::Destination => libc::process_vm_writev,
    };
    let mut done = 0;
    while done < len {
        let (to, from) = (dst.wrapping_add(done), src.wrapping_add(done));
        let (trusted, risky) = match risk {
            Risk::Source => (to, from.cast_mut()),
            Risk::Destination => (from.cast_mut(), to),
        };
        let (pieces, count, bytes) = pieces(risky, len - done);
        let local = libc::iovec { iov_base: trusted.cast(), iov_len: bytes };
        // SAFETY: `local` covers `bytes` of the trusted side and `pieces` as many of the other, both within `len`; the
        // kernel checks every access and answers a fault with a short count.
        let answer =
            unsafe { transfer(this, &raw const local, 1, pieces.as_ptr(), count as libc::c_ulong, 0) };
        if answer < 0 {
            let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
            let fault = match errno {
                libc::EFAULT => Fault { cause: Cause::Unknown, address: Some(risky.addr()) },
                errno => Fault { cause: Cause::Refused { errno }, address: None },
            };
            return (len - done, Some(fault));
        }
        let moved = answer as usize;
        done += moved;
        if moved < bytes {
            let address = Some(risky.addr() + moved);
            return (len - done, Some(Fault { cause: Cause::Unknown, address }));
        }
    }
    (0, None)
}

/// The start of `len` bytes from `start` as pieces that end with their pages: the pieces, how many, and their bytes.
fn pieces(start: *mut u8, len: usize) -> ([libc::iovec; PIECES], usize, usize) {
    let mut pieces = [libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 }; PIECES];
    let (mut count, mut bytes) = (0, 0);
    while count < PIECES && bytes < len {
        let at = start.wrapping_add(bytes);
        let piece = (PAGE - at.addr() % PAGE).min(len - bytes);
        pieces[count] = libc::iovec { iov_base: at.cast(), iov_len: piece };
        (count, bytes) = (count + 1, bytes + piece);
    }
    (pieces, count, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_their_pages_and_add_up() {
        for (start, len, expected) in [
            (0x1000, 1, &[1][..]),
            (0x1fff, 2, &[1, 1]),
            (0x1800, 0x2000, &[0x800, 0x1000, 0x800]),
            (0x1000, 0x1000, &[0x1000]),
        ] {
            let (pieces, count, bytes) = pieces(core::ptr::without_provenance_mut(start), len);
            assert!(pieces[..count].iter().map(|piece| piece.iov_len).eq(expected.iter().copied()));
            assert_eq!(bytes, len);
        }
        let (_, count, bytes) = pieces(core::ptr::without_provenance_mut(0x1000), 1 << 20);
        assert_eq!((count, bytes), (PIECES, PIECES * PAGE));
    }
}
