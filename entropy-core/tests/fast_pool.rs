//! The four ways from interrupt to input pool, on a machine that is turned by hand.
#![cfg(not(loom))]

use std::cell::{Cell, RefCell};

use entropy_core::fast_pool::{
    Destination, FastPool, Handed, Interrupt, LastCpu, MIX_INFLIGHT, Machine, Reply, Way,
};
use proptest::prelude::*;

const HZ: u32 = 250;

/// An input pool whose lock somebody else may hold.
#[derive(Default)]
struct InputPool {
    taken: Cell<bool>,
    handed: RefCell<Vec<Handed>>,
}

impl InputPool {
    fn events(&self) -> u64 {
        self.handed.borrow().iter().map(|handed| u64::from(handed.count & !MIX_INFLIGHT)).sum()
    }
    fn mixes(&self) -> usize {
        self.handed.borrow().len()
    }
}

impl Destination for InputPool {
    fn hand_over(&self, handed: &Handed) {
        self.handed.borrow_mut().push(*handed);
    }
    fn try_hand_over(&self, handed: &Handed) -> bool {
        let free = !self.taken.get();
        if free {
            self.hand_over(handed);
        }
        free
    }
}

fn machine(cpus: usize, way: Way) -> Machine<u64> {
    Machine::new(cpus, way, way.gate(HZ), 1000)
}

fn event(nth: u64) -> Interrupt<u64> {
    Interrupt { cycles: nth * 977, ip: 0xffff_ffff_8100_0000, irq: 24 }
}

/// Ten minutes with one interrupt a tick on a CPU that has nothing to do.
#[test]
fn a_deferrable_timer_starves_an_idle_cpu() {
    let mixes = |way| {
        let (mut machine, pool) = (machine(1, way), InputPool::default());
        machine.set_idle(0, true);
        for nth in 0..u64::from(600 * HZ) {
            machine.interrupt(0, event(nth), &pool);
            machine.tick(&pool);
        }
        (pool.mixes(), machine.pool(0).state().count() & !MIX_INFLIGHT)
    };
    // The gate opens when more than a second has passed, one tick after it; the timer fires on the next.
    let ticks_of_a_round = HZ + 2;
    assert_eq!(mixes(Way::Timer).0, (600 * HZ / ticks_of_a_round) as usize);
    assert_eq!(mixes(Way::DeferrableTimer), (0, 600 * HZ));
}

#[test]
fn a_cpu_that_wakes_up_mixes_what_a_deferrable_timer_left() {
    let (mut machine, pool) = (machine(1, Way::DeferrableTimer), InputPool::default());
    machine.set_idle(0, true);
    for nth in 0..3000 {
        machine.interrupt(0, event(nth), &pool);
    }
    machine.tick(&pool);
    assert_eq!(pool.mixes(), 0);
    machine.set_idle(0, false);
    machine.tick(&pool);
    assert_eq!((pool.mixes(), pool.events()), (1, 3000));
    // 3000 / 64, not 1: this is why crediting many bits at once came first.
    assert_eq!(pool.handed.borrow()[0].credit_bits, 46);
}

/// However many interrupts arrive in a tick, a timer mixes once; a worker mixes as often as it is let to run.
#[test]
fn a_timer_mixes_at_most_once_a_tick() {
    for (way, expected) in [(Way::Timer, 1), (Way::Worker, 5)] {
        let (mut machine, pool) = (machine(1, way), InputPool::default());
        for nth in 0..5 * 1024 {
            machine.interrupt(0, event(nth), &pool);
            machine.run_worker(0, &pool);
        }
        machine.tick(&pool);
        assert_eq!((pool.mixes(), pool.events()), (expected, 5 * 1024), "{way}");
    }
}

