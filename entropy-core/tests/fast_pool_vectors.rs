//! Known answers for the fast pool, made by an independent C program: every value of every vector.
#![cfg(not(loom))]

use std::cell::RefCell;

use entropy_core::{
    fast_pool::{
        Arrival, CpuFastPool, Destination, FastPool, Gate, Handed, Interrupt, WrongCpu, credit_bits,
    },
    siphash::{Word, round},
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Vector {
    #[serde(rename = "siphash_perm64")]
    Permutation64 { init: [String; 4], after: Vec<[String; 4]> },
    #[serde(rename = "hsiphash_perm32")]
    Permutation32 { init: [String; 4], after: Vec<[String; 4]> },
    #[serde(rename = "fast_mix64")]
    FastMix64 { calls: Vec<FastMix> },
    #[serde(rename = "fast_mix32")]
    FastMix32 { calls: Vec<FastMix> },
    #[serde(rename = "irq_script64")]
    Script { hz: u32, scenario: String, start_last: u64, events: Vec<Step> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FastMix {
    v1: String,
    v2: String,
    pool: [String; 4],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    ev: Vec<Value>,
    count: Option<u32>,
    scheduled: Option<bool>,
    pool: Option<[String; 4]>,
    mixed: Option<String>,
    credit: Option<u32>,
    count_before: Option<u32>,
    #[serde(rename = "note")]
    _note: Option<String>,
    lcg_state_before: Option<u32>,
}

fn number(hex: &str) -> u64 {
    u64::from_str_radix(hex, 16).unwrap()
}

fn words<W: Word>(hex: &[String; 4]) -> [W; 4] {
    hex.each_ref().map(|word| W::truncated(number(word)))
}

fn permutation<W: Word>(init: &[String; 4], after: &[[String; 4]]) {
    assert_eq!(words::<W>(init), W::START);
    let mut state = W::START;
    for expected in after {
        round(&mut state);
        assert_eq!(state, words(expected));
    }
}

fn fast_mix<W: Word>(calls: &[FastMix]) {
    let mut pool = FastPool::<W>::default();
    for call in calls {
        pool.stir(W::truncated(number(&call.v1)), W::truncated(number(&call.v2)));
        assert_eq!(pool.words(), words(&call.pool));
    }
}

/// Remembers what it was handed.
#[derive(Default)]
struct Log(RefCell<Vec<Handed>>);

impl Destination for Log {
    fn hand_over(&self, handed: &Handed) {
        self.0.borrow_mut().push(*handed);
    }
    fn try_hand_over(&self, handed: &Handed) -> bool {
        self.hand_over(handed);
        true
    }
}

/// The generator that made the cycle counts.
struct Lcg(u32);

impl Lcg {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0.into()
    }
    fn wide(&mut self) -> u64 {
        self.word() << 32 | self.word()
    }
}

fn script(scenario: &str, hz: u32, start_last: u64, steps: &[Step]) {
    let (gate, log) = (Gate::deferred(hz), Log::default());
    let mut pool = CpuFastPool::<u64>::new(0, start_last);
    for (index, step) in steps.iter().enumerate() {
        let at = format!("{scenario}, step {index}");
        let tick = || step.ev[1].as_u64().unwrap();
        match step.ev[0].as_str().unwrap() {
            "irq" => {
                let interrupt = Interrupt {
                    cycles: number(step.ev[2].as_str().unwrap()),
                    ip: number(step.ev[3].as_str().unwrap()),
                    irq: step.ev[4].as_i64().unwrap() as i32,
                };
                let arrival = pool.interrupt(interrupt, gate, tick());
                assert_eq!(Some(arrival == Arrival::Due), step.scheduled, "{at}");
            }
            "bulk_irq" => {
                let mut lcg = Lcg(step.lcg_state_before.unwrap());
                for nth in 0..step.ev[2].as_u64().unwrap() {
                    let ip = 0xffff_ffff_8100_0000 + 16 * nth;
                    let interrupt = Interrupt { cycles: lcg.wide(), ip, irq: (nth % 64) as i32 };
                    pool.interrupt(interrupt, gate, tick());
                }
            }
            // Only before the first interrupt: a pool that was last mixed then.
            "set_last" => pool = CpuFastPool::new(0, tick()),
            "run" => {
                assert_eq!(Some(pool.state().count()), step.count_before, "{at}");
                let handed = pool.mix(0, tick(), &log).expect("the right CPU");
                let hex: String = handed.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(Some(hex), step.mixed, "{at}");
                assert_eq!(Some(handed.credit_bits), step.credit, "{at}");
                assert_eq!(log.0.borrow_mut().pop(), Some(handed), "{at}");
            }
            "run_wrong_cpu" => {
                let before = pool.state();
                assert_eq!(pool.mix(1, tick(), &log), Err(WrongCpu), "{at}");
                assert_eq!((pool.state(), log.0.borrow().len()), (before, 0), "{at}");
            }
            "online" => pool.online(),
            "state" => {}
            other => panic!("an unknown event: {other}"),
        }
        if let Some(count) = step.count {
            assert_eq!(pool.state().count(), count, "{at}");
        }
        if let Some(expected) = &step.pool {
            assert_eq!(pool.state().words(), words::<u64>(expected), "{at}");
        }
    }
}

#[test]
fn permutations_mixing_and_scripts_match() {
    let file: File = serde_json::from_str(include_str!("vectors/fast_mix.json")).unwrap();
    assert_eq!(file.vectors.len(), 8);
    for vector in &file.vectors {
        match vector {
            Vector::Permutation64 { init, after } => permutation::<u64>(init, after),
            Vector::Permutation32 { init, after } => permutation::<u32>(init, after),
            Vector::FastMix64 { calls } => fast_mix::<u64>(calls),
            Vector::FastMix32 { calls } => fast_mix::<u32>(calls),
            Vector::Script { hz, scenario, start_last, events } => script(scenario, *hz, *start_last, events),
        }
    }
}

#[test]
fn interrupt_credit_matches() {
    #[derive(Deserialize)]
    struct Credit {
        pairs64: Vec<(u32, u32)>,
    }
    let file: Value = serde_json::from_str(include_str!("vectors/crng_blake2s_chacha.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let vector = vectors.iter().find(|vector| vector["kind"] == "interrupt_credit").unwrap();
    let Credit { pairs64 } = Credit::deserialize(vector).unwrap();
    assert_eq!(pairs64.len(), 17);
    for (count, credit) in pairs64 {
        assert_eq!(credit_bits::<u64>(count), credit, "{count}");
    }
}
