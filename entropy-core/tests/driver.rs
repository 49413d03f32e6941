//! The rules around the pools: thresholds, limits, refills, the trickle, and a change of size.
#![cfg(not(loom))]

use entropy_core::pool::{
    Driver, Event, EventOutcome, MixPlan, Pool, PoolSize, Release, TRICKLE_ABOVE_BITS, ThresholdOutOfRange,
    Woken,
};

const IRQ: Event = Event::Interrupt { irq: 14 };

fn driver(release: Release) -> Driver {
    Driver::new(release, MixPlan::AS_POSTED)
}

#[test]
fn pools_begin_empty_with_128_and_32_words() {
    let driver = driver(Release::V2_6_10);
    assert_eq!(driver.primary().size(), PoolSize::Words128);
    assert_eq!(driver.secondary().size(), PoolSize::Words32);
    assert_eq!(driver.primary().entropy_bits(), 0);
}

#[test]
fn the_trickle_passes_its_first_sample_and_then_one_in_4096_on_each_cpu() {
    assert_eq!(TRICKLE_ABOVE_BITS, 3584);
    let mut driver = driver(Release::V2_6_10);
    driver.primary().credit(3585);
    for cpu in [0, 1] {
        let passed: Vec<_> =
            (0..8193).filter(|&time| driver.event(cpu, IRQ, time) != EventOutcome::Trickled).collect();
        assert_eq!(passed, [0, 4096, 8192], "cpu {cpu}");
    }
}

#[test]
fn at_the_trickle_threshold_itself_every_sample_is_used() {
    let mut driver = driver(Release::V2_6_10);
    driver.primary().credit(3584);
    assert!((0..100).all(|time| matches!(driver.event(0, IRQ, time), EventOutcome::Queued { .. })));
}

#[test]
fn a_key_held_down_counts_once() {
    let mut driver = driver(Release::V2_6_10);
    let outcomes = [30, 30, 158, 30].map(|scancode| driver.event(0, Event::Key { scancode }, 1));
    assert_eq!(outcomes.map(|outcome| outcome == EventOutcome::Repeated), [false, true, false, false]);
    assert_eq!(driver.queue().len(), 3);
}

#[test]
fn a_trickled_event_does_not_move_its_timer() {
    let mut driver = driver(Release::V2_6_10);
    driver.primary().credit(4096);
    driver.event(0, IRQ, 1000);
    driver.event(0, IRQ, 1700);
    assert_eq!(driver.primary().account(4096, false).left_bits, 0);
    driver.process_batch();
    let before = driver.primary().entropy_bits();
    driver.event(0, IRQ, 5000);
    driver.process_batch();
    // From 1000 to 5000: differences 4000, 3000, 2000; half of the least is 1000, worth 9 bits.
    assert_eq!(driver.primary().entropy_bits() - before, 9);
}

#[test]
fn work_is_due_at_every_sample_in_2_6_4_and_from_half_full_in_2_6_10() {
    for (release, first_due) in [(Release::V2_6_4, 0), (Release::V2_6_10, 128)] {
        let mut driver = driver(release);
        for time in 0..300 {
            let expected = match time {
                255.. => EventOutcome::Dropped,
                _ => EventOutcome::Queued { work_due: time >= first_due },
            };
            assert_eq!(driver.event(0, IRQ, time), expected, "{release} {time}");
        }
        assert_eq!(driver.queue().dropped(), 45);
        assert_eq!(driver.process_batch().samples, 255);
        assert!(driver.queue().is_empty());
    }
}

#[test]
fn readers_are_woken_from_64_bits_of_the_primary_pool() {
    for (bits, readers) in [(63, false), (64, true)] {
        let mut driver = driver(Release::V2_6_10);
        driver.primary().credit(bits);
        assert_eq!(driver.process_batch().woken, Woken { readers, writers: false });
    }
}

#[test]
fn random_gives_nothing_without_entropy_and_stirs_nothing() {
    for release in [Release::V2_6_4, Release::V2_6_10] {
        let driver = driver(release);
        let before = driver.secondary().state();
        let read = driver.read_random(&mut [0; 100]);
        assert_eq!(read.bytes, 0);
        assert_eq!(driver.secondary().state(), before);
        assert_eq!(driver.read_random(&mut []).woken, Woken::default());
    }
}

#[test]
fn random_moves_entropy_over_and_gives_no_more_than_it_got() {
    for release in [Release::V2_6_4, Release::V2_6_10] {
        let driver = driver(release);
        driver.primary().credit(100);
        // 100 bits are 12 bytes and four bits; those move, and are all there is.
        let mut out = [0; 100];
        assert_eq!(driver.read_random(&mut out).bytes, 12);
        assert_eq!((driver.primary().entropy_bits(), driver.secondary().entropy_bits()), (4, 0));
        assert_eq!(out[12..], [0; 88]);
        assert_eq!(driver.read_random(&mut out).bytes, 0);
    }
}

