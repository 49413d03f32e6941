//! Every routine gives the oracle's bytes at every size and alignment, and touches nothing else.
//!
//! The full product of sizes and alignments runs when `COPY_ENGINE_FULL` is set in the environment.

mod guarded;

use std::hint::black_box;
use std::mem::MaybeUninit;

use copy_engine::{Available, Engine, PAGE, Policy, Routine};
use guarded::{Guarded, pattern};
use proptest::prelude::*;

/// Surrounds the destination; any change to it is an overrun.
const CANARY: u8 = 0xa5;
const LINE: usize = 64;
const LARGEST: usize = 2 * PAGE;

/// Lengths at which some routine changes what it does; each is tried with two to either side.
const BOUNDARIES: &[usize] = &[2, 8, 16, 32, 64, 128, 192, 256, 320, 512, 1024, 2048, PAGE, LARGEST];

/// One test per routine, so that a failure names its culprit. Leaving a routine out fails `every_routine_is_tested`.
macro_rules! routines {
    ($($test:ident => $Routine:ident),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                match Routine::$Routine.on_this_cpu() {
                    Some(routine) => check(routine),
                    None => eprintln!("skipped: this processor or build cannot run {}", Routine::$Routine),
                }
            }
        )+

        #[test]
        fn every_routine_is_tested() {
            assert_eq!(Routine::ALL, &[$(Routine::$Routine),+]);
        }
    };
}

routines!(
    portable => Portable,
    memcpy => Memcpy,
    rep_movsb => RepMovsb,
    sse2 => Sse2,
    avx2 => Avx2,
    avx512 => Avx512,
    ahead_sse2 => AheadSse2,
    ahead_avx2 => AheadAvx2,
    ahead_avx512 => AheadAvx512,
    movnti => Movnti,
    movnti_page => MovntiPage,
    stream_sse2 => StreamSse2,
    stream_avx2 => StreamAvx2,
    stream_avx2_prefetch => StreamAvx2Prefetch,
    stream_avx2_pages => StreamAvx2Pages,
    stream_avx512 => StreamAvx512,
    stream_avx512_pages => StreamAvx512Pages,
);

fn check(routine: Available) {
    alignments(routine);
    at_the_guard_pages(routine);
    overlapping(routine);
    let cases = if cfg!(miri) { 4 } else { 256 };
    proptest!(ProptestConfig::with_cases(cases), |(
        len in 0..5 * PAGE,
        dst_at in 0..2 * LINE,
        src_at in 0..2 * LINE,
        src in any::<u64>().prop_map(|seed| pattern_of(seed, 6 * PAGE)),
    )| {
        let src = &src[src_at..][..len];
        let mut got = vec![CANARY; len + 4 * LINE];
        let mut expected = got.clone();
        let receipt = routine.copy(&mut got[dst_at..][..len], src);
        oracle(&mut expected[dst_at..][..len], src);
        prop_assert!(got == expected, "{receipt:?}: wrong bytes for {len}, dst +{dst_at}, src +{src_at}");
        prop_assert_eq!(receipt.bytes(), len);
    });
}

/// Sizes by alignments of either side, inside one pair of buffers that are put right after each copy.
fn alignments(routine: Available) {
    let full = std::env::var_os("COPY_ENGINE_FULL").is_some();
    let every = |step: usize| (0..LINE).step_by(step);
    let mut bench = Bench::new();
    let small = if cfg!(miri) { 80 } else { 512 };
    for len in 0..=small {
        for dst_at in every(1) {
            // Without the full product the source's alignment walks with the others, so that each meets each in time.
            let sources = if full {
                0..LINE
            } else {
                let at = (len * 7 + dst_at * 5) % LINE;
                at..at + 1
            };
            for src_at in sources {
                bench.copy(routine, len, dst_at, src_at);
            }
        }
    }
    if cfg!(miri) {
        return;
    }
    for len in (small + 1)..=LARGEST {
        if full {
            every(8).for_each(|dst_at| every(8).for_each(|src_at| bench.copy(routine, len, dst_at, src_at)));
        } else {
            bench.copy(routine, len, len * 5 % LINE, len * 11 % LINE);
        }
    }
    for len in BOUNDARIES.iter().flat_map(|&at| at - 2..=at + 2) {
        for dst_at in every(if full { 1 } else { 3 }) {
            every(if full { 1 } else { 7 }).for_each(|src_at| bench.copy(routine, len, dst_at, src_at));
        }
    }
}

