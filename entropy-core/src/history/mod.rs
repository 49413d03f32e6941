//! The kernel's generators for numbers that need not be secret, and the noise that was added to one of them.
//!
//! Until Linux 5.8 `prandom_u32` was LFSR113, whose state can be solved for from a few outputs. In August 2020 it was
//! replaced by two rounds of SipHash for a draw, and the mail is about what to add to that: a reading of the clock at
//! every draw costs too much, at every eighth it costs nothing that can be seen. *When* it is read is a [`Gate`].
//!
//! | file | holds |
//! | --- | --- |
//! | `lfsr113` | the generator up to 5.8, which the kernel still uses for `prandom_u32_state` |
//! | `siprand` | the generator of 5.10 to 5.18, in both widths |
//! | `noise` | the gates of the mail, each a type |
//! | `gate` | the gates by name |
//! | `counter` | the counter in a gate, signed or unsigned |
//!
//! **Nothing here is for secrets.** No type of this module is a `CryptoRng`:
//!
#![cfg_attr(
    feature = "rand_core",
    doc = "
```
use entropy_core::history::Lfsr113;
use rand_core::Rng;

fn draw(mut any: impl Rng) -> u32 {
    any.next_u32()
}
assert_eq!(draw(Lfsr113::from_seed(1)), 276_959_246);
```

```compile_fail,E0277
use entropy_core::history::Lfsr113;
use rand_core::CryptoRng;

fn make_key(mut any: impl CryptoRng) -> u32 {
    any.next_u32()
}
make_key(Lfsr113::from_seed(1));
```

```compile_fail,E0277
use entropy_core::history::Siprand;
use rand_core::CryptoRng;

fn make_key(mut any: impl CryptoRng) -> u32 {
    any.next_u32()
}
make_key(Siprand::<u64>::reseeded([1, 2], [0; 2]));
```
"
)]

mod counter;
mod gate;
mod lfsr113;
mod noise;
#[cfg(feature = "rand_core")]
mod rand_core;
mod siprand;

pub use counter::Counter;
pub use gate::{Gate, GateUser};
pub use lfsr113::Lfsr113;
pub use noise::{Buffered, CountDown, CountUp, EveryDraw, NoNoise, NoiseGate, Noisy, Statistical, Upstream};
pub use siprand::Siprand;

/// Fills `out` with whole draws, little end first, and the low bytes of one more (`prandom_bytes`).
fn fill_bytes(out: &mut [u8], mut draw: impl FnMut() -> u32) {
    for bytes in out.chunks_mut(4) {
        bytes.copy_from_slice(&draw().to_le_bytes()[..bytes.len()]);
    }
}
