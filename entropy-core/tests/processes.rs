//! Children, threads, signals and sandboxes: nothing is drawn twice, and what fails fails as it says.
#![cfg(all(feature = "std", target_os = "linux", not(any(loom, miri))))]

mod child;

use std::{
    collections::BTreeSet,
    ffi::c_int,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering},
    },
    thread,
};

use child::{BIRTHS, Birth, End, Verdict, sandbox};
use entropy_core::{
    fast::{FastRng, NewError, ThreadRng},
    system::{Error, Route, SystemRng},
    vdso::{Errno, Function, State},
};

const DRAW: usize = 32;
type Draw = [u8; DRAW];

fn draw(rng: &mut FastRng) -> Draw {
    let mut bytes = [0; DRAW];
    rng.fill(&mut bytes);
    bytes
}

fn draw_by_thread() -> Draw {
    let mut bytes = [0; DRAW];
    ThreadRng.fill(&mut bytes);
    bytes
}

fn two<const N: usize>(draws: [Draw; N]) -> [u8; 64] {
    draws.as_flattened().try_into().expect("two draws")
}

/// Every draw of everybody, each of which has to be new.
#[derive(Default)]
struct Seen(BTreeSet<Vec<u8>>);

impl Seen {
    #[track_caller]
    fn add(&mut self, bytes: &[u8]) {
        assert!(bytes.len().is_multiple_of(DRAW) && !bytes.is_empty());
        for draw in bytes.chunks(DRAW) {
            assert!(draw.iter().any(|&byte| byte != 0), "zeros were drawn");
            assert!(self.0.insert(draw.to_vec()), "a draw was seen before");
        }
    }
}

#[test]
fn children_with_a_half_used_stock_go_their_own_way() {
    SystemRng.prepare();
    for birth in BIRTHS {
        for used in [0, 1, 3, 15, 30] {
            let mut seen = Seen::default();
            let mut rng = FastRng::new().unwrap();
            (0..used).for_each(|_| seen.add(&draw(&mut rng)));
            for _ in 0..3 {
                let end = child::run(birth, || two([draw(&mut rng), draw(&mut rng)]));
                seen.add(&end.bytes());
            }
            // The parent goes on with what it had.
            (0..40).for_each(|_| seen.add(&draw(&mut rng)));
        }
    }
}

#[test]
fn small_draws_notice_a_fork_too() {
    SystemRng.prepare();
    for birth in BIRTHS {
        let mut rng = FastRng::new().unwrap();
        rng.next_u32();
        let theirs = child::run(birth, || rng.next_u64().to_le_bytes()).bytes();
        assert_ne!(theirs, rng.next_u64().to_le_bytes());
        let theirs = child::run(birth, || rng.next_u32().to_le_bytes()).bytes();
        // Chance once in 2^32.
        assert_ne!(theirs, rng.next_u32().to_le_bytes());
    }
}

#[test]
fn a_seed_just_before_the_fork_does_not_hide_it() {
    SystemRng.prepare();
    for birth in BIRTHS {
        let mut seen = Seen::default();
        let mut rng = FastRng::new().unwrap();
        rng.reseed().unwrap();
        seen.add(&child::run(birth, || draw(&mut rng)).bytes());
        // And one just after it, by the child itself.
        let theirs = child::run(birth, || {
            rng.reseed().unwrap();
            draw(&mut rng)
        });
        seen.add(&theirs.bytes());
        seen.add(&draw(&mut rng));
    }
}

#[test]
fn grandchildren_are_not_their_parents() {
    SystemRng.prepare();
    for birth in BIRTHS {
        let mut seen = Seen::default();
        let mut rng = FastRng::new().unwrap();
        let end = child::run(Birth::Fork, || {
            let own = draw(&mut rng);
            let theirs: Draw = child::run(birth, || draw(&mut rng)).bytes().try_into().expect("a draw");
            two([own, theirs])
        });
        seen.add(&end.bytes());
        seen.add(&draw(&mut rng));
    }
}

#[test]
fn every_generator_survives_every_birth() {
    SystemRng.prepare();
    ThreadRng.prepare().unwrap();
    for birth in BIRTHS {
        let mut seen = Seen::default();
        let mut strict = FastRng::builder().strict().build().unwrap();
        seen.add(&draw(&mut strict));
        seen.add(&child::run(birth, || draw(&mut strict)).bytes());
        seen.add(&draw(&mut strict));
        seen.add(&draw_by_thread());
        seen.add(&child::run(birth, draw_by_thread).bytes());
        seen.add(&draw_by_thread());
        seen.add(&SystemRng.array::<DRAW>().unwrap());
        seen.add(&child::run(birth, || SystemRng.array::<DRAW>().unwrap()).bytes());
        seen.add(&SystemRng.array::<DRAW>().unwrap());
    }
}