#[test]
fn a_small_read_moves_at_least_a_wakeup_over() {
    let driver = driver(Release::V2_6_10);
    driver.primary().credit(4096);
    assert_eq!(driver.read_random(&mut [0; 1]).bytes, 1);
    assert_eq!((driver.primary().entropy_bits(), driver.secondary().entropy_bits()), (4096 - 64, 56));
    // The next seven bytes are there.
    assert_eq!(driver.read_random(&mut [0; 7]).bytes, 7);
    assert_eq!((driver.primary().entropy_bits(), driver.secondary().entropy_bits()), (4096 - 64, 0));
}

#[test]
fn one_read_of_random_is_at_most_340_bytes() {
    let driver = driver(Release::V2_6_10);
    driver.primary().credit(4096);
    driver.secondary().credit(1024);
    // 1024 bits are 128 bytes: the pool itself is the limit, and a full pool is not refilled.
    assert_eq!(driver.read_random(&mut [0; 4096]).bytes, 128);
    assert_eq!(driver.primary().entropy_bits(), 4096);
}

#[test]
fn a_wakeup_above_the_originals_buffer_does_no_harm() {
    let mut driver = driver(Release::V2_6_10);
    driver.set_read_wakeup_bits(4096).unwrap();
    driver.primary().credit(4096);
    assert_eq!(driver.read_random(&mut [0; 340]).bytes, 128, "the secondary pool holds no more");
    assert_eq!(driver.primary().entropy_bits(), 0);
}

#[test]
fn urandom_always_gives_all_and_in_2_6_10_never_refills() {
    for (release, moved_bits) in [(Release::V2_6_4, 80), (Release::V2_6_10, 0)] {
        let driver = driver(release);
        driver.primary().credit(4096);
        let mut out = [0; 10];
        assert_eq!(driver.read_urandom(&mut out).bytes, 10);
        assert_ne!(out, [0; 10]);
        assert_eq!(driver.primary().entropy_bits(), 4096 - moved_bits, "{release}");
        assert_eq!(driver.read_urandom(&mut [0; 5000]).bytes, 5000);
    }
}

#[test]
fn writers_are_woken_below_128_bits_after_an_extraction() {
    let driver = driver(Release::V2_6_10);
    driver.urandom().credit(128 + 80);
    assert!(!driver.read_urandom(&mut [0; 10]).woken.writers, "128 are left");
    assert!(driver.read_urandom(&mut [0; 1]).woken.writers, "120 are left");
}

#[test]
fn what_is_written_is_mixed_and_earns_nothing() {
    let driver = driver(Release::V2_6_10);
    driver.write(b"abcdefghi");
    let expected = Pool::new(PoolSize::PRIMARY, MixPlan::AS_IT_WAS);
    expected.mix(&[0x6463_6261, 0x6867_6665, 0x69]);
    assert_eq!(driver.primary().state(), expected.state());
}

#[test]
fn a_new_size_takes_the_old_pool_and_as_much_credit_as_fits() {
    for (size, credit) in [(PoolSize::Words2048, 3000), (PoolSize::Words32, 1024)] {
        let mut driver = driver(Release::V2_6_10);
        driver.write(&[0xa5; 700]);
        driver.primary().credit(3000);
        let expected = Pool::new(size, MixPlan::AS_IT_WAS);
        expected.mix(&driver.primary().state().words);
        driver.set_pool_size(size);
        assert_eq!(driver.primary().state().words, expected.state().words);
        assert_eq!(driver.primary().entropy_bits(), credit);
        assert_eq!(driver.primary().plan(), MixPlan::AS_POSTED);
    }
}

#[test]
fn thresholds_keep_to_the_pool() {
    let mut driver = driver(Release::V2_6_10);
    assert_eq!(driver.set_read_wakeup_bits(7), Err(ThresholdOutOfRange { bits: 7, min: 8, max: 4096 }));
    assert_eq!(driver.set_write_wakeup_bits(-1), Err(ThresholdOutOfRange { bits: -1, min: 0, max: 4096 }));
    assert_eq!(driver.set_write_wakeup_bits(4097).map_err(|e| e.max), Err(4096));
    driver.set_pool_size(PoolSize::Words2048);
    assert_eq!(driver.set_write_wakeup_bits(4097), Ok(()));
    assert_eq!(driver.set_read_wakeup_bits(8), Ok(()));
}
