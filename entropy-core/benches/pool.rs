//! A quick look at mixing and extraction on one thread, cache hot. Not evidence: that takes launches and contention.

use divan::{Bencher, black_box, counter::BytesCount};
use entropy_core::pool::{ExtractForm, MixPlan, Pool, PoolSize};

fn main() {
    divan::main();
}

#[divan::bench(args = MixPlan::NAMED.map(|(name, _)| name), consts = [1, 16, 128])]
fn mix<const WORDS: usize>(bencher: Bencher, plan: &str) {
    let pool = Pool::new(PoolSize::PRIMARY, plan.parse().expect("a named plan"));
    let words = [0x5eed_f00d; WORDS];
    bencher.counter(BytesCount::of_slice(&words)).bench(|| pool.mix(black_box(&words)));
}

#[divan::bench(args = ["direct-fold", "final-hash"])]
fn extract_1024_bytes(bencher: Bencher, form: &str) {
    let form: ExtractForm = form.parse().expect("a form");
    let pool = Pool::new(PoolSize::SECONDARY, MixPlan::AS_POSTED);
    let mut bytes = [0; 1024];
    bencher.counter(BytesCount::of_slice(&bytes)).bench_local(|| pool.extract(form, black_box(&mut bytes)));
}