/// The forking thread's state is one of many, and the others are in the middle of draws.
#[test]
fn a_parent_with_busy_threads_has_children_of_their_own() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut draws = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let draw = draw_by_thread();
                        if draws.len() < 1000 {
                            draws.push(draw);
                        }
                    }
                    draws
                })
            })
            .collect();
        SystemRng.prepare();
        ThreadRng.prepare().unwrap();
        let mut seen = Seen::default();
        for birth in BIRTHS {
            for _ in 0..20 {
                seen.add(&child::run(birth, || two([draw_by_thread(), SystemRng.array().unwrap()])).bytes());
                seen.add(&draw_by_thread());
            }
        }
        stop.store(true, Ordering::Relaxed);
        busy.into_iter().for_each(|thread| seen.add(thread.join().unwrap().as_flattened()));
    });
}

#[test]
fn a_thousand_short_threads_have_seeds_of_their_own() {
    let mut seen = Seen::default();
    for _ in 0..50 {
        let together = Barrier::new(20);
        let draw = || {
            together.wait();
            two([draw_by_thread(), SystemRng.array().unwrap()])
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..20).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().for_each(|thread| seen.add(&thread.join().unwrap()));
        });
    }
}

/// A draw in a destructor that runs when the thread's handles are gone.
#[test]
fn a_destructor_may_draw() {
    struct Last;
    impl Drop for Last {
        fn drop(&mut self) {
            DRAWN.fetch_add(u32::from(draw_by_thread() != [0; DRAW]), Ordering::Relaxed);
            DRAWN.fetch_add(u32::from(SystemRng.array() != Ok([0; DRAW])), Ordering::Relaxed);
        }
    }
    thread_local! {
        static LAST: Last = const { Last };
    }
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    for touch_first in [true, false] {
        let work = move || {
            if touch_first {
                LAST.with(|_| ());
            }
            draw_by_thread();
            SystemRng.prepare();
            LAST.with(|_| ());
        };
        thread::spawn(work).join().unwrap();
    }
    assert_eq!(DRAWN.load(Ordering::Relaxed), 4);
}

/// What a signal handler draws while its thread does; counted, so that the test is known to have happened.
static HANDLED: AtomicU32 = AtomicU32::new(0);
static WRONG: AtomicU32 = AtomicU32::new(0);

extern "C" fn draws_in_a_handler(_: c_int) {
    let (one, other) = (draw_by_thread(), SystemRng.array().unwrap());
    HANDLED.fetch_add(1, Ordering::Relaxed);
    WRONG.fetch_add(u32::from(one == [0; DRAW] || other == [0; DRAW] || one == other), Ordering::Relaxed);
}

#[test]
fn a_signal_handler_may_draw_in_the_middle_of_a_draw() {
    let end = child::run(Birth::Fork, || {
        ThreadRng.prepare().unwrap();
        SystemRng.prepare();
        child::on_alarm(draws_in_a_handler);
        child::alarm_every(50);
        let mut seen = Seen::default();
        let mut long = vec![0; 8 * DRAW];
        for _ in 0..200_000 {
            ThreadRng.fill(&mut long);
            SystemRng.fill(&mut long[..DRAW]).unwrap();
            if seen.0.len() < 10_000 {
                seen.add(&long);
            }
            if HANDLED.load(Ordering::Relaxed) >= 500 {
                break;
            }
        }
        child::alarm_every(0);
        (u64::from(HANDLED.load(Ordering::Relaxed)) << 32 | u64::from(WRONG.load(Ordering::Relaxed)))
            .to_le_bytes()
    });
    let counts = u64::from_le_bytes(end.bytes().try_into().unwrap());
    let (handled, wrong) = (counts >> 32, counts as u32);
    assert!(handled >= 100, "only {handled} signals came");
    assert_eq!(wrong, 0);
}

/// The child that a handler made, to be waited for; 0 in the child itself.
static BORN: AtomicI32 = AtomicI32::new(-1);

extern "C" fn forks_in_a_handler(_: c_int) {
    if BORN.load(Ordering::Relaxed) == -1 {
        BORN.store(child::fork_now().unwrap_or(0), Ordering::Relaxed);
    }
}

