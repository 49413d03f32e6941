//! One variant at work on a fixed input, for a counter of instructions.
//!
//! Without arguments it lists the variants: the mixing plans that have a name, where a call mixes 16 words; and the
//! generators and noise gates of 2020, where a call is 72 draws, in which a gate of every eighth draw and one of every
//! ninth both come out even. `counts VARIANT CALLS` makes that many calls.

use std::{error::Error, hint::black_box};

use entropy_core::{
    history::{Gate, GateUser, Lfsr113, NoiseGate, Noisy, Siprand},
    pool::{MixPlan, Pool, PoolSize},
};

const WORDS: [u32; 16] = [0x9e37_79b9; 16];
const DRAWS: u32 = 72;
const LFSR: &str = "lfsr113: 72 draws";
const SIPRAND: &str = "siprand: 72 draws, noise ";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        MixPlan::NAMED.iter().for_each(|(name, _)| println!("{name}"));
        println!("{LFSR}");
        Gate::ALL.iter().for_each(|gate| println!("{SIPRAND}{gate}"));
        return Ok(());
    };
    let calls: u32 = arguments.next().ok_or("how many calls? usage: counts VARIANT CALLS")?.parse()?;
    if name == LFSR {
        let mut generator = Lfsr113::seeded(1);
        for _ in 0..calls * DRAWS {
            black_box(lfsr113(&mut generator));
        }
    } else if let Some(gate) = name.strip_prefix(SIPRAND) {
        gate.parse::<Gate>().map_err(|_| format!("no gate is called {gate}"))?.visit(Draws(calls * DRAWS));
    } else {
        let pool = Pool::new(PoolSize::PRIMARY, name.parse()?);
        (0..calls).for_each(|_| pool.mix(&WORDS));
        // The state is used, so no call can be left out; not printed, since its digits would be counted too.
        black_box(pool.state());
    }
    Ok(())
}

struct Draws(u32);

impl GateUser<u64> for Draws {
    type Output = ();

    fn with<G: NoiseGate<u64> + Clone + Default + Send + Sync + 'static>(self, gate: G) {
        let mut generator = Noisy::new(Siprand::reseeded([1, 2], [0; 2]), gate);
        let mut cycles = 0;
        for _ in 0..self.0 {
            black_box(siprand(&mut generator, &mut cycles));
        }
    }
}

/// A function of its own, as in the kernel: what is counted is a draw and not a loop that the compiler made of many.
#[inline(never)]
fn siprand<G: NoiseGate<u64>>(generator: &mut Noisy<u64, G>, cycles: &mut u64) -> u32 {
    // A clock that every run reads alike: the gate that the numbers themselves open would not repeat otherwise.
    generator.draw(&mut || {
        *cycles += 977;
        *cycles
    })
}

#[inline(never)]
fn lfsr113(generator: &mut Lfsr113) -> u32 {
    generator.draw()
}
