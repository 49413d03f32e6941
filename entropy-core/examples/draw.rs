//! Draws numbers each way there is: `cargo run --example draw`.

use entropy_core::{
    fast::{FastRng, ThreadRng},
    range,
    system::SystemRng,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key: [u8; 16] = SystemRng.array()?;
    println!("a key, from the kernel ({:?})  {}", SystemRng.prepare(), hex(&key));

    let mut rng = FastRng::new()?;
    let mut bytes = [0; 16];
    rng.fill(&mut bytes);
    let kept = if rng.protection().wiped_on_fork { "forks find it empty" } else { "nothing is kept" };
    println!("bytes, from a handle ({kept})  {}", hex(&bytes));

    ThreadRng.prepare()?;
    let dice: Vec<u32> = (0..10).map(|_| 1 + range::below_u32(6, || ThreadRng.next_u32())).collect();
    println!("dice, from the thread's handle  {dice:?}");
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