/// The draw that was interrupted ends twice, once in each process: not with bytes of an emptied stock, and the next draws
/// are not the same.
#[test]
fn a_fork_in_the_middle_of_a_draw_is_noticed() {
    for round in 0..30 {
        let end = child::run(Birth::Fork, || {
            let (mut from_child, mut to_parent) = std::io::pipe().unwrap();
            let mut rng = FastRng::new().unwrap();
            let mut long = vec![0; 5000];
            child::on_alarm(forks_in_a_handler);
            child::alarm_every(200 + 7 * round);
            while BORN.load(Ordering::Relaxed) == -1 {
                rng.fill(&mut long[..300]);
                rng.fill(&mut long[300..]);
            }
            child::alarm_every(0);
            let whole = long.windows(24).all(|window| window != [0; 24]);
            let next = draw(&mut rng);
            if BORN.load(Ordering::Relaxed) == 0 {
                let _ = std::io::Write::write_all(&mut to_parent, &next);
                child::exit_now(if whole { 0 } else { 7 });
            }
            drop(to_parent);
            let mut theirs = [0; DRAW];
            std::io::Read::read_exact(&mut from_child, &mut theirs).unwrap();
            assert_eq!(child::status_of(BORN.load(Ordering::Relaxed)), 0, "the child drew zeros");
            assert!(whole, "the parent drew zeros");
            two([next, theirs])
        });
        Seen::default().add(&end.bytes());
    }
}

/// Calls that mapping, locking and advising memory come down to.
const MEMORY: [i64; 4] = [libc::SYS_mmap, libc::SYS_madvise, libc::SYS_mlock, libc::SYS_mprotect];

/// Runs `work` with what `before` made in a sandbox, by a thread that has no state of its own yet. The process ends with
/// it, so nothing of the end of a thread gets into the sandbox.
fn in_sandbox<T, const BYTES: usize>(
    before: impl FnOnce() -> T + Send,
    rules: &[(i64, Verdict)],
    work: impl FnOnce(T) -> [u8; BYTES] + Send,
) -> End {
    // Moved to the thread: a child's new threads get the stacks of its parent's.
    let work = move || {
        let made = before();
        sandbox(rules);
        work(made)
    };
    thread::scope(|scope| {
        scope.spawn(move || child::run(Birth::Fork, work)).join().expect("the thread lives")
    })
}

/// Takes every state that is free: where no memory is mapped, the next who wants one gets none.
fn take_all_states() -> Vec<State> {
    Function::find()
        .map_or_else(Vec::new, |function| std::iter::from_fn(|| State::borrow(function)).collect())
}

fn fails(calls: &[i64], errno: c_int) -> Vec<(i64, Verdict)> {
    calls.iter().map(|&call| (call, Verdict::Fails(errno))).collect()
}

#[test]
fn what_was_prepared_draws_where_mapping_memory_kills() {
    let rules = MEMORY.map(|call| (call, Verdict::Kills));
    let prepare = || {
        SystemRng.prepare();
        ThreadRng.prepare().unwrap();
    };
    let mut seen = Seen::default();
    let end = in_sandbox(prepare, &rules, |()| two([SystemRng.array().unwrap(), draw_by_thread()]));
    seen.add(&end.bytes());
    // The sandbox does kill.
    let end = in_sandbox(|| (), &rules, |()| [u8::from(child::maps_memory())]);
    assert_eq!(end.signal(), Some(libc::SIGSYS));
}

#[test]
fn without_memory_for_a_state_the_call_is_made() {
    let rules = fails(&[libc::SYS_mmap], libc::EPERM);
    let end = in_sandbox(
        || (),
        &rules,
        |()| {
            let _taken = take_all_states();
            assert_eq!(SystemRng.prepare(), Route::Call);
            assert!(matches!(FastRng::new(), Err(NewError::Memory(Errno(libc::EPERM)))));
            two([SystemRng.array().unwrap(), draw_by_thread()])
        },
    );
    Seen::default().add(&end.bytes());
}

#[test]
fn without_the_call_the_device_is_read() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let mut rules = fails(&[libc::SYS_getrandom], errno);
        let end = in_sandbox(
            || (),
            &rules,
            |()| {
                SystemRng.prepare();
                two([SystemRng.array().unwrap(), draw_by_thread()])
            },
        );
        Seen::default().add(&end.bytes());
        // Neither vDSO nor call from the start.
        rules.extend(fails(&[libc::SYS_mmap], libc::EPERM));
        let end = in_sandbox(
            || (),
            &rules,
            |()| {
                let _taken = take_all_states();
                let mut bytes = [0; DRAW];
                SystemRng.fill_if_seeded(&mut bytes).unwrap();
                two([SystemRng.array().unwrap(), bytes])
            },
        );
        Seen::default().add(&end.bytes());
    }
}

