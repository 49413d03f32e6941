//! Known answers for the kernel's fast generators, made by an independent C program: every value of every vector.
#![cfg(not(loom))]

use entropy_core::{
    clock::CycleSource,
    history::{
        CountDown, CountUp, EveryDraw, Lfsr113, NoNoise, NoiseGate, Noisy, Siprand, Statistical, Upstream,
    },
    siphash::Word,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct File<T> {
    vectors: Vec<T>,
}

fn read<T: for<'a> Deserialize<'a>>(json: &str) -> Vec<T> {
    serde_json::from_str::<File<T>>(json).expect("a vector file").vectors
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Tausworthe {
    #[serde(rename = "kernel_selftest1")]
    Seeds {
        seed_result: Vec<(u32, u32)>,
    },
    #[serde(rename = "kernel_selftest2")]
    Iterations {
        seed_iteration_result: Vec<(u32, usize, u32)>,
    },
    SeedEarly {
        seed: u32,
        state_seeded: [u32; 4],
        state_warm: [u32; 4],
        out: Vec<u32>,
    },
    #[serde(rename = "seed_state64")]
    SeedState {
        seed: u64,
        i: u32,
        state: [u32; 4],
        out: Vec<u32>,
    },
    BytesState {
        seed: u32,
        nbytes: usize,
        bytes: String,
    },
}

fn draws(generator: &mut Lfsr113, count: usize) -> Vec<u32> {
    (0..count).map(|_| generator.draw()).collect()
}

#[test]
fn lfsr113_matches() {
    let vectors = read::<Tausworthe>(include_str!("vectors/lfsr113.json"));
    assert_eq!(vectors.len(), 14);
    for vector in vectors {
        match vector {
            Tausworthe::Seeds { seed_result } => {
                for (seed, result) in seed_result {
                    assert_eq!(Lfsr113::seeded(seed).draw(), result, "{seed}");
                }
            }
            Tausworthe::Iterations { seed_iteration_result } => {
                assert_eq!(seed_iteration_result.len(), 100);
                for (seed, iteration, result) in seed_iteration_result {
                    let all = draws(&mut Lfsr113::seeded(seed), iteration);
                    assert_eq!(all.last(), Some(&result), "{seed}");
                }
            }
            Tausworthe::SeedEarly { seed, state_seeded, state_warm, out } => {
                let mut generator = Lfsr113::spread(seed);
                assert_eq!(generator.state(), state_seeded, "{seed}");
                generator.warm_up();
                assert_eq!((generator.state(), &generator), (state_warm, &Lfsr113::seeded(seed)));
                assert_eq!(draws(&mut generator, out.len()), out, "{seed}");
            }
            Tausworthe::SeedState { seed, i, state, out } => {
                let mut generator = Lfsr113::from_seed(seed);
                assert_eq!(generator.state(), state, "{seed}");
                // The folded word itself is seen wherever it is above the minima.
                assert!(i < 128 || generator.state() == [i; 4], "{seed}");
                assert_eq!(draws(&mut generator, out.len()), out, "{seed}");
            }
            Tausworthe::BytesState { seed, nbytes, bytes } => {
                let mut out = vec![0; nbytes];
                Lfsr113::seeded(seed).fill_bytes(&mut out);
                assert_eq!(out.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), bytes);
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Sip {
    TscScript {
        tsc: Vec<u64>,
    },
    #[serde(rename = "init_early64")]
    InitEarly64(InitEarly),
    #[serde(rename = "init_early32")]
    InitEarly32(InitEarly),
    #[serde(rename = "prandom_seed64")]
    Seed64 {
        entropy: u64,
        from_cpu: usize,
        state: [String; 4],
    },
    #[serde(rename = "reseed32")]
    Reseed32 {
        v0: String,
        v1: String,
        extra: [String; 2],
        state: [String; 4],
    },
    #[serde(rename = "reseed64")]
    Reseed64 {
        v0: String,
        v1: String,
        state: [String; 4],
        #[serde(rename = "note")]
        _note: String,
    },
    Siprand(Draws),
}

#[derive(Deserialize)]
struct InitEarly {
    v0: String,
    v1: String,
    #[serde(rename = "K0")]
    k0: String,
    #[serde(rename = "K1")]
    k1: String,
    cpus: Vec<[String; 4]>,
}

#[derive(Deserialize)]
struct Draws {
    bits: u32,
    variant: String,
    init_cpu: usize,
    count0: i32,
    noise0: u64,
    out: Vec<u32>,
    fire_calls: Vec<usize>,
    tsc_reads: usize,
    final_count: i32,
    final_noise: u64,
    final_state: [String; 4],
}

fn word<W: Word>(hex: &str) -> W {
    W::truncated(u64::from_str_radix(hex, 16).unwrap())
}

fn words<W: Word>(hex: &[String; 4]) -> [W; 4] {
    hex.each_ref().map(|hex| word(hex))
}

fn init_early<W: Word>(vector: &InitEarly) -> Vec<Siprand<W>> {
    assert_eq!([word::<W>(&vector.k0), word(&vector.k1)], W::KEYS);
    let all = Siprand::init_early([word(&vector.v0), word(&vector.v1)], vector.cpus.len());
    let states: Vec<[W; 4]> = all.iter().map(Siprand::state).collect();
    assert_eq!(states, vector.cpus.iter().map(words).collect::<Vec<_>>());
    all
}

/// What a gate remembers: noise and count.
type Remembered = (u64, i32);

/// Draws with a gate, and compares all that the vector knows.
fn noisy<W: Word, G: NoiseGate<W>>(
    vector: &Draws,
    start: &Siprand<W>,
    script: &[u64],
    gate: G,
    between: impl Fn(&mut G, usize, &mut dyn FnMut() -> u64),
    remembered: impl Fn(&G) -> Remembered,
) {
    let mut generator = Noisy::new(start.clone(), gate);
    let mut readings = 0;
    let mut fired = Vec::new();
    let mut out = Vec::new();
    for call in 1..=vector.out.len() {
        let mut clock = || {
            readings += 1;
            script[readings - 1]
        };
        between(&mut generator.gate, call, &mut clock);
        let mut fires = false;
        let mut watched = || {
            fires = true;
            clock.cycles()
        };
        out.push(generator.draw(&mut watched));
        if fires {
            fired.push(call);
        }
    }
    let name = format!("{} {}", vector.variant, vector.bits);
    assert_eq!(out, vector.out, "{name}");
    assert_eq!(fired, vector.fire_calls, "{name}");
    assert_eq!(readings, vector.tsc_reads, "{name}");
    assert_eq!(remembered(&generator.gate), (vector.final_noise, vector.final_count), "{name}");
    assert_eq!(generator.state(), words(&vector.final_state), "{name}");
}

fn siprand<W: Word>(vector: &Draws, starts: &[Siprand<W>], script: &[u64]) {
    let start = &starts[vector.init_cpu];
    let noise = W::truncated(vector.noise0);
    match vector.variant.as_str() {
        "plain" => {
            noisy(vector, start, script, NoNoise, |_, _, _| (), |_| (0, 0));
            let mut plain = start.clone();
            let out: Vec<u32> = vector.out.iter().map(|_| plain.draw()).collect();
            assert_eq!((out, plain.state()), (vector.out.clone(), words(&vector.final_state)));
        }
        "willy_pre_inc_ge8" => {
            let count = vector.count0;
            let left = |gate: &CountUp<W, i32>| (gate.noise.widened(), gate.count);
            noisy(vector, start, script, CountUp { noise, count }, |_, _, _| (), left);
            let count = u64::try_from(vector.count0).unwrap();
            let left = |gate: &CountUp<W, u64>| (gate.noise.widened(), gate.count as i32);
            noisy(vector, start, script, CountUp { noise, count }, |_, _, _| (), left);
        }
        "laight_post_dec_le0_reset8" => {
            let gate = CountDown::<W, i32, 8> { noise, count: vector.count0 };
            noisy(vector, start, script, gate, |_, _, _| (), |gate| (gate.noise.widened(), gate.count));
        }
        "every_call_saved_noise" => {
            noisy(vector, start, script, EveryDraw { noise }, |_, _, _| (), |gate| (gate.noise.widened(), 0));
        }
        "statistical_v3_and_7" => noisy(vector, start, script, Statistical, |_, _, _| (), |_| (0, 0)),
        "upstream_net_rand_noise" => {
            // The vector's noise: before every fifth draw, the clock and the number of the draw.
            let add = |gate: &mut Upstream<W>, call: usize, clock: &mut dyn FnMut() -> u64| {
                if call % 5 == 1 {
                    gate.add([clock(), call as u64, 0, 0].map(W::truncated));
                }
            };
            noisy(vector, start, script, Upstream { noise }, add, |gate| (gate.noise.widened(), 0));
        }
        other => panic!("an unknown variant: {other}"),
    }
}

#[test]
fn siprand_and_its_noise_match_in_both_widths() {
    let vectors = read::<Sip>(include_str!("vectors/siprand.json"));
    assert_eq!(vectors.len(), 18);
    let (mut script, mut wide, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
    let mut drawn = 0;
    for vector in vectors {
        match vector {
            Sip::TscScript { tsc } => script = tsc,
            Sip::InitEarly64(vector) => wide = init_early::<u64>(&vector),
            Sip::InitEarly32(vector) => narrow = init_early::<u32>(&vector),
            Sip::Seed64 { entropy, from_cpu, state } => {
                let mut generator = wide[from_cpu].clone();
                generator.stir(entropy);
                assert_eq!(generator.state(), words::<u64>(&state));
            }
            Sip::Reseed32 { v0, v1, extra, state } => {
                let more = extra.each_ref().map(|hex| word(hex));
                assert_eq!(
                    Siprand::<u32>::reseeded([word(&v0), word(&v1)], more).state(),
                    words::<u32>(&state)
                );
            }
            Sip::Reseed64 { v0, v1, state, .. } => {
                assert_eq!(
                    Siprand::<u64>::reseeded([word(&v0), word(&v1)], [0; 2]).state(),
                    words::<u64>(&state)
                );
            }
            Sip::Siprand(vector) if vector.bits == 64 => {
                siprand(&vector, &wide, &script);
                drawn += 1;
            }
            Sip::Siprand(vector) => {
                siprand(&vector, &narrow, &script);
                drawn += 1;
            }
        }
    }
    assert_eq!(drawn, 12);
}
