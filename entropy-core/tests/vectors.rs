//! Known answers, made by an independent C program: every value of every vector, under every plan.
#![cfg(not(loom))]

mod oracle;

use entropy_core::pool::{
    ExtractForm, MixPlan, Pool, PoolSize, PoolState, Sample, TimerState, credited, int_ln_12bits,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct File<T> {
    vectors: Vec<T>,
}

fn read<T: for<'a> Deserialize<'a>>(json: &str) -> Vec<T> {
    serde_json::from_str::<File<T>>(json).expect("a vector file").vectors
}

fn words(hex: &str) -> Vec<u32> {
    hex.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn fnv1a64(state: &PoolState) -> String {
    let bytes = state.words.iter().flat_map(|word| word.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The generator that made the inputs.
struct Lcg(u32);

impl Lcg {
    fn take(&mut self, count: usize) -> Vec<u32> {
        let step = |_| {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.0
        };
        (0..count).map(step).collect()
    }
}

fn size(pool_words: usize) -> PoolSize {
    PoolSize::try_from(pool_words * 4).unwrap()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mixing {
    poolwords: usize,
    poolbytes: usize,
    taps: [u32; 5],
    lcg_seed: u32,
    calls: Vec<MixCall>,
    final_pool: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MixCall {
    nwords: usize,
    input: Option<String>,
    add_ptr: u32,
    input_rotate: u32,
    pool_at_add_ptr: String,
    pool_fnv1a64: String,
    pool: Option<String>,
}

#[test]
fn mixing_matches_in_every_size_under_every_plan_after_every_call() {
    let vectors = read::<Mixing>(include_str!("vectors/pool_mixing.json"));
    assert_eq!(vectors.len(), PoolSize::ALL.len());
    for vector in &vectors {
        let size = size(vector.poolwords);
        assert_eq!((size.bytes(), size.taps()), (vector.poolbytes, vector.taps));
        for plan in MixPlan::all() {
            let pool = Pool::new(size, plan);
            let mut lcg = Lcg(vector.lcg_seed);
            for call in &vector.calls {
                let input = lcg.take(call.nwords);
                if let Some(written) = &call.input {
                    assert_eq!(input, words(written));
                }
                pool.mix(&input);
                let state = pool.state();
                assert_eq!(state.add_ptr, call.add_ptr, "{plan}");
                assert_eq!(state.input_rotate, call.input_rotate, "{plan}");
                assert_eq!([state.words[state.add_ptr as usize]][..], words(&call.pool_at_add_ptr), "{plan}");
                assert_eq!(fnv1a64(&state), call.pool_fnv1a64, "{plan}");
                if let Some(expected) = &call.pool {
                    assert_eq!(state.words, words(expected), "{plan}");
                }
            }
            assert_eq!(pool.state().words, words(&vector.final_pool), "{plan}");
        }
    }
}

/// The oracle is checked too, so that the property tests compare with something known to be right.
#[test]
fn the_naive_pool_matches_the_vectors() {
    for vector in read::<Mixing>(include_str!("vectors/pool_mixing.json")) {
        let mut naive = oracle::NaivePool::new(vector.poolwords);
        let mut lcg = Lcg(vector.lcg_seed);
        for call in &vector.calls {
            naive.mix(&lcg.take(call.nwords));
            assert_eq!((naive.add_ptr as u32, naive.input_rotate), (call.add_ptr, call.input_rotate));
        }
        assert_eq!(naive.words, words(&vector.final_pool));
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Extraction {
    Sha1Transform {
        data: String,
        digest: String,
    },
    Extract {
        form: String,
        poolwords: usize,
        lcg_seed: u32,
        prep_nwords: usize,
        prep_pool_fnv1a64: String,
        calls: Vec<ExtractCall>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtractCall {
    nbytes: usize,
    out: String,
    add_ptr: u32,
    input_rotate: u32,
    pool_fnv1a64: String,
}

#[test]
fn extraction_matches_in_both_forms_under_every_plan() {
    let vectors = read::<Extraction>(include_str!("vectors/extract_sha1_2004.json"));
    let (mut transforms, mut extracts) = (0, 0);
    for vector in &vectors {
        match vector {
            Extraction::Sha1Transform { data, digest } => {
                // A pool of one block cannot be had; the compression itself is what the crate is built on, fed as it feeds it.
                let mut block = [0; 64];
                for (bytes, word) in block.chunks_exact_mut(4).zip(words(data)) {
                    bytes.copy_from_slice(&word.to_be_bytes());
                }
                let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
                sha1::block_api::compress(&mut state, &[block]);
                assert_eq!(state[..], words(digest));
                transforms += 1;
            }
            Extraction::Extract { form, poolwords, lcg_seed, prep_nwords, prep_pool_fnv1a64, calls } => {
                let form = match form.as_str() {
                    "2.6.0-2.6.9" => ExtractForm::DirectFold,
                    "2.6.10_final_atomic_hash" => ExtractForm::FinalHash,
                    other => panic!("an unknown form: {other}"),
                };
                for plan in MixPlan::all() {
                    let pool = Pool::new(size(*poolwords), plan);
                    pool.mix(&Lcg(*lcg_seed).take(*prep_nwords));
                    assert_eq!(fnv1a64(&pool.state()), *prep_pool_fnv1a64, "{plan}");
                    for call in calls {
                        let mut out = vec![0; call.nbytes];
                        pool.extract(form, &mut out);
                        let state = pool.state();
                        assert_eq!(out, bytes(&call.out), "{form} {plan}");
                        assert_eq!(
                            (state.add_ptr, state.input_rotate),
                            (call.add_ptr, call.input_rotate),
                            "{plan}"
                        );
                        assert_eq!(fnv1a64(&state), call.pool_fnv1a64, "{form} {plan}");
                    }
                }
                extracts += 1;
            }
        }
    }
    assert_eq!((transforms, extracts), (1, 6));
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Estimation {
    #[serde(rename = "int_ln_12bits")]
    Logarithm {
        table: String,
    },
    Timer {
        num: u32,
        events: Vec<TimerEvent>,
        total_credit: u32,
    },
    CreditEntropyStore {
        poolwords: usize,
        poolbits: i32,
        steps: Vec<(i32, i32)>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimerEvent {
    time: u64,
    d1: i64,
    d2: i64,
    d3: i64,
    min: u64,
    credit: u32,
    word0: u32,
    word1: u32,
}

#[test]
fn logarithm_timer_and_credit_match() {
    let vectors = read::<Estimation>(include_str!("vectors/int_ln_12bits_timer.json"));
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        match vector {
            Estimation::Logarithm { table } => {
                assert_eq!(table.len(), 4096);
                for (word, digit) in (0..).zip(table.chars()) {
                    assert_eq!(Some(int_ln_12bits(word)), digit.to_digit(16), "{word}");
                }
            }
            Estimation::Timer { num, events, total_credit } => {
                let mut state = TimerState::default();
                let mut total = 0;
                for event in events {
                    let estimate = state.estimate(event.time);
                    assert_eq!(estimate.differences, [event.d1, event.d2, event.d3]);
                    assert_eq!((estimate.min, estimate.credit_bits), (event.min, event.credit));
                    let sample = Sample::new(num, event.time, estimate.credit_bits);
                    assert_eq!(sample.words, [event.word0, event.word1]);
                    total += sample.credit_bits;
                }
                assert_eq!(total, total_credit);
            }
            Estimation::CreditEntropyStore { poolwords, poolbits, steps } => {
                let pool = Pool::new(size(poolwords), MixPlan::AS_IT_WAS);
                assert_eq!(pool.size().bits(), poolbits);
                let mut count = 0;
                for (bits, expected) in steps {
                    count = credited(count, bits, poolbits);
                    assert_eq!((count, pool.credit(bits)), (expected, expected));
                }
                assert_eq!(pool.entropy_bits(), count);
            }
        }
    }
}
