//! getrandom(2), entered for real: the C library may answer without the kernel.
#![allow(unsafe_code, reason = "the only way to a system call by its number")]

use nix::errno::Errno;

/// Fills the beginning of `buffer` and returns how many bytes.
///
/// # Errors
///
/// What the kernel answered.
pub fn getrandom(buffer: &mut [u8]) -> nix::Result<usize> {
    // SAFETY: the kernel writes at most `len` bytes to the buffer, which is that long and ours alone.
    let written = unsafe { libc::syscall(libc::SYS_getrandom, buffer.as_mut_ptr(), buffer.len(), 0) };
    Errno::result(written).map(|written| usize::try_from(written).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn fills_the_whole_of_a_small_buffer() {
        let mut buffer = [0; 64];
        assert_eq!(super::getrandom(&mut buffer), Ok(64));
        assert!(buffer.iter().any(|byte| *byte != 0));
    }
}
