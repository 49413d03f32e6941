//! Requests for nothing and for many mebibytes, of every generator.
#![cfg(not(loom))]

use entropy_core::{
    crng::{Crng, Readiness},
    fast::ErasingRng,
    history::{Lfsr113, Siprand},
    pool::{Driver, MixPlan, Release},
};

/// An odd length past several mebibytes; Miri is slow, and a few kilobytes pass the same places.
const MUCH: usize = if cfg!(miri) { (5 << 10) + 3 } else { (5 << 20) + 3 };

/// Every piece of 32 bytes is new and none is zeros: chance is out of the question. A rest is at least not left out.
fn is_random(out: &[u8]) {
    let mut pieces: Vec<&[u8]> = out.chunks_exact(32).collect();
    assert!(pieces.iter().all(|piece| piece.iter().any(|&byte| byte != 0)));
    let all = pieces.len();
    pieces.sort_unstable();
    pieces.dedup();
    assert_eq!(pieces.len(), all, "a piece came twice");
    let end = &out[out.len().saturating_sub(35)..];
    assert!(end.iter().any(|&byte| byte != 0), "the end was not filled");
}

/// `fill` of a generator that starts anew at each call of `make`: nothing is asked for without a trace, and much is
/// filled to its end.
fn any_length<G>(make: impl Fn() -> G, fill: impl Fn(&mut G, &mut [u8])) {
    let (mut asked, mut not_asked) = (make(), make());
    fill(&mut asked, &mut []);
    let draw = |generator: &mut G| {
        let mut out = [0; 48];
        fill(generator, &mut out);
        out
    };
    assert_eq!(draw(&mut asked), draw(&mut not_asked), "a request for nothing changed what came after it");

    let mut much = vec![0; MUCH];
    fill(&mut asked, &mut much);
    is_random(&much);
}

#[test]
fn the_generator_with_key_erasure() {
    any_length(|| ErasingRng::new(&[7; 32]), ErasingRng::fill);
}

#[test]
fn the_kernels_generators_of_today() {
    let make = || {
        let mut crng = Crng::new(2);
        crng.mix(b"what happened, and when");
        crng.credit(256, 0, &mut || 5);
        assert_eq!(crng.readiness(), Readiness::Ready);
        crng
    };
    any_length(make, |crng, out| crng.bytes(1, &mut || 5, out));
    any_length(make, |crng, out| crng.bytes_for_user(1, &mut || 5, out));
}

#[test]
fn the_driver_of_2004() {
    for release in [Release::V2_6_4, Release::V2_6_10] {
        let make = || {
            let driver = Driver::new(release, MixPlan::AS_POSTED);
            driver.write(b"what happened, and when");
            driver
        };
        let read = |driver: &mut Driver, out: &mut [u8]| {
            let wanted = out.len();
            assert_eq!(driver.read_urandom(out).bytes, wanted);
        };
        any_length(make, read);
    }
}

#[test]
fn the_fast_generators_of_2020() {
    any_length(|| Lfsr113::seeded(7), Lfsr113::fill_bytes);
    any_length(|| Siprand::<u64>::init_early([3, 5], 1).remove(0), Siprand::fill_bytes);
    any_length(|| Siprand::<u32>::init_early([3, 5], 1).remove(0), Siprand::fill_bytes);
}

#[cfg(all(feature = "std", target_os = "linux"))]
#[test]
fn the_generators_that_the_kernel_seeds() {
    use entropy_core::{
        fast::{FastRng, ThreadRng},
        system::SystemRng,
    };

    let mut much = vec![0; MUCH];
    let mut strict = FastRng::builder().strict().build().unwrap();
    let mut usual = FastRng::new().unwrap();
    for fill in [
        &mut (|out: &mut [u8]| SystemRng.fill(out).unwrap()) as &mut dyn FnMut(&mut [u8]),
        &mut |out| SystemRng.fill_by_call(out).unwrap(),
        &mut |out| ThreadRng.fill(out),
        &mut |out| usual.fill(out),
        &mut |out| strict.fill(out),
    ] {
        fill(&mut []);
        much.fill(0);
        fill(&mut much);
        is_random(&much);
    }
}
