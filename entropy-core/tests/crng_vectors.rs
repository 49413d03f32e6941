//! Known answers for hash, pool and cipher of the modern generator. (What needs a look at keys is tested beside the code.)
#![cfg(all(feature = "std", not(loom)))]

use std::sync::Mutex;

use entropy_core::{
    blake2s::blake2s,
    crng::InputPool,
    fast_pool::{CpuFastPool, Destination as _, Gate, Interrupt},
};
use serde_json::Value;

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("vectors/crng_blake2s_chacha.json")).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn digest(key: &[u8], input: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    blake2s(key, input, &mut out);
    out
}

#[test]
fn every_kind_of_vector_is_tested_somewhere() {
    let mut kinds: Vec<String> =
        vectors().iter().map(|vector| vector["kind"].as_str().unwrap().to_owned()).collect();
    kinds.dedup();
    let tested = [
        "blake2s",
        "fast_key_erasure",
        "get_random_bytes",
        "get_random_bytes_user",
        "per_cpu",
        "input_pool",
        "interrupt_credit",
    ];
    assert_eq!(kinds, tested);
}

#[test]
fn blake2s_matches() {
    let all = vectors();
    let hashes: Vec<_> = all.iter().filter(|vector| vector["kind"] == "blake2s").collect();
    assert_eq!(hashes.len(), 15);
    for vector in hashes {
        let length = vector["outlen"].as_u64().unwrap() as usize;
        let found = digest(&bytes(&vector["key"]), &bytes(&vector["msg"]), length);
        assert_eq!(found, bytes(&vector["digest"]), "{vector}");
    }
}

/// Seed and next key, which the pool shows to nobody, are worked out beside it from what went in.
#[test]
fn extraction_matches() {
    let all = vectors();
    let vector = all.iter().find(|vector| vector["kind"] == "input_pool").unwrap();
    let ops = vector["ops"].as_array().unwrap();
    assert_eq!(ops.len(), 10);
    let mut pool = InputPool::default();
    let (mut key, mut mixed) = (Vec::new(), Vec::new());
    for op in ops {
        if op["op"] == "mix" {
            pool.mix(&bytes(&op["data"]));
            mixed.extend(bytes(&op["data"]));
            continue;
        }
        let words: Vec<u64> = op["rdseed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| u64::from_str_radix(word.as_str().unwrap(), 16).unwrap())
            .collect();
        let mut hardware = words.iter().copied();
        let mut out = vec![0; op["len"].as_u64().unwrap() as usize];
        pool.extract(&mut || hardware.next().unwrap(), &mut out);
        assert_eq!(out, bytes(&op["out"]));
        assert_eq!(hardware.next(), None);

        let seed = digest(&key, &mixed, 32);
        assert_eq!(seed, bytes(&op["seed"]));
        let block: Vec<u8> = words.iter().chain(&[0]).flat_map(|word| word.to_le_bytes()).collect();
        key = digest(&seed, &block, 32);
        assert_eq!(key, bytes(&op["next_key"]));
        mixed.clear();
    }
}

#[test]
fn fast_pools_arrive_in_the_input_pool() {
    let input = Mutex::new(InputPool::default());
    let pool = CpuFastPool::<u64>::new(0, 0);
    for nth in 0..1024 {
        pool.interrupt(Interrupt { cycles: nth, ip: 0, irq: 1 }, Gate::deferred(250), 1);
    }
    let handed = pool.mix(0, 2, &input).unwrap();
    assert_eq!(input.lock().unwrap().credited_bits(), 16);
    let held = input.lock().unwrap();
    assert!(!input.try_hand_over(&handed));
    drop(held);
    assert!(input.try_hand_over(&handed));

    let mut expected = InputPool::default();
    expected.mix(handed.bytes());
    expected.mix(handed.bytes());
    let (mut found, mut wanted) = ([0; 32], [0; 32]);
    input.lock().unwrap().extract(&mut || 3, &mut found);
    expected.extract(&mut || 3, &mut wanted);
    assert_eq!((found, input.lock().unwrap().credited_bits()), (wanted, 32));
}
