//! Every plan gives one state, that of the naive pool, after every call; and what the mail got wrong stays right.
#![cfg(not(loom))]

mod oracle;

use entropy_core::pool::{ExtractForm, LockWatch, MixPlan, Pool, PoolSize};
use oracle::NaivePool;
use proptest::{collection::vec, prelude::*, sample::select};

/// How often each thing happened to the lock.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    asked: usize,
    acquired: usize,
    released: usize,
}

impl Counted {
    fn all(times: usize) -> Self {
        Self { asked: times, acquired: times, released: times }
    }
}

impl LockWatch for Counted {
    fn asked(&mut self) {
        self.asked += 1;
    }
    fn acquired(&mut self) {
        assert_eq!(self.asked, self.acquired + 1);
        self.acquired += 1;
    }
    fn released(&mut self) {
        self.released += 1;
        assert_eq!(self.released, self.acquired);
    }
}

fn assert_same(pool: &Pool, naive: &NaivePool) {
    let state = pool.state();
    let plan = pool.plan();
    assert_eq!(state.words, naive.words, "{plan}");
    assert_eq!((state.add_ptr as usize, state.input_rotate), (naive.add_ptr, naive.input_rotate), "{plan}");
    assert_eq!(state.entropy_bits, 0, "{plan}: mixing credits nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_plans_match_the_naive_pool_after_every_call(
        size in select(PoolSize::ALL),
        calls in vec(vec(any::<u32>(), 0..70), 1..8),
    ) {
        let pools: Vec<_> = MixPlan::all().map(|plan| Pool::new(size, plan)).collect();
        let mut naive = NaivePool::new(size.words());
        for call in &calls {
            naive.mix(call);
            for pool in &pools {
                pool.mix(call);
                assert_same(pool, &naive);
            }
        }
    }

    #[test]
    fn how_the_input_is_cut_into_calls_does_not_matter(
        size in select(PoolSize::ALL),
        plan in select(MixPlan::all().collect::<Vec<_>>()),
        input in vec(any::<u32>(), 0..300),
        cut in any::<proptest::sample::Index>(),
    ) {
        let (whole, parts) = (Pool::new(size, plan), Pool::new(size, plan));
        let (head, tail) = input.split_at(cut.index(input.len() + 1));
        whole.mix(&input);
        parts.mix(head);
        parts.mix(tail);
        prop_assert_eq!(whole.state(), parts.state());
    }

    #[test]
    fn the_lock_is_taken_once_for_each_call_that_has_words(
        plan in select(MixPlan::all().collect::<Vec<_>>()),
        calls in vec(vec(any::<u32>(), 0..3), 0..10),
    ) {
        let pool = Pool::new(PoolSize::PRIMARY, plan);
        let mut watch = Counted::default();
        for call in &calls {
            pool.mix_watched(call, &mut watch);
        }
        prop_assert_eq!(watch, Counted::all(calls.iter().filter(|call| !call.is_empty()).count()));
    }
}

/// The posted code read one word of an input that has none.
#[test]
fn empty_input_touches_nothing_not_even_the_lock() {
    for plan in MixPlan::all() {
        let pool = Pool::new(PoolSize::PRIMARY, plan);
        pool.mix(&[1, 2, 3]);
        let before = pool.state();
        let mut watch = Counted::default();
        pool.mix_watched(&[], &mut watch);
        assert_eq!(watch, Counted::default(), "{plan}");
        assert_eq!(pool.state(), before, "{plan}");
    }
}

/// Rotation by nothing shifts by 32 in the C of the time, which is undefined; the first word of a pool meets it.
#[test]
fn a_word_rotated_by_nothing_is_the_word() {
    for plan in MixPlan::all() {
        let pool = Pool::new(PoolSize::SECONDARY, plan);
        pool.mix(&[0x8000_0000]);
        let state = pool.state();
        assert_eq!((state.add_ptr, state.input_rotate), (31, 7));
        // Into a pool of zeros: shifted by three, and no bit has fallen out.
        assert_eq!(state.words[31], 0x1000_0000);
    }
}

/// Seven bits a word, fourteen at the start of the pool; thirty-two words make 33 sevens, 231 modulo 32.
#[test]
fn a_whole_pass_rotates_by_seven_more_than_a_word_each() {
    for plan in MixPlan::all() {
        let pool = Pool::new(PoolSize::SECONDARY, plan);
        pool.mix(&[0; 31]);
        assert_eq!((pool.state().add_ptr, pool.state().input_rotate), (1, 31 * 7 % 32));
        pool.mix(&[0]);
        assert_eq!((pool.state().add_ptr, pool.state().input_rotate), (0, 231 % 32));
    }
}

#[test]
fn extraction_takes_the_lock_once_a_block_and_once_more_in_the_final_hash() {
    for plan in MixPlan::all() {
        for (form, more) in [(ExtractForm::DirectFold, 0), (ExtractForm::FinalHash, 1)] {
            let pool = Pool::new(PoolSize::PRIMARY, plan);
            let mut watch = Counted::default();
            // 25 bytes are three rounds of 128 / 16 blocks.
            pool.extract_watched(form, &mut [0; 25], &mut watch);
            assert_eq!(watch, Counted::all(3 * (8 + more)), "{form} {plan}");
            pool.extract_watched(form, &mut [], &mut watch);
            assert_eq!(watch, Counted::all(3 * (8 + more)), "{form} {plan}");
        }
    }
}

#[test]
fn dirtying_changes_nothing_and_every_line_is_listed_once() {
    for plan in MixPlan::all() {
        for &size in PoolSize::ALL {
            let pool = Pool::new(size, plan);
            pool.mix(&[7; 40]);
            pool.credit(99);
            let before = pool.state();
            pool.touch_for_write();
            assert_eq!(pool.state(), before, "{plan}");

            let structure = match plan.layout {
                entropy_core::pool::Layout::Packed => 1,
                entropy_core::pool::Layout::Split => 2,
                entropy_core::pool::Layout::LockAlone => 3,
            };
            let mut memory = WholeLines::default();
            pool.visit_memory(&mut memory);
            assert_eq!(memory.0.len(), size.bytes() / 64 + structure, "{plan}");
        }
    }
}

/// The cache lines that were shown, each of them whole and once.
#[derive(Default)]
struct WholeLines(std::collections::BTreeSet<usize>);

impl entropy_core::pool::MemoryVisitor for WholeLines {
    fn visit<T>(&mut self, memory: &[T]) {
        let bytes = memory.as_ptr_range();
        assert!([bytes.start, bytes.end].iter().all(|end| end.addr().is_multiple_of(64)), "part of a line");
        for line in (bytes.start.addr()..bytes.end.addr()).step_by(64) {
            assert!(self.0.insert(line), "shown twice");
        }
    }
}
