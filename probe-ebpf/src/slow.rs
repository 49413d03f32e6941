//! A single slow call: who made it, when, how long it took, and where it came from.

/// Return addresses that are kept of each of the two stacks.
pub const FRAMES: usize = 32;

/// A slow call, as the ring buffer carries it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct SlowCall {
    /// Kernel monotonic time of its end, ns.
    pub end_ns: u64,
    /// How long it took, ns.
    pub elapsed_ns: u64,
    /// Name of the thread, ended by a 0 where it is shorter.
    pub comm: [u8; 16],
    /// Process.
    pub process: u32,
    /// Thread.
    pub thread: u32,
    /// CPU of its end.
    pub cpu: u32,
    /// Row of its target and size class.
    pub row: u32,
    /// Return addresses in the kernel, innermost first; 0 behind the last.
    pub kernel_stack: [u64; FRAMES],
    /// Return addresses in the program, likewise.
    pub user_stack: [u64; FRAMES],
}

// No padding: its bytes would be uninitialised kernel memory, which the verifier refuses to publish.
const _: () = assert!(size_of::<SlowCall>() == 8 + 8 + 16 + 4 * 4 + 2 * 8 * FRAMES);

impl SlowCall {
    /// The call that the bytes of one ring buffer record hold; `None` unless they are exactly one.
    ///
    /// Fields are in the byte order of the machine: the record never leaves it.
    #[must_use]
    pub fn decode(record: &[u8]) -> Option<Self> {
        let record: &[u8; size_of::<Self>()] = record.try_into().ok()?;
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&record[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        let half = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&record[at..at + 4]);
            u32::from_ne_bytes(bytes)
        };
        let mut comm = [0; 16];
        comm.copy_from_slice(&record[16..32]);
        let (mut kernel_stack, mut user_stack) = ([0; FRAMES], [0; FRAMES]);
        for frame in 0..FRAMES {
            kernel_stack[frame] = word(48 + 8 * frame);
            user_stack[frame] = word(48 + 8 * (FRAMES + frame));
        }
        Some(Self {
            end_ns: word(0),
            elapsed_ns: word(8),
            comm,
            process: half(32),
            thread: half(36),
            cpu: half(40),
            row: half(44),
            kernel_stack,
            user_stack,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_takes_exactly_one_call() {
        let mut record = [0_u8; size_of::<SlowCall>()];
        record[0..8].copy_from_slice(&9_000_u64.to_ne_bytes());
        record[8..16].copy_from_slice(&1_000_u64.to_ne_bytes());
        record[16..20].copy_from_slice(b"name");
        for (index, field) in [1_u32, 2, 3, 4].into_iter().enumerate() {
            record[32 + 4 * index..36 + 4 * index].copy_from_slice(&field.to_ne_bytes());
        }
        record[48..56].copy_from_slice(&0xa_u64.to_ne_bytes());
        record[304..312].copy_from_slice(&0xb_u64.to_ne_bytes());
        let call = SlowCall::decode(&record).unwrap();
        assert_eq!((call.end_ns, call.elapsed_ns), (9_000, 1_000));
        assert_eq!(&call.comm[..5], b"name\0");
        assert_eq!((call.process, call.thread, call.cpu, call.row), (1, 2, 3, 4));
        assert_eq!((call.kernel_stack[0], call.kernel_stack[1], call.user_stack[0]), (0xa, 0, 0xb));
        assert_eq!(SlowCall::decode(&record[1..]), None);
        assert_eq!(SlowCall::decode(&[]), None);
    }
}
