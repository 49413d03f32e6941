//! A base key and a key for each CPU: who is seeded from whom, and when.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use super::{
    batch::Batches,
    input_pool::{EARLY_BITS, InputPool, READY_BITS},
    key_erasure::erase,
};
use crate::{
    chacha::{ChaCha20, KEY_BYTES},
    wipe::wipe,
};

/// What is known of the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readiness {
    /// Nothing: every draw takes from the pool anew.
    Empty,
    /// [`EARLY_BITS`] were credited.
    Early,
    /// [`READY_BITS`] were credited: CPUs have keys of their own.
    Ready,
}

/// The generation of a CPU that has no key yet. The base never gets there.
const NO_GENERATION: u64 = u64::MAX;

/// Uptime in seconds up to which reseeding is more frequent.
const EARLY_UPTIME_S: u64 = 120;

/// Seconds from one reseeding to the next, `uptime_s` seconds after the start: half the uptime at first, a minute later.
#[must_use]
pub const fn reseed_interval_s(uptime_s: u64) -> u64 {
    match uptime_s {
        0..2 => 1,
        2..EARLY_UPTIME_S => uptime_s / 2,
        _ => 60,
    }
}

/// Input pool, base key, and a key with stocks for each CPU.
///
/// ```
/// use entropy_core::crng::{Crng, READY_BITS, Readiness};
///
/// let mut crng = Crng::new(2);
/// let mut hardware = || 0x0123_4567_89ab_cdef;
/// crng.mix(b"what happened, and when");
/// crng.credit(READY_BITS, 0, &mut hardware);
/// assert_eq!(crng.readiness(), Readiness::Ready);
/// let (mut one, mut other) = ([0; 16], [0; 16]);
/// crng.bytes(0, &mut hardware, &mut one);
/// crng.bytes(1, &mut hardware, &mut other);
/// assert_ne!(one, other);
/// ```
///
/// A CPU is a number; those beyond the last start again at the first.
pub struct Crng {
    pool: InputPool,
    readiness: Readiness,
    key: [u8; KEY_BYTES],
    generation: u64,
    reseed_at_s: Option<u64>,
    cpus: Box<[Cpu]>,
}

pub(super) struct Cpu {
    key: [u8; KEY_BYTES],
    generation: u64,
    pub(super) batches: Batches,
}

