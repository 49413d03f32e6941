//! Every backend of ChaCha20, forced one by one: known answers, wraps of the counter, cuts.
#![cfg(not(loom))]

use chacha20::{
    ChaCha20Legacy,
    cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _},
};
use entropy_core::chacha::{BLOCK_BYTES, Backend, ChaCha20, KEY_BYTES};
use proptest::prelude::*;

/// The backends of this processor; those that it lacks are named.
fn backends() -> impl Iterator<Item = Backend> {
    Backend::all().into_iter().filter_map(|(name, backend)| {
        if backend.is_none() {
            eprintln!("skipped {name}: not on this processor, or not built in");
        }
        backend
    })
}

fn stream(backend: Backend, key: &[u8; KEY_BYTES], counter: u64, nonce: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0xaa; length];
    ChaCha20::with_backend(backend, key, counter, nonce).fill(&mut bytes);
    bytes
}

/// Block after block by the reference, each from a state of its own.
fn block_by_block(key: &[u8; KEY_BYTES], counter: u64, nonce: u64, blocks: u64) -> Vec<u8> {
    let block = |number| {
        let mut bytes = [0; BLOCK_BYTES];
        ChaCha20::new(key, counter.wrapping_add(number), nonce).block(&mut bytes);
        bytes
    };
    (0..blocks).flat_map(block).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |character: char| character.to_digit(16).expect("a digit") as u8;
    let digits: Vec<u8> = hex.chars().filter(|character| !character.is_whitespace()).map(digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// RFC 8439, 2.4.2: the key stream that encrypts the sunscreen. 114 bytes from block 1 on.
#[test]
fn the_stream_of_the_rfc_comes_out() {
    let key = core::array::from_fn(|byte| byte as u8);
    let expected = bytes(
        "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78
         8a3b0aa372600a92b57974cded2b9334794cba40c63e34cdea212c4cf07d41b7
         69a6749f3f630f4122cafe28ec4dc47e26d4346d70b98c73f3e9c53ac40c5945
         398b6eda1a832c89c167eacd901d7e2bf363",
    );
    for backend in backends() {
        assert_eq!(stream(backend, &key, 1, 0x4a00_0000, 114), expected, "{backend:?}");
    }
}

/// RFC 8439, appendix A.1, vectors 1 and 2: key, nonce and counter of zeros, and the block after that.
#[test]
fn the_first_blocks_of_the_zero_key_come_out() {
    let expected = bytes(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
         da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586
         9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
         29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    );
    for backend in backends() {
        assert_eq!(stream(backend, &[0; KEY_BYTES], 0, 0, 128), expected, "{backend:?}");
    }
}

/// Where lanes carry: 2^32, its multiples, and the end, after which block 0 comes.
#[test]
fn every_lane_carries_at_every_wrap() {
    let key = [7; KEY_BYTES];
    for wrap in [1 << 32, 1 << 33, 1 << 48, u64::MAX, 0] {
        for before in 0..40_u64 {
            let start = wrap.wrapping_sub(before);
            let expected = block_by_block(&key, start, 3, 41);
            for backend in backends() {
                assert_eq!(stream(backend, &key, start, 3, expected.len()), expected, "{backend:?} {start}");
            }
        }
    }
}

/// Below 2^64 another implementation knows the answer; beyond it counts differently.
#[test]
fn another_implementation_carries_alike() {
    let (key, nonce) = ([7; KEY_BYTES], [3; 8]);
    for wrap in [1_u64 << 32, 1 << 33, 1 << 48] {
        for before in 0..20 {
            let start = wrap - before;
            let mut theirs = vec![0; 21 * BLOCK_BYTES];
            let mut cipher = ChaCha20Legacy::new(&key.into(), &nonce.into());
            cipher.seek(start * BLOCK_BYTES as u64);
            cipher.apply_keystream(&mut theirs);
            for backend in backends() {
                let ours = stream(backend, &key, start, u64::from_le_bytes(nonce), theirs.len());
                assert_eq!(ours, theirs, "{backend:?} {start}");
            }
        }
    }
}

/// Each length around the widths of all backends, at each place of a line.
#[test]
fn no_byte_outside_is_written() {
    let key = [5; KEY_BYTES];
    let expected = block_by_block(&key, 9, 2, 40);
    for backend in backends() {
        for length in (0..200).chain([511, 512, 513, 1023, 1024, 1025, 1090, 2047, 2048, 2500]) {
            for start in [0, 1, 31, 63] {
                let mut room = vec![0xaa; start + length + 64];
                ChaCha20::with_backend(backend, &key, 9, 2).fill(&mut room[start..][..length]);
                assert_eq!(room[start..][..length], expected[..length], "{backend:?} {length}");
                assert!(room[..start].iter().chain(&room[start + length..]).all(|&byte| byte == 0xaa));
            }
        }
    }
}

#[test]
fn the_counter_says_where_the_next_block_is() {
    for backend in backends() {
        for (length, blocks) in
            [(0, 0), (1, 1), (64, 1), (65, 2), (512, 8), (1024, 16), (1025, 17), (3000, 47)]
        {
            let mut cipher = ChaCha20::with_backend(backend, &[1; KEY_BYTES], u64::MAX, 0);
            cipher.fill(&mut vec![0; length]);
            assert_eq!(cipher.counter(), u64::MAX.wrapping_add(blocks), "{backend:?} {length}");
        }
    }
}

proptest! {
    #[test]
    fn every_stream_is_that_of_another_implementation(
        key: [u8; KEY_BYTES],
        nonce: [u8; 8],
        start in 0_u64..1 << 50,
        length in 0_usize..3000,
    ) {
        let mut theirs = vec![0; length];
        let mut cipher = ChaCha20Legacy::new(&key.into(), &nonce.into());
        cipher.seek(start * BLOCK_BYTES as u64);
        cipher.apply_keystream(&mut theirs);
        for backend in backends() {
            let ours = stream(backend, &key, start, u64::from_le_bytes(nonce), length);
            prop_assert_eq!(&ours, &theirs);
        }
    }
}
