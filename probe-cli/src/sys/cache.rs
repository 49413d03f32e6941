//! Makes memory cold: takes the cache lines of a slice out of every cache of the machine.
#![allow(unsafe_code, reason = "the instruction has no safe form")]

/// Writes back and drops every cache line that holds a part of `data`, in all caches, and waits until that is
/// done. Returns whether it was: only x86-64 has the instruction for user space.
///
/// What is in memory does not change, so a shared borrow is enough. Lines are dropped whole, neighbours of
/// `data` at both ends with them.
pub fn flush<T>(data: &[T]) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        x86_64::flush(data);
        true
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = data;
        false
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    use std::sync::LazyLock;

    use raw_cpuid::CpuId;

    /// What the CPU says about flushing.
    struct Flushing {
        line_bytes: usize,
        /// `clflushopt` need not wait for the flush before it.
        unordered: bool,
    }

    static FLUSHING: LazyLock<Flushing> = LazyLock::new(|| {
        let cpu = CpuId::new();
        // The leaf counts quadwords; 64 bytes on every x86-64 made so far.
        let quadwords = cpu.get_feature_info().map_or(0, |features| features.cflush_cache_line_size());
        Flushing {
            line_bytes: if quadwords == 0 { 64 } else { usize::from(quadwords) * 8 },
            unordered: cpu.get_extended_feature_info().is_some_and(|features| features.has_clflushopt()),
        }
    });

    pub(super) fn flush<T>(data: &[T]) {
        let bytes = data.as_ptr().cast::<u8>();
        let len = size_of_val(data);
        let Flushing { line_bytes, unordered } = *FLUSHING;
        if len == 0 {
            return;
        }
        let into_line = bytes.addr() % line_bytes;
        for at in (0..into_line + len).step_by(line_bytes) {
            // First byte of `data` in that line: under `len`, since `at` stays under `into_line + len`.
            let line = bytes.wrapping_add(at.saturating_sub(into_line));
            if unordered {
                // SAFETY: `line` points into the borrowed `data`, which is mapped; the CPU was asked for the
                // instruction; it changes no byte of memory, no register and no flag.
                unsafe { asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)) };
            } else {
                // SAFETY: `line` points into the borrowed `data`, which is mapped; SSE2 is in the x86-64
                // baseline; the instruction changes no byte of memory.
                unsafe { _mm_clflush(line) };
            }
        }
        // SAFETY: SSE2 is in the x86-64 baseline, and a fence has no other obligation.
        unsafe { _mm_mfence() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushing_changes_no_byte_at_any_alignment() {
        let bytes: Vec<u8> = (0..1000_u32).map(|at| (at % 251) as u8).collect();
        let copy = bytes.clone();
        for start in 0..70 {
            for len in [0, 1, 63, 64, 65, 200] {
                assert_eq!(flush(&bytes[start..start + len]), cfg!(target_arch = "x86_64"));
            }
        }
        assert_eq!(bytes, copy);
        flush::<u64>(&[]);
        flush(&[(), ()]);
    }
}
