//! What the kernel says of a generator's memory, and what a thread allocates when it ends. One test: nobody else may make a
//! generator meanwhile.
#![cfg(all(feature = "std", target_os = "linux", not(any(loom, miri))))]

#[path = "child/counting.rs"]
mod counting;

use std::{fs, thread};

use counting::Counting;
use entropy_core::{
    fast::{FastRng, ThreadRng},
    system::SystemRng,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Kilobytes of mappings that are wiped on fork and not dumped, and of those the locked ones. The vDSO's states are
/// droppable too, and are left out.
fn protected_kb() -> (u64, u64) {
    let maps = fs::read_to_string("/proc/self/smaps").expect("the kernel tells of the mappings");
    let (mut size, mut total, mut locked) = (0, 0, 0);
    for line in maps.lines() {
        if let Some(kb) = line.strip_prefix("Size:") {
            size = kb.trim().trim_end_matches(" kB").parse().expect("a number of kilobytes");
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            let has = |flag: &str| flags.split_whitespace().any(|known| known == flag);
            if has("wf") && has("dd") && !has("dp") {
                total += size;
                locked += if has("lo") { size } else { 0 };
            }
        }
    }
    (total, locked)
}

#[test]
fn states_are_protected_and_given_back_without_a_request() {
    let (before, locked_before) = protected_kb();
    let rngs: Vec<FastRng> = (0..10).map(|_| FastRng::new().unwrap()).collect();
    let (total, locked) = protected_kb();
    let page_kb = (total - before) / 10;
    assert!(page_kb >= 1 && total - before == 10 * page_kb, "{} kB for ten handles", total - before);
    let locked_handles = rngs.iter().filter(|rng| rng.protection().locked).count() as u64;
    if std::env::var_os("UNDER_SANITIZER").is_some() {
        eprintln!("skipped in part: a sanitizer takes the calls that lock memory, and locks none");
    } else {
        assert_eq!(locked - locked_before, locked_handles * page_kb);
    }
    if locked_handles < 10 {
        eprintln!("skipped in part: {locked_handles} of 10 handles could be locked");
    }
    drop(rngs);
    assert_eq!(protected_kb(), (before, locked_before));

    // A thread ends: its handle and its state of the vDSO go.
    let ending = || {
        ThreadRng.prepare().unwrap();
        SystemRng.prepare();
        counting::count_this_thread();
        ThreadRng.next_u64()
    };
    for _ in 0..3 {
        thread::spawn(ending).join().unwrap();
    }
    assert_eq!((counting::allocations(), protected_kb()), (0, (before, locked_before)));
    // The allocator does count.
    let allocating = || {
        counting::count_this_thread();
        drop(vec![0_u8; 100]);
    };
    thread::spawn(allocating).join().unwrap();
    assert_ne!(counting::allocations(), 0);
}
