//! When each gate reads the clock, from a good start and from garbage, and what it makes of the stream.
#![cfg(not(loom))]

use entropy_core::{
    history::{Buffered, CountDown, CountUp, Gate, GateUser, NoiseGate, Noisy, Siprand},
    siphash::Word,
};
use proptest::prelude::*;

fn plain() -> Siprand<u64> {
    Siprand::reseeded([0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210], [0; 2])
}

/// Draws, counted from 1, at which the clock is read.
fn firing<G: NoiseGate<u64>>(gate: G, draws: u32) -> Vec<u32> {
    let mut generator = Noisy::new(plain(), gate);
    let mut fired = Vec::new();
    for draw in 1..=draws {
        let mut read = false;
        generator.draw(&mut || {
            read = true;
            7
        });
        if read {
            fired.push(draw);
        }
    }
    fired
}

#[test]
fn counting_up_fires_every_eighth_draw() {
    assert_eq!(firing(CountUp::<u64, u64>::default(), 40), [8, 16, 24, 32, 40]);
    assert_eq!(firing(CountUp::<u64, i32>::default(), 40), [8, 16, 24, 32, 40]);
}

/// The answer to the mail is off by one: it saves a ninth of the readings, and some of the time it saves is that.
#[test]
fn counting_down_as_suggested_fires_every_ninth_draw() {
    assert_eq!(firing(CountDown::<u64, i32, 8>::default(), 40), [1, 10, 19, 28, 37]);
}

#[test]
fn counting_down_mended_fires_every_eighth_draw() {
    assert_eq!(firing(CountDown::<u64, i32, 7>::default(), 40), [1, 9, 17, 25, 33]);
}

/// The state may start with anything. Each row: the count, and whether each gate reads the clock within 1000 draws.
#[test]
fn a_garbage_count_stops_the_unsigned_countdown_and_not_the_signed_one() {
    const GARBAGE: u64 = 0xdead_beef_f00d_cafe;
    let fires = |fired: Vec<u32>| fired.first().copied();
    let noise = 0;
    // Up: an unsigned garbage is past the limit; a signed one below zero has two thousand million draws to go.
    assert_eq!(fires(firing(CountUp { noise, count: GARBAGE }, 1000)), Some(1));
    assert_eq!(fires(firing(CountUp { noise, count: GARBAGE as i32 }, 1000)), None);
    // Down: an unsigned garbage would take longer than the machine lasts; a signed one below zero is through.
    assert_eq!(fires(firing(CountDown::<_, _, 8> { noise, count: GARBAGE }, 1000)), None);
    assert_eq!(fires(firing(CountDown::<_, _, 8> { noise, count: GARBAGE as i32 }, 1000)), Some(1));
    // But a signed garbage is above zero as often as not, and then no better for up to 2^31 draws.
    assert_eq!(fires(firing(CountDown::<_, _, 8> { noise, count: i32::MAX }, 1000)), None);
    assert_eq!(fires(firing(CountUp { noise, count: i32::MAX - 1 }, 1000)), Some(1));
}

/// At the ends of the range the arithmetic of the kernel wraps, and nothing panics.
#[test]
fn counts_wrap_at_the_ends_of_their_range() {
    let noise = 0;
    assert_eq!(firing(CountUp { noise, count: u64::MAX }, 9), [8 + 1]);
    assert_eq!(firing(CountUp { noise, count: i32::MAX }, 9), [0; 0]);
    assert_eq!(firing(CountDown::<_, _, 8> { noise, count: i32::MIN }, 11), [1, 10]);
    assert_eq!(firing(CountDown::<_, _, 8> { noise, count: 0_u64 }, 11), [1, 10]);
}

struct Readings(u64);

impl GateUser<u64> for Readings {
    type Output = u64;

    fn with<G: NoiseGate<u64> + Clone + Default + Send + Sync + 'static>(self, gate: G) -> u64 {
        let (mut generator, mut readings) = (Noisy::new(plain(), gate), 0);
        for _ in 0..self.0 {
            generator.draw(&mut || {
                readings += 1;
                977 * readings
            });
        }
        readings
    }
}

#[test]
fn every_gate_does_the_readings_that_it_says() {
    for gate in Gate::ALL {
        for draws in [0, 1, 7, 8, 9, 10, 71, 72, 73] {
            let readings = gate.visit(Readings(draws));
            assert_eq!(readings, gate.readings(draws).unwrap_or(readings), "{gate} {draws}");
        }
    }
    // One in eight on average: 10000 of 80000, with a standard deviation of 94.
    let readings = Gate::Statistical.visit(Readings(80_000));
    assert!((9_500..10_500).contains(&readings), "{readings}");
}

#[test]
fn gates_are_found_by_name() {
    for gate in Gate::ALL {
        assert_eq!(gate.to_string().parse(), Ok(*gate));
    }
    assert_eq!("count-down-mended".parse(), Ok(Gate::CountDownMended));
}

/// Two rounds with constants written out, for the word width that has no vector of the buffered form.
fn naive_draw(v: &mut [u64; 4]) -> u32 {
    for _ in 0..2 {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32).wrapping_add(v[3]);
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
    v[1].wrapping_add(v[3]) as u32
}

proptest! {
    /// Eight readings: the even ones into the low halves of the four words, the odd ones into the high halves.
    #[test]
    fn buffered_readings_land_at_32_bit_offsets(readings in proptest::collection::vec(any::<u64>(), 24)) {
        let mut generator = Noisy::new(plain(), Buffered::default());
        let mut naive = plain().state();
        let mut script = readings.iter().copied();
        for (draw, _) in readings.iter().enumerate() {
            if draw % 8 == 7 {
                for (word, pair) in naive.iter_mut().zip(readings[draw - 7..=draw].chunks(2)) {
                    let low = pair[0] & 0xffff_ffff;
                    let high = pair[1] << 32;
                    *word = word.wrapping_add(low).wrapping_add(high);
                }
            }
            let drawn = generator.draw(&mut || script.next().unwrap());
            prop_assert_eq!(drawn, naive_draw(&mut naive));
            prop_assert_eq!(generator.state(), naive);
        }
    }
}

#[test]
fn a_narrow_state_has_four_places_and_uses_each_twice() {
    let start = Siprand::<u32>::reseeded([1, 2], [3, 4]);
    let mut generator = Noisy::new(start.clone(), Buffered::default());
    let mut plain = start;
    for draw in 1..8_u64 {
        assert_eq!(generator.draw(&mut || draw), plain.draw());
    }
    let mut expected = plain.state();
    for (place, word) in expected.iter_mut().enumerate() {
        // Readings 1 to 8: the first and the fifth, the second and the sixth, and so on.
        *word = word.wrapping_add(2 * place as u32 + 6);
    }
    generator.draw(&mut || 8);
    for _ in 0..2 {
        entropy_core::siphash::round(&mut expected);
    }
    assert_eq!(generator.state(), expected);
    assert_eq!(u32::BYTES, 4);
}
