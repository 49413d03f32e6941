//! Days on which something is broken: hardware that is stuck, clocks that are, CPUs that nobody planned for.
#![cfg(not(loom))]

use std::num::NonZeroUsize;

use entropy_core::{
    crng::{Crng, Hardware, Readiness},
    fast_pool::{Arrival, FastPool, Gate, Interrupt, MIX_INFLIGHT, TimerSource, credit_bits},
    pool::{BatchQueue, MixPlan, PerCpuPools, Pool, PoolSize, Sample, TimerState},
};

fn seeded(cpus: usize, hardware: &mut impl FnMut() -> u64) -> Crng {
    let mut crng = Crng::new(cpus);
    crng.mix(b"what happened, and when");
    crng.credit(256, 0, hardware);
    assert_eq!(crng.readiness(), Readiness::Ready);
    crng
}

/// All ones, all zeros, the same for ever, or nothing: the clock stands in, and two machines differ by it.
#[test]
fn a_stuck_hardware_source_does_not_make_two_machines_alike() {
    for answer in [Some(u64::MAX), Some(0), Some(42), None] {
        let output = |start: u64| {
            let mut clock = start;
            let mut hardware = Hardware::new(
                || answer,
                || {
                    clock += 977;
                    clock
                },
            );
            let mut words = || hardware.word();
            let mut crng = seeded(1, &mut words);
            let mut out = [0; 64];
            crng.bytes(0, &mut words, &mut out);
            out
        };
        assert_ne!(output(1), output(2), "{answer:?}");
    }
}

/// With everything stuck the seed still decides, and no output comes twice.
#[test]
fn with_hardware_and_clock_stuck_no_bytes_come_twice() {
    let mut hardware = Hardware::new(|| Some(u64::MAX), || 7);
    let mut words = || hardware.word();
    let mut crng = seeded(2, &mut words);
    let mut seen = Vec::new();
    for cpu in [0, 1, 0, 1] {
        let mut out = [0; 32];
        crng.bytes(cpu, &mut words, &mut out);
        assert!(!seen.contains(&out), "{cpu}");
        seen.push(out);
    }
}

#[test]
fn a_clock_that_stands_still_earns_nothing_in_2004_and_today() {
    let (mut then, mut today) = (TimerState::default(), TimerSource::<u64>::default());
    // Differences up to the third order have to forget how the clock came to where it stands.
    let worths: Vec<_> = (0..8).map(|_| (then.estimate(123_456).credit_bits, today.worth(123_456))).collect();
    assert!(worths[3..].iter().all(|&worth| worth == (0, 0)), "{worths:?}");
}

/// Interrupts at one tick for ever: the count alone opens the gate, and a bit for 64 of them is all they are worth.
#[test]
fn with_a_tick_that_stands_still_the_fast_pool_goes_by_count_alone() {
    let mut pool = FastPool::<u64>::mixed_at(500);
    let event = Interrupt { cycles: 0, ip: 0, irq: 1 };
    let arrivals: Vec<_> = (0..1024).map(|_| pool.interrupt(event, Gate::deferred(250), 500)).collect();
    assert!(arrivals[..1023].iter().all(|arrival| *arrival == Arrival::Counted));
    assert_eq!((arrivals[1023], pool.count()), (Arrival::Due, MIX_INFLIGHT | 1024));
    assert_eq!(pool.take(500).credit_bits, credit_bits::<u64>(1024));
}

#[test]
fn a_full_queue_counts_what_it_loses() {
    let mut queue = BatchQueue::default();
    let stored = (0..1000).filter(|_| queue.store(Sample::default()).queued).count();
    // A ring of 256 that is full with 255.
    assert_eq!((stored, queue.dropped(), queue.drain().len()), (255, 745, 255));
}

/// A CPU with a number that nobody planned for shares with another; nothing is out of bounds.
#[test]
fn more_cpus_than_expected_share() {
    let mut words = || 1;
    let mut crng = seeded(2, &mut words);
    let (mut near, mut far) = ([0; 32], [0; 32]);
    crng.bytes(1, &mut words, &mut near);
    crng.bytes(usize::MAX, &mut words, &mut far);
    assert_ne!(near, far);

    let pools = PerCpuPools::new(NonZeroUsize::MIN, PoolSize::SECONDARY, MixPlan::AS_IT_WAS);
    pools.for_cpu(usize::MAX).mix(&[42]);
    let expected = Pool::new(PoolSize::SECONDARY, MixPlan::AS_IT_WAS);
    expected.mix(&[42]);
    assert_eq!(pools.for_cpu(0).state(), expected.state());
}