#[test]
fn mixing_inside_the_interrupt_never_waits_and_loses_nothing() {
    let (mut machine, pool) = (machine(1, Way::InInterrupt), InputPool::default());
    pool.taken.set(true);
    let replies: Vec<Reply> = (0..70).map(|nth| machine.interrupt(0, event(nth), &pool)).collect();
    assert!(replies[..63].iter().all(|reply| *reply == Reply::Counted), "{replies:?}");
    assert!(replies[63..].iter().all(|reply| *reply == Reply::Busy), "{replies:?}");
    pool.taken.set(false);
    let Reply::Mixed(handed) = machine.interrupt(0, event(70), &pool) else { panic!("it was free") };
    assert_eq!((handed.count, handed.credit_bits), (71, 1));
}

#[test]
fn a_cpu_that_goes_away_between_arming_and_firing_is_stuck_until_it_is_back() {
    for way in [Way::Worker, Way::Timer, Way::DeferrableTimer] {
        let (mut machine, pool) = (machine(2, way), InputPool::default());
        for nth in 0..1024 {
            machine.interrupt(1, event(nth), &pool);
        }
        machine.offline(1).unwrap();
        machine.run_worker(0, &pool);
        machine.tick(&pool);
        assert_eq!(pool.mixes(), 0, "{way}");
        assert_eq!(machine.pool(1).state().count(), MIX_INFLIGHT | 1024, "{way}");

        machine.online(1);
        assert_eq!(machine.pool(1).state().count(), 0, "{way}");
        for nth in 0..1024 {
            machine.interrupt(1, event(nth), &pool);
        }
        machine.run_worker(1, &pool);
        machine.tick(&pool);
        assert_eq!((pool.mixes(), pool.events()), (1, 1024), "{way}");
    }
}

#[test]
fn a_cpu_that_is_back_before_its_timer_ran_elsewhere_is_stuck_again() {
    let (mut machine, pool) = (machine(2, Way::Timer), InputPool::default());
    for nth in 0..1024 {
        machine.interrupt(1, event(nth), &pool);
    }
    machine.offline(1).unwrap();
    machine.online(1);
    let last = (0..1024).map(|nth| machine.interrupt(1, event(nth), &pool)).last();
    assert_eq!(last, Some(Reply::StillPending));
    machine.tick(&pool);
    assert_eq!((pool.mixes(), machine.pool(1).state().count()), (0, MIX_INFLIGHT | 1024));
}

#[test]
fn the_last_cpu_stays() {
    let mut machine = machine(2, Way::Timer);
    machine.offline(0).unwrap();
    assert_eq!(machine.offline(1), Err(LastCpu));
    assert_eq!(Machine::<u64>::new(0, Way::Timer, Way::Timer.gate(HZ), 0).offline(0), Err(LastCpu));
}

proptest! {
    /// Whatever happens in whatever order, as long as no CPU goes away: each interrupt is handed over once or still
    /// counted, and the words are what one interrupt after the other makes them.
    #[test]
    fn every_interrupt_is_counted_once(
        way in proptest::sample::select(&Way::ALL[..]),
        steps in proptest::collection::vec((0_u8..6, 0_usize..3, 1_u64..400), 1..80),
    ) {
        let (mut machine, pool) = (machine(3, way), InputPool::default());
        let mut naive: [FastPool<u64>; 3] = Default::default();
        let mut sent = 0;
        for (what, cpu, amount) in steps {
            match what {
                0 | 1 => for nth in 0..amount {
                    machine.interrupt(cpu, event(nth), &pool);
                    naive[cpu].count_in(event(nth));
                    sent += 1;
                },
                2 => (0..amount).for_each(|_| drop(machine.tick(&pool))),
                3 => drop(machine.run_worker(cpu, &pool)),
                4 => machine.set_idle(cpu, amount % 2 == 0),
                _ => pool.taken.set(amount % 2 == 0),
            }
        }
        let waiting: u64 =
            (0..3).map(|cpu| u64::from(machine.pool(cpu).state().count() & !MIX_INFLIGHT)).sum();
        prop_assert_eq!(pool.events() + waiting, sent);
        for (cpu, naive) in naive.iter().enumerate() {
            prop_assert_eq!(machine.pool(cpu).state().words(), naive.words());
        }
    }
}
