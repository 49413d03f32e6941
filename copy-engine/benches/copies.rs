//! Every routine and policy at the sizes the thread of 2009 argued about, hot and cold apart, since they answer opposite.
//!
//! Quick looks at one build. Comparisons with other libraries, with launches and intervals, are the laboratory's.

use copy_engine::{Engine, NextUse, PAGE, Page, Policy, Routine};
use divan::counter::BytesCount;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const SMALL: usize = 256;
const LARGE: usize = 1 << 20;

/// A destination too large for any cache, through which the cold benches walk.
const SINK: usize = 256 << 20;

/// The destination is rewritten at once, so it stays in the cache: the case that regressed.
#[divan::bench(args = Routine::ALL, consts = [SMALL, PAGE, LARGE])]
fn hot<const LEN: usize>(bencher: Bencher, routine: &Routine) {
    let Some(routine) = routine.on_this_cpu() else { return };
    let (src, mut dst) = (vec![1; LEN], vec![0; LEN]);
    bencher.counter(BytesCount::new(LEN)).bench_local(|| routine.copy(black_box(&mut dst), black_box(&src)));
}

/// The destination walks through the sink and is never read back: the case the stores are for.
#[divan::bench(args = Routine::ALL, consts = [SMALL, PAGE, LARGE])]
fn cold<const LEN: usize>(bencher: Bencher, routine: &Routine) {
    let Some(routine) = routine.on_this_cpu() else { return };
    let (src, mut sink) = (vec![1; LEN], vec![1; SINK]);
    let mut at = 0;
    bencher.counter(BytesCount::new(LEN)).bench_local(|| {
        at = (at + LEN) % SINK;
        routine.copy(black_box(&mut sink[at..][..LEN]), black_box(&src))
    });
}

/// The mail's procedure: 2000 blocks into a buffer that is used again.
#[divan::bench(args = Policy::ALL, consts = [SMALL, PAGE])]
fn two_thousand_blocks<const LEN: usize>(bencher: Bencher, policy: &Policy) {
    let engine = Engine::detect().with_policy(*policy);
    let (src, mut file) = (vec![1; LEN], vec![0; 2000 * LEN]);
    bencher.counter(BytesCount::new(2000 * LEN)).bench_local(|| {
        for block in file.chunks_exact_mut(LEN) {
            black_box(engine.copy(block, black_box(&src), NextUse::Unknown));
        }
    });
}

/// The same streamed, with one fence for all.
#[divan::bench(consts = [SMALL, PAGE])]
fn two_thousand_blocks_in_a_batch<const LEN: usize>(bencher: Bencher) {
    let engine = Engine::detect().with_policy(Policy::StreamAlways);
    let (src, mut file) = (vec![1; LEN], vec![0; 2000 * LEN]);
    bencher.counter(BytesCount::new(2000 * LEN)).bench_local(|| {
        engine.batch(|batch| {
            for block in file.chunks_exact_mut(LEN) {
                black_box(batch.copy(block, black_box(&src), NextUse::NotRead));
            }
        })
    });
}

/// A destination a few bytes past the source modulo 4096, where the microcode of some `rep movsb` collapses.
#[divan::bench(args = Routine::ALL, consts = [1, 33, 63])]
fn aliased<const PAST: usize>(bencher: Bencher, routine: &Routine) {
    let Some(routine) = routine.on_this_cpu() else { return };
    const LEN: usize = 16 * PAGE;
    let mut arena = vec![1; 4 * LEN];
    let start = arena.as_ptr().align_offset(PAGE);
    let (src, dst) = arena.split_at_mut(start + 2 * LEN);
    let (src, dst) = (&src[start..][..LEN], &mut dst[PAST..][..LEN]);
    bencher.counter(BytesCount::new(LEN)).bench_local(|| routine.copy(black_box(&mut *dst), black_box(src)));
}

/// The page door against the generic routine, the source at every alignment that matters to it.
#[divan::bench(args = [0, 1, 8, 32, 63], consts = [true, false])]
fn a_page<const DOOR: bool>(bencher: Bencher, src_at: usize) {
    let routine = if DOOR { Routine::MovntiPage } else { Routine::Movnti };
    let Some(routine) = routine.on_this_cpu() else { return };
    let (src, mut page) = (vec![1; PAGE + 64], Box::new(Page::ZERO));
    bencher
        .counter(BytesCount::new(PAGE))
        .bench_local(|| routine.copy(black_box(&mut *page).as_mut(), black_box(&src[src_at..][..PAGE])));
}

/// What the exception table costs when nothing faults.
#[cfg(all(feature = "fault", target_os = "linux"))]
mod survives {
    use copy_engine::fault::{FaultRoutine, Rest, Untrusted, install};

    use super::*;

    #[divan::bench(args = FaultRoutine::ALL, consts = [64, PAGE, 64 << 10])]
    fn without_a_fault<const LEN: usize>(bencher: Bencher, routine: &FaultRoutine) {
        let Ok(door) = install() else { return };
        let session = door.session().with_routine(*routine);
        let (src, mut dst) = (vec![1; LEN], vec![0; LEN]);
        bencher.counter(BytesCount::new(LEN)).bench_local(|| {
            session.read(black_box(&mut dst), Untrusted::from(black_box(&src[..])), Rest::Zero)
        });
    }
}
