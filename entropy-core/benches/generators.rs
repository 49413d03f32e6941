//! A quick look at key streams and generators on one thread. Not evidence: that is what the speed targets are for.

use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use divan::{Bencher, black_box, counter::BytesCount};
use entropy_core::chacha::{Backend, ChaCha20};

fn main() {
    divan::main();
}

#[divan::bench(args = ["portable", "avx2", "avx512"], consts = [64, 1024, 65536])]
fn key_stream<const BYTES: usize>(bencher: Bencher, name: &str) {
    let Some(backend) = Backend::all().into_iter().find_map(|(known, found)| found.filter(|_| known == name))
    else {
        return;
    };
    let mut cipher = ChaCha20::with_backend(backend, &[7; 32], 0, 0);
    let mut bytes = vec![0; BYTES];
    bencher.counter(BytesCount::new(BYTES)).bench_local(|| cipher.fill(black_box(&mut bytes)));
}

#[divan::bench(consts = [64, 1024, 65536])]
fn key_stream_of_the_chacha20_crate<const BYTES: usize>(bencher: Bencher) {
    let mut bytes = vec![0; BYTES];
    let mut cipher = chacha20::ChaCha20Legacy::new(&[7; 32].into(), &[0; 8].into());
    bencher.counter(BytesCount::new(BYTES)).bench_local(|| cipher.write_keystream(black_box(&mut bytes)));
}