#[test]
fn where_nothing_works_the_error_tells_why() {
    let mut rules = fails(&[libc::SYS_getrandom], libc::ENOSYS);
    rules.extend(fails(&[libc::SYS_openat], libc::EACCES));
    let end = in_sandbox(
        || (),
        &rules,
        |()| {
            let expected = Error::Refused { call: Errno(libc::ENOSYS), device: Errno(libc::EACCES) };
            assert_eq!(SystemRng.array::<DRAW>(), Err(expected));
            assert_eq!(FastRng::new().unwrap_err(), NewError::Seed(expected));
            [1]
        },
    );
    assert_eq!(end, End::Wrote(vec![1]));
}

#[test]
fn not_yet_is_an_error_of_its_own() {
    let rules = fails(&[libc::SYS_getrandom], libc::EAGAIN);
    let end = in_sandbox(
        || (),
        &rules,
        |()| {
            let mut bytes = [0; DRAW];
            assert_eq!(SystemRng.fill_if_seeded(&mut bytes), Err(Error::NotSeeded));
            assert_eq!(SystemRng.fill_by_call(&mut bytes), Err(Error::NotSeeded));
            [1]
        },
    );
    assert_eq!(end, End::Wrote(vec![1]));
}

/// A kernel that cannot wipe memory on a fork: nothing is kept.
#[test]
fn without_wiping_every_draw_goes_to_the_kernel() {
    let rules = fails(&[libc::SYS_madvise, libc::SYS_mlock], libc::EINVAL);
    let end = in_sandbox(
        || (),
        &rules,
        |()| {
            let mut rng = FastRng::new().unwrap();
            let protection = rng.protection();
            assert!(
                rng.is_strict() && !protection.wiped_on_fork && !protection.not_dumped && !protection.locked
            );
            let theirs: Draw = child::run(Birth::Fork, || draw(&mut rng)).bytes().try_into().unwrap();
            two([draw(&mut rng), theirs])
        },
    );
    Seen::default().add(&end.bytes());
}

#[test]
fn memory_that_is_not_locked_is_used_all_the_same() {
    let rules = fails(&[libc::SYS_mlock], libc::EPERM);
    let end = in_sandbox(
        || (),
        &rules,
        |()| {
            let mut rng = FastRng::new().unwrap();
            assert!(!rng.is_strict() && !rng.protection().locked);
            draw(&mut rng)
        },
    );
    Seen::default().add(&end.bytes());
}

/// A due seed that the kernel refuses: draws go on from the key. Without a key there is the error, again and again.
#[test]
fn a_seed_that_is_due_and_refused_is_an_error_only_without_a_key() {
    let mut rules = fails(&[libc::SYS_getrandom], libc::ENOSYS);
    rules.extend(fails(&[libc::SYS_openat, libc::SYS_mmap], libc::EACCES));
    let refused = |rng: &mut FastRng| matches!(rng.try_fill(&mut [0; 4]), Err(Error::Refused { .. }));
    // By another thread: this one would have a state of the vDSO after that, and need no call.
    let make = || thread::spawn(|| FastRng::builder().reseed_after_bytes(1).build().unwrap()).join().unwrap();
    let end = in_sandbox(make, &rules, move |mut rng| {
        let _taken = take_all_states();
        assert!(matches!(rng.reseed(), Err(Error::Refused { .. })));
        let mut seen = Seen::default();
        // What is in stock, the stocks after it, and a long piece past them.
        (0..100).for_each(|_| seen.add(&draw(&mut rng)));
        let mut long = vec![0; 5 * 1024];
        rng.try_fill(&mut long).unwrap();
        seen.add(&long);
        [1]
    });
    assert_eq!(end, End::Wrote(vec![1]));
    // A child has nothing in stock.
    let mut rng = FastRng::new().unwrap();
    rng.next_u32();
    let end = in_sandbox(
        || (),
        &rules,
        |()| {
            let _taken = take_all_states();
            assert!(refused(&mut rng) && refused(&mut rng));
            [1]
        },
    );
    assert_eq!(end, End::Wrote(vec![1]));
}

#[test]
fn this_kernel_answers_through_the_vdso_or_says_that_it_does_not() {
    match (SystemRng.prepare(), Function::find()) {
        (Route::Vdso, Some(_)) => {}
        (Route::Call, None) => eprintln!("skipped: this kernel has no getrandom in its vDSO"),
        disagreeing => panic!("{disagreeing:?}"),
    }
}
