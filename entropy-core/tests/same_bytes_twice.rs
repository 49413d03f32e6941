//! The fault of the design: hashing without the lock lets two extractors get the same bytes, and its mend.
#![cfg(not(loom))]

use entropy_core::pool::{ExtractForm, MixPlan, Pool, PoolSize, Round};

/// Two rounds at once: each block is hashed by both before either feeds back. With two CPUs this is what happens
/// when they walk the pool abreast.
fn abreast(pool: &Pool, form: ExtractForm) -> [[u8; 10]; 2] {
    let (mut one, mut other) = (Round::new(pool, form), Round::new(pool, form));
    while one.hash_block() & other.hash_block() {
        one.feed_back(&mut ());
        other.feed_back(&mut ());
    }
    [one.finish(&mut ()), other.finish(&mut ())]
}

fn filled(size: PoolSize, plan: MixPlan) -> Pool {
    let pool = Pool::new(size, plan);
    pool.mix(&(0..3 * size.words() as u32).map(|word| word.wrapping_mul(0x9e37_79b9)).collect::<Vec<_>>());
    pool
}

#[test]
fn until_2_6_9_two_extractors_abreast_get_the_same_bytes() {
    for &size in PoolSize::ALL {
        for plan in MixPlan::all() {
            let [one, other] = abreast(&filled(size, plan), ExtractForm::DirectFold);
            assert_eq!(one, other, "{size} {plan}");
        }
    }
}

#[test]
fn in_2_6_10_the_same_interleaving_gives_different_bytes() {
    for &size in PoolSize::ALL {
        for plan in MixPlan::all() {
            let [one, other] = abreast(&filled(size, plan), ExtractForm::FinalHash);
            assert_ne!(one, other, "{size} {plan}");
        }
    }
}

#[test]
fn one_after_the_other_differ_in_both_forms() {
    for form in [ExtractForm::DirectFold, ExtractForm::FinalHash] {
        let pool = filled(PoolSize::SECONDARY, MixPlan::AS_IT_WAS);
        let (mut one, mut other) = ([0; 10], [0; 10]);
        pool.extract(form, &mut one);
        pool.extract(form, &mut other);
        assert_ne!(one, other, "{form}");
    }
}

#[test]
fn steps_by_hand_are_an_extraction() {
    for form in [ExtractForm::DirectFold, ExtractForm::FinalHash] {
        let (by_hand, whole) =
            (filled(PoolSize::PRIMARY, MixPlan::BEST), filled(PoolSize::PRIMARY, MixPlan::BEST));
        let mut round = Round::new(&by_hand, form);
        while round.hash_block() {
            round.feed_back(&mut ());
        }
        let mut bytes = [0; 10];
        whole.extract(form, &mut bytes);
        assert_eq!(round.finish(&mut ()), bytes);
        assert_eq!(by_hand.state(), whole.state());
    }
}

/// Runs two rounds on a fresh pool of two blocks: bit n of `order` says whose the n-th of ten steps is, five each.
fn interleaved(form: ExtractForm, order: u32) -> [[u8; 10]; 2] {
    let pool = filled(PoolSize::SECONDARY, MixPlan::AS_IT_WAS);
    let mut rounds = [Some(Round::new(&pool, form)), Some(Round::new(&pool, form))];
    let (mut steps, mut bytes) = ([0; 2], [[0; 10]; 2]);
    for step in 0..10 {
        let who = (order >> step & 1) as usize;
        match (steps[who], rounds[who].as_mut()) {
            (0 | 2, Some(round)) => assert!(round.hash_block()),
            (1 | 3, Some(round)) => round.feed_back(&mut ()),
            _ => bytes[who] = rounds[who].take().expect("five steps each").finish(&mut ()),
        }
        steps[who] += 1;
    }
    bytes
}

/// All 252 orders of the steps of two rounds, since loom, which tells from the accesses what orders can matter, does
/// not find the ones that do.
#[test]
fn some_orders_give_the_same_bytes_until_2_6_9_and_none_in_2_6_10() {
    let orders: Vec<u32> = (0..1 << 10).filter(|order: &u32| order.count_ones() == 5).collect();
    assert_eq!(orders.len(), 252);
    let same = |form| {
        orders
            .iter()
            .copied()
            .filter(|&order| {
                let [one, other] = interleaved(form, order);
                one == other
            })
            .collect::<Vec<_>>()
    };
    let abreast = 0b10_1010_1010;
    assert!(same(ExtractForm::DirectFold).contains(&abreast));
    assert!(!same(ExtractForm::DirectFold).contains(&0b00_0001_1111), "one after the other");
    assert_eq!(same(ExtractForm::FinalHash), []);
}