/// A source that never changes and a destination full of canaries.
struct Bench {
    src: Vec<Aligned>,
    dst: Vec<Aligned>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Aligned(#[allow(dead_code, reason = "read as bytes")] [u8; LINE]);

impl Bench {
    fn new() -> Self {
        let lines = LARGEST / LINE + 4;
        let src = pattern(lines * LINE);
        let src = src.chunks_exact(LINE).map(|line| Aligned(line.try_into().unwrap())).collect();
        Self { src, dst: vec![Aligned([CANARY; LINE]); lines] }
    }

    fn copy(&mut self, routine: Available, len: usize, dst_at: usize, src_at: usize) {
        let src = &self.src.as_slice().bytes()[src_at..][..len];
        let dst = self.dst.as_mut_slice().bytes_mut();
        let receipt = routine.copy(&mut dst[dst_at + LINE..][..len], src);
        let end = dst_at + LINE + len;
        let untouched = |bytes: &[u8]| bytes.iter().all(|&byte| byte == CANARY);
        assert!(
            dst[dst_at + LINE..end] == *src
                && untouched(&dst[..dst_at + LINE])
                && untouched(&dst[end..(end + LINE).min(dst.len())]),
            "{receipt:?}: wrong bytes for {len}, dst +{dst_at}, src +{src_at}",
        );
        assert_eq!(receipt.bytes(), len);
        // Those of 2009 fence even if every byte was of the head or the tail.
        let of_2009 = matches!(routine.routine(), Routine::Movnti | Routine::MovntiPage);
        assert_eq!(receipt.fences, u32::from(receipt.streamed > 0 || of_2009));
        dst[dst_at + LINE..end].fill(CANARY);
    }
}

trait Bytes {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl Bytes for [Aligned] {
    #[allow(unsafe_code, reason = "a line is its bytes")]
    fn bytes(&self) -> &[u8] {
        // SAFETY: an array of 64 bytes aligned to 64 has no padding.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), size_of_val(self)) }
    }

    #[allow(unsafe_code, reason = "a line is its bytes")]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and any bytes make a line.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), size_of_val(self)) }
    }
}

/// Both ranges flush with a forbidden page, at their ends or at their starts: one byte too far ends the test.
fn at_the_guard_pages(routine: Available) {
    let (mut src, mut dst) = (Guarded::new(LARGEST + PAGE), Guarded::new(LARGEST + PAGE));
    let (src, dst) = (src.bytes_mut(), dst.bytes_mut());
    src.copy_from_slice(&pattern(src.len()));
    for len in (0..=LARGEST).step_by(if cfg!(miri) { 61 } else { 1 }) {
        for (src_at_end, dst_at_end) in [(true, true), (true, false), (false, true), (false, false)] {
            let place = |at_end: bool, room: usize| if at_end { room - len..room } else { 0..len };
            let src = &src[place(src_at_end, src.len())];
            let dst = &mut dst[place(dst_at_end, LARGEST + PAGE)];
            let receipt = routine.copy(dst, src);
            assert!(dst == src, "{receipt:?}: wrong bytes for {len} at a guard page");
        }
    }
}

/// Any overlap is moved as `memmove` moves it, by every routine.
fn overlapping(routine: Available) {
    const ROOM: usize = 700;
    let original = pattern(ROOM);
    for len in [1, 7, 8, 9, 31, 64, 65, 200, 256, 257, 300, 511] {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (0, 8), (8, 0), (3, 64), (64, 3), (0, 100), (100, 0)] {
            let mut got = original.clone();
            let mut expected = original.clone();
            let receipt = routine.copy_within(&mut got, from..from + len, to);
            expected.copy_within(from..from + len, to);
            assert!(got == expected, "{receipt:?}: {len} bytes from {from} to {to}");
        }
    }
}

/// Zero bytes touch nothing, wherever the pointers point; more than an object can have are refused untouched.
#[test]
#[allow(unsafe_code, reason = "raw pointers are the subject")]
fn lengths_that_no_object_has_are_defined() {
    for routine in Routine::ALL.iter().filter_map(|routine| routine.on_this_cpu()) {
        for pointer in
            [std::ptr::null_mut(), std::ptr::dangling_mut(), std::ptr::without_provenance_mut(usize::MAX)]
        {
            // SAFETY: no byte is read or written.
            let receipt = unsafe { routine.copy_raw(pointer, pointer, 0) };
            assert_eq!(receipt.bytes(), 0, "{receipt:?}");
        }
        for len in [isize::MAX as usize + 1, usize::MAX - 4095, usize::MAX] {
            let refused = std::panic::catch_unwind(|| {
                // SAFETY: refused before any byte is touched, which is what is tested.
                unsafe { routine.copy_raw(std::ptr::dangling_mut(), std::ptr::null(), len) }
            });
            assert!(refused.is_err(), "{} took {len} bytes", routine.routine());
        }
        let _ = routine.copy(&mut [], &[]);
    }
}

#[test]
#[should_panic(expected = "copy of 3 bytes into a destination of 4")]
fn different_lengths_are_refused() {
    let _ = Available::PORTABLE.copy(&mut [0; 4], &[0; 3]);
}

#[test]
fn uninitialised_memory_comes_back_initialised() {
    let src = pattern(3 * PAGE + 5);
    for routine in Routine::ALL.iter().filter_map(|routine| routine.on_this_cpu()) {
        let mut room = vec![MaybeUninit::uninit(); src.len()];
        let (written, receipt) = routine.copy_uninit(&mut room, &src);
        assert!(*written == *src, "{receipt:?}");
    }
}

/// Bytes that are not initialised pass through the raw door, as padding must.
#[test]
#[allow(unsafe_code, reason = "raw pointers are the subject")]
fn padding_passes_through() {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Padded(u8, u32);
    let src = [Padded(1, 2); 64];
    for routine in Routine::ALL.iter().filter_map(|routine| routine.on_this_cpu()) {
        let mut dst = [Padded(0, 0); 64];
        // SAFETY: two arrays of one type, neither overlapping the other.
        let _ = unsafe { routine.copy_raw(dst.as_mut_ptr().cast(), src.as_ptr().cast(), size_of_val(&src)) };
        assert!(dst.iter().all(|padded| (padded.0, padded.1) == (1, 2)), "{}", routine.routine());
    }
}

/// Every policy, too, gives the oracle's bytes.
#[test]
fn every_policy_copies() {
    let src = pattern(3 * PAGE);
    for &policy in Policy::ALL {
        let engine = Engine::detect().with_policy(policy);
        for len in [0, 1, 255, 256, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE] {
            let mut got = vec![CANARY; len];
            let receipt = engine.copy(&mut got, &src[..len], copy_engine::NextUse::Unknown);
            assert!(*got == src[..len], "{policy}: {receipt:?}");
        }
    }
}

/// Plainly correct. The `black_box` keeps the compiler from turning it into the `memcpy` it should judge.
fn oracle(dst: &mut [u8], src: &[u8]) {
    dst.iter_mut().zip(src).for_each(|(to, from)| *to = black_box(*from));
}

fn pattern_of(seed: u64, len: usize) -> Vec<u8> {
    pattern(len).into_iter().enumerate().map(|(at, byte)| byte ^ (seed >> (at % 57)) as u8).collect()
}
