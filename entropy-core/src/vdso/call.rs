//! The system call `getrandom` (Linux 3.17), not the C library's function of that name, which may add steps of its own.

use super::Errno;

/// Fills the beginning of `out`; says how much of it. `flags` are those of getrandom(2).
///
/// # Errors
///
/// As the kernel answers: EINTR, EAGAIN, ENOSYS before 3.17, and whatever a sandbox likes.
pub(crate) fn getrandom(out: &mut [u8], flags: u32) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most `out.len()` bytes to where `out` lies, which is ours to write.
    let filled = unsafe { libc::syscall(libc::SYS_getrandom, out.as_mut_ptr(), out.len(), flags) };
    if filled < 0 {
        return Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)));
    }
    Ok(usize::try_from(filled).unwrap_or(0).min(out.len()))
}
