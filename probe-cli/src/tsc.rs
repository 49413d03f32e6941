//! The time-stamp counter: read with the CPU it was read on, in program order.
#![allow(unsafe_code, reason = "the instruction has no safe form")]

/// A reading of a clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stamp {
    /// Ticks.
    pub ticks: u64,
    /// The CPU that read them.
    pub cpu: u32,
}

/// Why the counter cannot be a clock here; `None` where it can.
#[must_use]
pub fn unusable() -> Option<&'static str> {
    imp::unusable()
}

/// Proof that the counter can be read and ticks at one rate.
#[derive(Clone, Copy, Debug)]
pub struct Tsc(());

impl Tsc {
    /// Asks the CPU: it must have `rdtscp`, and a counter that neither sleep nor frequency changes.
    #[must_use]
    pub fn new() -> Option<Self> {
        unusable().is_none().then_some(Self(()))
    }

    /// Reads it. All that stands before has been executed by then, and nothing that stands behind has begun.
    #[must_use]
    #[inline]
    pub fn read(self) -> Stamp {
        imp::read(self)
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::{__rdtscp, _mm_lfence};
    use std::sync::LazyLock;

    use raw_cpuid::CpuId;

    use super::{Stamp, Tsc};

    static UNUSABLE: LazyLock<Option<&'static str>> = LazyLock::new(|| {
        let cpu = CpuId::new();
        let has_rdtscp = cpu
            .get_extended_processor_and_feature_identifiers()
            .is_some_and(|features| features.has_rdtscp());
        let invariant =
            cpu.get_advanced_power_mgmt_info().is_some_and(|features| features.has_invariant_tsc());
        match (has_rdtscp, invariant) {
            (false, _) => Some("this CPU has no rdtscp"),
            (true, false) => Some("this CPU, or its hypervisor, does not promise an invariant counter"),
            (true, true) => None,
        }
    });

    pub(super) fn unusable() -> Option<&'static str> {
        *UNUSABLE
    }

    #[inline]
    pub(super) fn read(_: Tsc) -> Stamp {
        let mut aux = 0;
        // SAFETY: a `Tsc` exists only where the CPU has the instruction, and `aux` is ours to write.
        let ticks = unsafe { __rdtscp(&raw mut aux) };
        // `rdtscp` waits for what is before it; the fence makes what is behind it wait.
        // SAFETY: SSE2 is in the x86-64 baseline, and a fence has no other obligation.
        unsafe { _mm_lfence() };
        // Linux keeps the CPU in the low twelve bits and the node above them.
        Stamp { ticks, cpu: aux & 0xFFF }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::{Stamp, Tsc};

    pub(super) fn unusable() -> Option<&'static str> {
        Some("only x86-64 has a time-stamp counter")
    }

    pub(super) fn read(_: Tsc) -> Stamp {
        unreachable!("no value of Tsc can be made on this architecture")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_grows_and_names_the_cpu() {
        let Some(tsc) = Tsc::new() else {
            println!("skipped: {}", unusable().unwrap_or("no reason"));
            return;
        };
        std::thread::spawn(move || {
            let cpu = crate::sys::affinity::allowed().unwrap()[0];
            crate::sys::affinity::pin(cpu).unwrap();
            let stamps: Vec<Stamp> = (0..1000).map(|_| tsc.read()).collect();
            assert!(stamps.windows(2).all(|pair| pair[0].ticks < pair[1].ticks));
            assert!(stamps.iter().all(|stamp| stamp.cpu as usize == cpu));
        })
        .join()
        .unwrap();
    }
}