impl fmt::Debug for Crng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { readiness, generation, cpus, .. } = self;
        f.debug_struct("Crng")
            .field("readiness", readiness)
            .field("generation", generation)
            .field("cpus", &cpus.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Crng {
    fn drop(&mut self) {
        wipe(&mut self.key);
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        wipe(&mut self.key);
    }
}

impl Crng {
    /// Nothing known, no key on any of `cpus` CPUs (at least one).
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        let cpu = |_| Cpu { key: [0; KEY_BYTES], generation: NO_GENERATION, batches: Batches::default() };
        Self {
            pool: InputPool::default(),
            readiness: Readiness::Empty,
            key: [0; KEY_BYTES],
            generation: 0,
            reseed_at_s: None,
            cpus: (0..cpus.max(1)).map(cpu).collect::<Vec<_>>().into(),
        }
    }

    /// What is known of the seed.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.readiness
    }

    /// How often the base key has been reseeded.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Mixes bytes into the pool.
    pub fn mix(&mut self, bytes: &[u8]) {
        self.pool.mix(bytes);
    }

    /// Credits bits at `uptime_s`. At [`EARLY_BITS`] the base key is taken from the pool for the first time; at
    /// [`READY_BITS`] all is reseeded, and later credit is ignored.
    pub fn credit(&mut self, bits: u32, uptime_s: u64, hardware: &mut impl FnMut() -> u64) {
        if self.readiness == Readiness::Ready {
            return;
        }
        let [before, after] = self.pool.credit(bits);
        if before < READY_BITS && after >= READY_BITS {
            self.reseed(uptime_s, hardware);
        } else if before < EARLY_BITS && after >= EARLY_BITS && self.readiness == Readiness::Empty {
            self.pool.extract(hardware, &mut self.key);
            self.readiness = Readiness::Early;
        }
    }

    /// Takes a new base key from the pool. CPUs notice by the generation, and take theirs when they next draw.
    pub fn reseed(&mut self, uptime_s: u64, hardware: &mut impl FnMut() -> u64) {
        let mut key = [0; KEY_BYTES];
        self.pool.extract(hardware, &mut key);
        self.replace_base(key);
        wipe(&mut key);
        self.readiness = Readiness::Ready;
        self.reseed_at_s = Some(uptime_s.saturating_add(reseed_interval_s(uptime_s)));
    }

    /// Reseeds if it is time; whether it was. Before the first reseeding it never is.
    pub fn reseed_if_due(&mut self, uptime_s: u64, hardware: &mut impl FnMut() -> u64) -> bool {
        let due = self.reseed_at_s.is_some_and(|at| uptime_s >= at);
        if due {
            self.reseed(uptime_s, hardware);
        }
        due
    }

    fn replace_base(&mut self, key: [u8; KEY_BYTES]) {
        self.key = key;
        self.generation = match self.generation.wrapping_add(1) {
            NO_GENERATION => 0,
            next => next,
        };
    }

    /// Fills `out` as the kernel fills its own requests (`get_random_bytes`): the first 32 bytes from the block that gave
    /// the next key, the others from the blocks after it, under the key that has just been replaced.
    ///
    /// `hardware` is asked only as long as nothing is known of the seed.
    pub fn bytes(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64, out: &mut [u8]) {
        if out.is_empty() {
            return;
        }
        let (first, rest) = out.split_at_mut(out.len().min(KEY_BYTES));
        let mut cipher = self.cipher(cpu, hardware, first);
        if !rest.is_empty() {
            cipher.fill(rest);
        }
    }

    /// Fills `out` as the kernel fills what a program asks for (`get_random_bytes_user`): the 32 bytes beside the next key
    /// are the answer if it is no longer than that; else they are the key for the whole of it.
    ///
    /// So nothing that could make earlier output is in memory while the kernel waits for a page of the program.
    pub fn bytes_for_user(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64, out: &mut [u8]) {
        if out.is_empty() {
            return;
        }
        let mut random = [0; KEY_BYTES];
        let mut cipher = self.cipher(cpu, hardware, &mut random);
        if out.len() <= KEY_BYTES {
            out.copy_from_slice(&random[..out.len()]);
        } else {
            cipher.set_key(&random);
            cipher.fill(out);
        }
        wipe(&mut random);
    }

    /// `crng_make_state`: up to 32 bytes, and the cipher behind them.
    fn cipher(&mut self, cpu: usize, hardware: &mut impl FnMut() -> u64, random: &mut [u8]) -> ChaCha20 {
        if self.readiness < Readiness::Ready {
            if self.readiness == Readiness::Empty {
                self.pool.extract(hardware, &mut self.key);
            }
            return erase(&mut self.key, random);
        }
        let at = self.index(cpu);
        let cpu = &mut self.cpus[at];
        if cpu.generation != self.generation {
            erase(&mut self.key, &mut cpu.key);
            cpu.generation = self.generation;
        }
        erase(&mut cpu.key, random)
    }

    /// `random_prepare_cpu`: a CPU that is about to come online has neither key nor stock from an earlier life.
    pub fn prepare_cpu(&mut self, cpu: usize) {
        let cpu = self.cpu(cpu);
        cpu.generation = NO_GENERATION;
        cpu.batches = Batches::default();
    }

    pub(super) fn cpu(&mut self, cpu: usize) -> &mut Cpu {
        let at = self.index(cpu);
        &mut self.cpus[at]
    }

    fn index(&self, cpu: usize) -> usize {
        cpu % self.cpus.len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;
    use std::{format, string::String};

    use serde_json::Value;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn bytes(hex: &Value) -> Vec<u8> {
        let hex = hex.as_str().unwrap();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn key(hex: &Value) -> [u8; KEY_BYTES] {
        bytes(hex).try_into().unwrap()
    }

    /// The vector of this kind; that no kind is left out is checked where the others are.
    fn vector(kind: &str) -> Value {
        let file: Value =
            serde_json::from_str(include_str!("../../tests/vectors/crng_blake2s_chacha.json")).unwrap();
        file["vectors"].as_array().unwrap().iter().find(|vector| vector["kind"] == kind).unwrap().clone()
    }

    fn no_hardware() -> u64 {
        panic!("a seeded generator does not ask")
    }

    /// Ready, with a known key for CPU 0.
    fn seeded(key: [u8; KEY_BYTES]) -> Crng {
        let mut crng = Crng::new(1);
        crng.readiness = Readiness::Ready;
        crng.cpus[0].key = key;
        crng.cpus[0].generation = crng.generation;
        crng
    }

    #[test]
    fn key_erasure_matches() {
        let vector = vector("fast_key_erasure");
        let mut erased = key(&vector["key0"]);
        for step in vector["steps"].as_array().unwrap() {
            let mut random = alloc::vec![0; step["len"].as_u64().unwrap() as usize];
            let old = erased;
            let mut cipher = erase(&mut erased, &mut random);
            assert_eq!(hex(&random), step["random"].as_str().unwrap());
            assert_eq!(hex(&erased), step["new_key"].as_str().unwrap());
            assert_eq!(Some(cipher.counter()), step["state_counter_after"].as_u64());
            let (mut next, mut expected) = ([0; 64], [0; 64]);
            cipher.block(&mut next);
            ChaCha20::new(&old, 1, 0).block(&mut expected);
            assert_eq!(next, expected, "the state holds the old key");
        }
    }

    #[test]
    fn both_streams_match() {
        for (kind, for_user) in [("get_random_bytes", false), ("get_random_bytes_user", true)] {
            let vector = vector(kind);
            let mut crng = seeded(key(&vector["key0"]));
            let calls = vector["calls"].as_array().unwrap();
            assert_eq!(calls.len(), 10);
            for call in calls {
                let mut out = alloc::vec![0; call["len"].as_u64().unwrap() as usize];
                if for_user {
                    crng.bytes_for_user(0, &mut no_hardware, &mut out);
                } else {
                    crng.bytes(0, &mut no_hardware, &mut out);
                }
                assert_eq!(hex(&out), call["out"].as_str().unwrap(), "{kind}");
                assert_eq!(hex(&crng.cpus[0].key), call["key_after"].as_str().unwrap(), "{kind}");
            }
        }
    }

    #[test]
    fn per_cpu_keys_match() {
        let vector = vector("per_cpu");
        let mut crng = Crng::new(2);
        crng.readiness = Readiness::Ready;
        crng.key = key(&vector["base_key0"]);
        crng.generation = vector["base_generation0"].as_u64().unwrap();
        assert_eq!(vector["cpu_generation0"], "ULONG_MAX");
        for step in vector["steps"].as_array().unwrap() {
            if step["op"] == "reseed" {
                crng.replace_base(key(&step["new_base_key"]));
                assert_eq!(Some(crng.generation), step["generation"].as_u64());
                continue;
            }
            let cpu = step["cpu"].as_u64().unwrap() as usize;
            let stale = crng.cpus[cpu].generation != crng.generation;
            assert_eq!(Some(stale), step["refreshed"].as_bool());
            let mut random = [0; KEY_BYTES];
            crng.cipher(cpu, &mut no_hardware, &mut random);
            assert_eq!(hex(&random), step["random"].as_str().unwrap());
            assert_eq!(hex(&crng.cpus[cpu].key), step["cpu_key"].as_str().unwrap());
            assert_eq!(hex(&crng.key), step["base_key"].as_str().unwrap());
        }
    }

    #[test]
    fn the_base_never_has_the_generation_of_a_cpu_without_key() {
        let mut crng = seeded([1; KEY_BYTES]);
        crng.generation = NO_GENERATION - 1;
        crng.replace_base([2; KEY_BYTES]);
        assert_eq!(crng.generation, 0);
    }

    #[test]
    fn nothing_asked_for_changes_nothing() {
        let mut crng = seeded([1; KEY_BYTES]);
        crng.bytes(0, &mut no_hardware, &mut []);
        crng.bytes_for_user(0, &mut no_hardware, &mut []);
        assert_eq!(crng.cpus[0].key, [1; KEY_BYTES]);
        assert_eq!(Crng::new(0).cpus.len(), 1);
    }

    #[test]
    fn many_mebibytes_are_one_stream() {
        let mut whole = alloc::vec![0; (4 << 20) + 1];
        seeded([1; KEY_BYTES]).bytes_for_user(0, &mut no_hardware, &mut whole);
        let mut random = [0; KEY_BYTES];
        let mut cipher = seeded([1; KEY_BYTES]).cipher(0, &mut no_hardware, &mut random);
        cipher.set_key(&random);
        let mut last = [0; 64];
        for _ in 0..=(4 << 20) / 64 {
            cipher.block(&mut last);
        }
        assert_eq!(whole.last(), last.first());
    }

    #[test]
    fn seeding_goes_from_empty_by_early_to_ready_and_then_by_the_clock() {
        let mut crng = Crng::new(1);
        let mut asked = 0;
        let mut hardware = || {
            asked += 1;
            asked
        };
        let mut out = [0; 8];
        // Each draw from an empty generator extracts: four words a time.
        crng.bytes(0, &mut hardware, &mut out);
        crng.credit(EARLY_BITS - 1, 0, &mut hardware);
        assert_eq!(crng.readiness(), Readiness::Empty);
        crng.credit(1, 0, &mut hardware);
        assert_eq!((crng.readiness(), crng.generation()), (Readiness::Early, 0));
        crng.bytes(0, &mut hardware, &mut out);
        assert!(!crng.reseed_if_due(1000, &mut hardware));
        crng.credit(u32::MAX, 10, &mut hardware);
        assert_eq!((crng.readiness(), crng.generation()), (Readiness::Ready, 1));
        crng.credit(u32::MAX, 10, &mut hardware);
        // Half of ten seconds later.
        assert_eq!([14, 15, 16].map(|now| crng.reseed_if_due(now, &mut hardware)), [false, true, false]);
        // A clock that goes back only waits.
        assert!(!crng.reseed_if_due(0, &mut hardware));
        assert_eq!(crng.generation(), 2);
        assert_eq!(asked, 4 * 4);
    }

    #[test]
    fn reseeding_is_frequent_in_the_first_two_minutes() {
        let found = [0, 1, 2, 3, 4, 119, 120, 121, u64::MAX].map(reseed_interval_s);
        assert_eq!(found, [1, 1, 1, 1, 2, 59, 60, 60, 60]);
    }

    #[test]
    fn a_cpu_that_comes_back_takes_a_new_key() {
        let mut crng = seeded([1; KEY_BYTES]);
        let base = crng.key;
        crng.prepare_cpu(0);
        crng.bytes(0, &mut no_hardware, &mut [0; 1]);
        assert_ne!(crng.key, base);
        assert_ne!(crng.cpus[0].key, [1; KEY_BYTES]);
    }

    #[test]
    fn nothing_prints_a_key() {
        let crng = seeded([0xab; KEY_BYTES]);
        assert_eq!(format!("{crng:?}"), "Crng { readiness: Ready, generation: 0, cpus: 1, .. }");
    }
}
