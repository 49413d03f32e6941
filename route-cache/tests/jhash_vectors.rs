//! Every known answer of `vectors/jhash_rt_hash.json`, made by an independent C program.
#![cfg(not(loom))]

use std::net::Ipv4Addr;

use route_cache::{
    Geometry,
    jhash::{address_word, jhash_1word, jhash_2words, jhash_3words, rt_hash_2words, rt_hash_3words},
};
use serde_json::Value;

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../vectors/jhash_rt_hash.json")).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

fn word(vector: &Value, field: &str) -> u32 {
    u32::try_from(vector[field].as_u64().unwrap()).unwrap()
}

#[test]
fn every_hash_is_the_kernel_s() {
    let mut seen = (0, 0);
    for v in &vectors() {
        let of = |field| word(v, field);
        match v["kind"].as_str().unwrap() {
            "jhash_3words" => {
                let (a, b, c, initval) = (of("a"), of("b"), of("c"), of("initval"));
                assert_eq!(jhash_3words(a, b, c, initval), of("old_lookup2"), "{v}");
                assert_eq!(jhash_2words(a, b, initval), of("old_2words"), "{v}");
                assert_eq!(jhash_1word(a, initval), of("old_1word"), "{v}");
                // The trap: the hashes that took the name later are other functions.
                assert_ne!(jhash_3words(a, b, c, initval), of("new2637_3words"), "{v}");
                assert_ne!(jhash_3words(a, b, c, initval), of("new41_3words"), "{v}");
                seen.0 += 1;
            }
            "rt_hash" => {
                let address =
                    |field: &str| address_word(v[field].as_str().unwrap().parse::<Ipv4Addr>().unwrap());
                let (daddr, saddr, oif, rnd) =
                    (address("daddr"), address("saddr"), of("oif"), of("rnd_or_genid"));
                let geometry = Geometry::new(of("mask") as usize + 1, 512);
                let slot = geometry.bucket(rt_hash_2words(daddr, saddr, oif, rnd));
                assert_eq!(slot, of("rt_hash_2words") as usize, "{v}");
                let three = geometry.bucket(rt_hash_3words(daddr, saddr, oif, rnd));
                assert_eq!(three, of("rt_hash_3words") as usize, "{v}");
                assert_eq!(geometry.place(slot).0, of("lock_512") as usize, "{v}");
                seen.1 += 1;
            }
            other => panic!("a kind of vector without a test: {other}"),
        }
    }
    assert_eq!(seen, (25, 40));
}
