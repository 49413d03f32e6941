//! The neighbourhood witness: how long a cache line takes from one CPU to another.
//!
//! A guest's CPUs are where its host puts them. Two of them may be threads of one core in one launch, where a
//! contended line costs next to nothing, and sit in different cores in the next; what tasks do to each other then
//! differs by several times. Nothing in the guest tells, so it is measured.

use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::clock;
use crate::sys::affinity;

/// Times that the line goes there and back in a timed run.
const ROUNDS: u32 = 500;

/// Timed runs, of which the best counts: an interrupt only makes one longer.
const RUNS: u32 = 3;

/// Spins for one turn before the other side is given up, some hundreds of milliseconds: it may not be scheduled at
/// all.
const PATIENCE: u32 = 1 << 23;

/// Ticks that a line takes one way between two CPUs; none where both cannot be had at once.
///
/// The calling thread may run on `one` alone afterwards.
pub(super) fn read(one: usize, other: usize) -> Option<f64> {
    affinity::pin(one).ok()?;
    let line = AtomicU32::new(0);
    let turns = 2 * ROUNDS * RUNS;
    thread::scope(|scope| {
        // This side answers odd numbers, the other side even ones.
        scope.spawn(|| {
            if affinity::pin(other).is_ok() {
                (0..turns).step_by(2).all(|turn| answer(&line, turn));
            }
        });
        let mut best = None;
        for run in 0..RUNS {
            let begin = clock::now().ticks;
            let first = 2 * ROUNDS * run;
            if !(first..first + 2 * ROUNDS).skip(1).step_by(2).all(|turn| answer(&line, turn)) {
                return None;
            }
            let ticks = clock::now().ticks.saturating_sub(begin);
            best = Some(best.map_or(ticks, |best: u64| best.min(ticks)));
        }
        best.map(|ticks| ticks as f64 / f64::from(2 * ROUNDS))
    })
}

/// Waits for `turn` and makes it the next; false if it does not come.
fn answer(line: &AtomicU32, turn: u32) -> bool {
    for _ in 0..PATIENCE {
        if line.load(Ordering::Acquire) == turn {
            line.store(turn + 1, Ordering::Release);
            return true;
        }
        hint::spin_loop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_between_two_cpus_and_takes_some_time() {
        thread::spawn(|| {
            let cpus = affinity::allowed().unwrap();
            let [one, other, ..] = cpus[..] else {
                println!("skipped: there is one CPU");
                return;
            };
            let ticks = read(one, other).unwrap();
            assert!(ticks.is_finite() && ticks > 0.0);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_gives_no_time() {
        thread::spawn(|| assert_eq!(read(usize::MAX, 0), None)).join().unwrap();
    }
}
