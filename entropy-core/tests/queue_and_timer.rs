//! The batch queue and the timer's estimate against plain models, for all inputs.
#![cfg(not(loom))]

use std::collections::VecDeque;

use entropy_core::pool::{BatchQueue, MixPlan, Pool, PoolSize, Sample, TimerState, feed};
use proptest::{collection::vec, prelude::*};

fn sample(number: u32) -> Sample {
    Sample { words: [number, !number], credit_bits: number % 12 }
}

#[derive(Clone, Debug)]
enum Step {
    Store(usize),
    Drain,
}

proptest! {
    #[test]
    fn the_queue_is_a_fifo_of_255_that_loses_the_newest(
        steps in vec(prop_oneof![3 => (0_usize..200).prop_map(Step::Store), 1 => Just(Step::Drain)], 0..20),
    ) {
        let (mut queue, mut model) = (BatchQueue::default(), VecDeque::new());
        let (mut number, mut dropped) = (0, 0);
        for step in steps {
            match step {
                Step::Store(count) => for _ in 0..count {
                    number += 1;
                    let stored = queue.store(sample(number));
                    prop_assert_eq!(stored.work_due, model.len() >= 128);
                    prop_assert_eq!(stored.queued, model.len() < 255);
                    if stored.queued { model.push_back(sample(number)) } else { dropped += 1 }
                },
                Step::Drain => prop_assert_eq!(queue.drain(), model.drain(..).collect::<Vec<_>>()),
            }
            prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
            prop_assert_eq!(queue.dropped(), dropped);
        }
    }

    #[test]
    fn the_estimate_is_the_smallest_of_three_differences(
        mut times in vec(0_u64..1 << 62, 1..12),
        forth in any::<bool>(),
    ) {
        // As they are drawn they mostly go back somewhere.
        if forth {
            times.sort_unstable();
        }
        let mut state = TimerState::default();
        // As if nothing had ever happened before time zero.
        let mut history = vec![0_i128; 4];
        for time in times {
            history.push(i128::from(time));
            let estimate = state.estimate(time);
            let [.., a, b, c, d] = history[..] else { unreachable!() };
            // Wide enough not to wrap, where the crate's 64 bits do.
            let differences = [d - c, d - 2 * c + b, d - 3 * c + 3 * b - a];
            let min = differences.iter().map(|difference| difference.unsigned_abs()).min().unwrap();
            if differences.iter().all(|&difference| i64::try_from(difference).is_ok()) {
                prop_assert_eq!(estimate.differences.map(i128::from), differences);
                prop_assert_eq!(u128::from(estimate.min), min);
                let masked = (min / 2) % 4096;
                let credit = (0..12).rev().find(|&bit| masked >= 1 << bit).unwrap_or(0);
                let forth = a <= b && b <= c && c <= d;
                prop_assert_eq!(estimate.credit_bits, if forth { credit } else { 0 });
            }
        }
    }

    #[test]
    fn feeding_hands_over_at_a_full_pool(
        numbers in vec(any::<u32>(), 0..200),
        full in (0_i32..=4096, 0_i32..=1024),
    ) {
        let primary = Pool::new(PoolSize::PRIMARY, MixPlan::AS_IT_WAS);
        let secondary = Pool::new(PoolSize::SECONDARY, MixPlan::AS_IT_WAS);
        primary.credit(full.0);
        secondary.credit(full.1);
        let samples: Vec<_> = numbers.into_iter().map(sample).collect();
        feed(&samples, &primary, &secondary);

        let (mut counts, max, mut target) = ([full.0, full.1], [4096, 1024], 0);
        let mut mixed = [vec![], vec![]];
        for sample in samples {
            if counts[target] >= max[target] {
                target = 1 - target;
            }
            counts[target] = (counts[target] + sample.credit_bits as i32).min(max[target]);
            mixed[target].extend(sample.words);
        }
        prop_assert_eq!([primary.entropy_bits(), secondary.entropy_bits()], counts);
        for (pool, words) in [&primary, &secondary].into_iter().zip(mixed) {
            let expected = Pool::new(pool.size(), pool.plan());
            expected.mix(&words);
            prop_assert_eq!(pool.state().words, expected.state().words);
        }
    }
}
