//! The endless output of one generator, for a battery of statistical tests.
//!
//! Without arguments it lists the generators. `stream GENERATOR` writes until the pipe is closed, the same bytes every
//! time: seeds are fixed, and so is the clock that the noise comes from.

use std::{
    error::Error,
    io::{self, Write},
};

use entropy_core::{
    crng::Crng,
    history::{Gate, GateUser, Lfsr113, NoiseGate, Noisy, Siprand},
    pool::{ExtractForm, MixPlan, Pool, PoolSize},
};

const LFSR: &str = "lfsr113";
const SIPRAND: &str = "siprand-";
/// Gates whose streams differ: the type of a counter changes no draw here, and upstream's noise is left by nobody.
const DISTINCT: [Gate; 7] = [
    Gate::None,
    Gate::EveryDraw,
    Gate::CountUp,
    Gate::CountDown,
    Gate::CountDownMended,
    Gate::Statistical,
    Gate::Buffered,
];
const POOL: &str = "pool-2004";
const CRNG: &str = "crng";

fn main() -> Result<(), Box<dyn Error>> {
    let Some(name) = std::env::args().nth(1) else {
        println!("{LFSR}");
        DISTINCT.iter().for_each(|gate| println!("{SIPRAND}{gate}"));
        println!("{POOL}\n{CRNG}");
        return Ok(());
    };
    let written = if name == LFSR {
        let mut generator = Lfsr113::from_seed(1);
        pour(|out| generator.fill_bytes(out))
    } else if let Some(gate) = name.strip_prefix(SIPRAND) {
        gate.parse::<Gate>().map_err(|_| format!("no gate is called {gate}"))?.visit(Draws)
    } else if name == POOL {
        let pool = Pool::new(PoolSize::PRIMARY, MixPlan::AS_IT_WAS);
        pool.mix(&[0x9e37_79b9; 128]);
        pour(|out| pool.extract(ExtractForm::FinalHash, out))
    } else if name == CRNG {
        let mut crng = Crng::new(1);
        crng.mix(b"a seed for statistics");
        crng.credit(256, 0, &mut || 1);
        pour(|out| crng.bytes(0, &mut || 1, out))
    } else {
        return Err(format!("no generator is called {name}; without arguments they are listed").into());
    };
    match written {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes what `fill` makes until nobody reads.
fn pour(mut fill: impl FnMut(&mut [u8])) -> io::Result<()> {
    let (mut out, mut block) = (io::stdout().lock(), vec![0; 64 << 10]);
    loop {
        fill(&mut block);
        out.write_all(&block)?;
    }
}

struct Draws;

impl GateUser<u64> for Draws {
    type Output = io::Result<()>;

    fn with<G: NoiseGate<u64> + Clone + Default + Send + Sync + 'static>(self, gate: G) -> Self::Output {
        let mut generator = Noisy::new(Siprand::reseeded([1, 2], [0; 2]), gate);
        let mut cycles = 0;
        pour(|out| {
            for bytes in out.as_chunks_mut::<4>().0 {
                let draw = generator.draw(&mut || {
                    cycles += 977;
                    cycles
                });
                *bytes = draw.to_le_bytes();
            }
        })
    }
}
