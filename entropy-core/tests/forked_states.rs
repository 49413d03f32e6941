//! What a child of a process with many threads can still lend.
#![cfg(all(feature = "std", target_os = "linux", not(any(loom, miri))))]

mod child;

use std::{sync::Barrier, thread};

use child::{Birth, Verdict, sandbox};
use entropy_core::{
    system::{Route, SystemRng},
    vdso::{Function, State},
};

/// More than three pages of states.
const THREADS: usize = 100;

/// How many states a child of `birth` can lend without mapping more memory, made while [`THREADS`] threads have one each
/// and as many more are lent to nobody in particular.
fn left_in_a_child(birth: Birth) -> usize {
    let function = Function::find().expect("it was there before");
    let (ready, done) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    let counted = thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                assert_eq!(SystemRng.prepare(), Route::Vdso);
                ready.wait();
                done.wait();
            });
        }
        ready.wait();
        SystemRng.prepare();
        // Nothing is free now that nobody has asked for: what the child can lend it took back.
        let lent: Vec<State> = (0..THREADS).filter_map(|_| State::borrow(function)).collect();
        let free = std::cell::RefCell::new(Vec::with_capacity(10 * THREADS));
        let counted = child::run(birth, || {
            sandbox(&[(libc::SYS_mmap, Verdict::Fails(libc::EPERM))]);
            let mut free = free.borrow_mut();
            while let Some(state) = State::borrow(function) {
                free.push(state);
            }
            // The thread that forked goes on with the state it has.
            let mine: [u8; 16] = SystemRng.array().unwrap();
            assert_ne!(mine, [0; 16]);
            free.len().to_le_bytes()
        });
        done.wait();
        drop(lent);
        counted
    });
    usize::from_le_bytes(counted.bytes().try_into().expect("a number"))
}

#[test]
fn a_child_lends_what_its_parents_other_threads_had() {
    if Function::find().is_none() {
        return eprintln!("skipped: this kernel has no getrandom in its vDSO");
    }
    // A page is not wholly lent now and then: some states are free in any case, fewer than a page has.
    const PAGE: usize = 64;
    let by_fork = left_in_a_child(Birth::Fork);
    assert!((THREADS..THREADS + PAGE).contains(&by_fork), "{by_fork}");
    let by_clone = left_in_a_child(Birth::Clone);
    assert!(by_clone < PAGE, "the C library does not know of it, and {by_clone} came back all the same");
}
