//! On which NUMA node new memory is taken.
#![allow(unsafe_code, reason = "nix has no wrapper for set_mempolicy")]

use nix::errno::Errno;

/// `MPOL_BIND` of `linux/mempolicy.h`: from these nodes or not at all.
const BIND: libc::c_ulong = 2;

/// Nodes a mask of ours can name; the kernel's own limit is 1024.
const MAX_NODES: usize = 1024;

/// Has this thread, and all it starts from now on, take memory from `node` alone.
///
/// # Errors
///
/// What the kernel answered: EINVAL where there is no such node, ENOSYS where the kernel knows no nodes.
pub fn bind(node: u32) -> Result<(), Errno> {
    const BITS: usize = libc::c_ulong::BITS as usize;
    let node = usize::try_from(node).ok().filter(|&node| node < MAX_NODES).ok_or(Errno::EINVAL)?;
    let mut mask: [libc::c_ulong; MAX_NODES / BITS] = [0; MAX_NODES / BITS];
    mask[node / BITS] = 1 << (node % BITS);
    // The kernel takes one bit off the length it is given.
    let bits = MAX_NODES as libc::c_ulong + 1;
    // SAFETY: the call reads `MAX_NODES` bits from `mask`, which has them and outlives the call.
    let answer = unsafe { libc::syscall(libc::SYS_set_mempolicy, BIND, mask.as_ptr(), bits) };
    Errno::result(answer).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_not_there_is_refused() {
        let refusals = [Errno::EINVAL, Errno::ENOSYS, Errno::EPERM];
        for node in [MAX_NODES as u32 - 1, u32::MAX] {
            assert!(bind(node).is_err_and(|errno| refusals.contains(&errno)), "node {node}");
        }
    }
}
