//! One mixing plan at work on a fixed input, for a counter of instructions.
//!
//! Without arguments it lists the plans that have a name; `counts PLAN CALLS` makes that many calls of 16 words.

use std::error::Error;

use entropy_core::pool::{MixPlan, Pool, PoolSize};

const WORDS: [u32; 16] = [0x9e37_79b9; 16];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        MixPlan::NAMED.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    };
    let calls: u32 = arguments.next().ok_or("how many calls? usage: counts PLAN CALLS")?.parse()?;
    let pool = Pool::new(PoolSize::PRIMARY, name.parse()?);
    (0..calls).for_each(|_| pool.mix(&WORDS));
    // The state is used, so no call can be left out; not printed, since its digits would be counted too.
    std::hint::black_box(pool.state());
    Ok(())
}
