//! Runs every plan over the same input and shows what it touches: `cargo run -p entropy-core --example pool`.

use entropy_core::pool::{ExtractForm, MixPlan, Pool, PoolSize, Prefetch};

fn main() {
    let size = PoolSize::PRIMARY;
    let baseline = Pool::new(size, MixPlan::AS_IT_WAS);
    let input: Vec<u32> = (0..size.words() as u32).map(|word| word.wrapping_mul(0x9e37_79b9)).collect();
    baseline.mix(&input);

    println!("{:<42} {:>5}  state", "plan", "lines");
    for plan in MixPlan::all() {
        let pool = Pool::new(size, plan);
        pool.mix(&input);
        let lines = match plan.prefetch {
            Prefetch::None => 0,
            Prefetch::At { extent, .. } => extent.offsets(size.bytes()).count(),
        };
        let same = if pool.state() == baseline.state() { "same" } else { "DIFFERENT" };
        println!("{plan:<42} {lines:>5}  {same}");
    }

    let mut bytes = [0; 16];
    baseline.extract(ExtractForm::FinalHash, &mut bytes);
    println!("\n16 bytes from the baseline: {bytes:02x?}");
}
