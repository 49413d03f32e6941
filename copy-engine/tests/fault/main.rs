//! Copies that meet memory which is not there: counts, causes, what is left behind, and when they take the fallback.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "ranges at risk are the subject")]

mod foreign;
#[path = "../guarded/mod.rs"]
mod guarded;

use std::io::Write;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

use copy_engine::fault::{
    self, Cause, Door, FaultRoutine, Rest, Session, Unready, Untrusted, UntrustedMut, Way,
};
use guarded::{Guarded, PAGE, pattern};
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::mman::ProtFlags;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use proptest::prelude::*;

const CANARY: u8 = 0xa5;

/// A source byte is never zero and never the canary, so that zeroed, stale and copied bytes can be told apart.
fn source(len: usize) -> Vec<u8> {
    pattern(len).into_iter().map(|byte| if matches!(byte, 0 | CANARY) { 1 } else { byte }).collect()
}

/// The session of this thread, or `None`, said aloud, where this target has no routines of its own.
fn session() -> Option<Session> {
    match fault::install() {
        Ok(door) => {
            assert_eq!(door.readiness(), Ok(()));
            Some(door.session())
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// The exact ways: every exact routine, and the fallback.
fn exact_ways() -> Vec<Session> {
    let ours = session().into_iter().flat_map(|session| {
        FaultRoutine::ALL
            .iter()
            .filter(|routine| routine.is_exact())
            .map(move |&routine| session.with_routine(routine))
    });
    ours.chain([Session::without_handler()]).collect()
}

/// Memory of which the first bytes can be reached and the others cannot.
struct Edge {
    memory: Guarded,
}

impl Edge {
    const READABLE: usize = 3 * PAGE;

    fn new() -> Self {
        let mut memory = Guarded::new(Self::READABLE);
        memory.bytes_mut().copy_from_slice(&source(Self::READABLE));
        Self { memory }
    }

    /// `len` bytes of which the first `reachable` can be read.
    fn range(&self, len: usize, reachable: usize) -> Untrusted<'_> {
        let start = self.memory.address().wrapping_add(Self::READABLE - reachable);
        // SAFETY: our own pages, then one that nobody may touch, at which every copy ends.
        unsafe { Untrusted::new(start, len) }.unwrap()
    }

    /// The bytes that can be read of such a range.
    fn bytes(&mut self, reachable: usize) -> Vec<u8> {
        self.memory.bytes_mut()[Self::READABLE - reachable..].to_vec()
    }

    /// `len` bytes of which the first `reachable` can be written.
    fn range_mut(&mut self, len: usize, reachable: usize) -> UntrustedMut<'_> {
        let start = self.memory.address().wrapping_add(Self::READABLE - reachable);
        // SAFETY: as in `range`; borrowed from `self`.
        unsafe { UntrustedMut::new(start, len) }.unwrap()
    }
}

/// A destination at a given address modulo 8, among canaries.
struct Destination {
    room: Vec<u64>,
}

impl Destination {
    fn new(len: usize) -> Self {
        Self { room: vec![u64::from_ne_bytes([CANARY; 8]); len / 8 + 4] }
    }

    fn at(&mut self, align: usize, len: usize) -> &mut [u8] {
        // SAFETY: words are their bytes, and any bytes make words.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.room.as_mut_ptr().cast::<u8>(), self.room.len() * 8)
        };
        bytes.fill(CANARY);
        &mut bytes[align..][..len]
    }
}

fn vectors(kind: &str) -> Vec<Vec<usize>> {
    let file: serde_json::Value = serde_json::from_str(include_str!("../copy_fault.json")).unwrap();
    let group = file["vectors"].as_array().unwrap().iter().find(|group| group["kind"] == kind).unwrap();
    let number = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
    let rows = group["rows"].as_array().unwrap();
    rows.iter().map(|row| row.as_array().unwrap().iter().map(number).collect()).collect()
}

/// All counts of all eras of the generic routine: exact, by blocks, the register that asked for zeroing, before and after.
#[test]
fn the_generic_routine_counts_as_the_kernels_did() {
    let Some(session) = session() else { return };
    let mut edge = Edge::new();
    let mut destination = Destination::new(2 * PAGE);
    let rows = vectors("nocache");
    assert_eq!(rows.len(), 4091);
    for row in rows {
        let [size, reachable, align, exact, coarse, counter, until_2626, since_64] = row[..] else {
            panic!("{row:?}")
        };
        let bytes = edge.bytes(reachable);
        let mut check = |routine: FaultRoutine, rest: Rest, left: usize| {
            let dst = destination.at(align, size);
            let account = session.with_routine(routine).read(dst, edge.range(size, reachable), rest);
            let row = format!("{routine} {rest} {row:?}: {account:?}");
            assert_eq!((account.left, account.asked), (left, size), "{row}");
            assert_eq!(account.fault.is_some(), left > 0, "{row}");
            // The old form's word for what it copied is not to be taken.
            let known = if routine == FaultRoutine::Until2626 { 0 } else { size - left.max(exact) };
            let (copied, after) = dst.split_at(known);
            assert!(copied == &bytes[..copied.len()], "{row}");
            match rest {
                Rest::Zero => assert!(after[left.max(exact) - left..].iter().all(|&byte| byte == 0), "{row}"),
                Rest::Leave | Rest::Inatomic => assert!(!after.contains(&0), "{row}"),
            }
            (account.coarse, account.counter as usize)
        };
        let expected = (coarse, if reachable == size { 0 } else { counter });
        assert_eq!(check(FaultRoutine::Nocache, Rest::Leave, exact), expected, "{row:?}");
        assert_eq!(check(FaultRoutine::Nocache, Rest::Zero, exact), expected, "{row:?}");
        assert_eq!(check(FaultRoutine::Nocache, Rest::Inatomic, coarse), expected, "{row:?}");
        check(FaultRoutine::Until2626, Rest::Leave, until_2626);
        check(FaultRoutine::Since64, Rest::Leave, since_64);
        check(FaultRoutine::Vector, Rest::Zero, exact);
        check(FaultRoutine::RepMovsb, Rest::Zero, exact);
    }
}

/// The page routine as it was meant. Mistake 2 of the patch: success returned whatever was in the register.
#[test]
fn mistake_2_the_page_routine_counts_and_returns_nothing_left_on_success() {
    let Some(session) = session() else { return };
    let session = session.with_routine(FaultRoutine::NocachePage);
    let edge = Edge::new();
    let mut destination = Destination::new(PAGE);
    let rows = vectors("page_copy_seed004");
    assert_eq!(rows.len(), 24);
    for row in rows {
        let [reachable, exact, coarse, counter] = row[..] else { panic!("{row:?}") };
        let account = session.read(destination.at(0, PAGE), edge.range(PAGE, reachable), Rest::Leave);
        assert_eq!(
            (account.left, account.coarse, account.counter as usize),
            (exact, coarse, counter),
            "{row:?}"
        );
        let account = session.read(destination.at(0, PAGE), edge.range(PAGE, reachable), Rest::Inatomic);
        assert_eq!(account.left, coarse, "{row:?}");
    }
    let account = session.read(destination.at(0, PAGE), edge.range(PAGE, PAGE), Rest::Zero);
    assert_eq!((account.left, account.fault), (0, None));
}

/// Mistake 4: a fixup that forgot the bytes after the last quad reported up to seven too few. What is missing is never
/// reported as less than it is, except by the form that did so, and that says that it is not exact.
#[test]
fn mistake_4_no_count_is_too_small_but_the_one_that_was() {
    let Some(session) = session() else { return };
    let edge = Edge::new();
    let mut destination = Destination::new(256);
    let mut lied = 0;
    for size in 0..200 {
        for reachable in 0..=size {
            for &routine in FaultRoutine::ALL {
                for rest in [Rest::Leave, Rest::Inatomic] {
                    let dst = destination.at(size % 8, size);
                    let account = session.with_routine(routine).read(dst, edge.range(size, reachable), rest);
                    let stored = dst.iter().take_while(|&&byte| byte != CANARY).count();
                    if account.copied() > stored {
                        assert_eq!(routine, FaultRoutine::Until2626, "{size} {reachable} {rest} {account:?}");
                        lied += 1;
                    }
                }
            }
        }
    }
    assert!(lied > 0, "the old form's lie is what the comparison is for");
}

/// Mistake 5: the callers that must not have the rest zeroed got it zeroed. Here it is the caller's word.
#[test]
fn mistake_5_the_rest_is_zeroed_only_where_that_was_asked_for() {
    for way in exact_ways() {
        let edge = Edge::new();
        for (rest, expected) in [(Rest::Zero, 0), (Rest::Leave, CANARY), (Rest::Inatomic, CANARY)] {
            let mut dst = [CANARY; 100];
            let account = way.read(&mut dst, edge.range(100, 0), rest);
            assert_eq!(account.left, 100);
            assert_eq!(dst, [expected; 100], "{rest} {account:?}");
        }
    }
}

/// Every byte around a page's edge, every alignment, either side, every exact way.
#[test]
fn the_count_is_exact_wherever_either_side_ends() {
    for way in exact_ways() {
        // A fault or a system call a copy: all of them only when asked for.
        let full = std::env::var_os("COPY_ENGINE_FULL").is_some();
        let step = if full {
            1
        } else if way.ready().is_ok() {
            3
        } else {
            11
        };
        let (mut from, mut to) = (Edge::new(), Edge::new());
        let larger = [255, 256, 257, 511, 512, 513, 600, 1100, PAGE - 1, PAGE, PAGE + 1];
        for size in (0..=160).step_by(step).chain(larger) {
            let near = |size: usize| (size % step..=size.min(140)).step_by(step).chain([0, size]);
            for reachable in near(size) {
                let bytes = from.bytes(reachable);
                for align in 0..8 {
                    let mut dst = vec![CANARY; size + 8];
                    let account =
                        way.read(&mut dst[align..][..size], from.range(size, reachable), Rest::Leave);
                    assert_eq!(account.left, size - reachable, "{size} {reachable} {align} {account:?}");
                    assert!(dst[align..][..reachable] == bytes[..]);
                    assert!(dst[..align].iter().chain(&dst[align + reachable..]).all(|&byte| byte == CANARY));
                }
            }
            for writable in near(size) {
                let src = source(size + 8);
                for align in 0..8 {
                    let src = &src[align..][..size];
                    to.memory.bytes_mut().fill(CANARY);
                    let account = way.write(to.range_mut(size, writable), src, Rest::Zero);
                    assert_eq!(account.left, size - writable, "{size} {writable} {align} {account:?}");
                    assert!(to.bytes(writable) == src[..writable]);
                    assert_eq!(to.memory.bytes_mut()[Edge::READABLE - writable - 1], CANARY);
                }
            }
        }
    }
}

/// Copies so long that the string instruction takes them, where the processor has a fast one; and those whose destination
/// lies just past the source modulo 4096, which it does not get.
#[test]
fn long_copies_end_exactly_where_memory_does() {
    const LEN: usize = 16 * PAGE;
    for way in exact_ways() {
        let mut memory = Guarded::new(LEN);
        let bytes = source(LEN);
        memory.bytes_mut().copy_from_slice(&bytes);
        memory.protect(12 * PAGE..13 * PAGE, ProtFlags::PROT_NONE);
        for skip in [0, 1, 63, 64, 1000] {
            for past in [0, 1, 33, 63, 64, 2000] {
                let mut room = vec![CANARY; LEN + 3 * PAGE];
                let aligned = room.as_ptr().align_offset(PAGE);
                let dst = &mut room[aligned + (skip + past) % PAGE..][..LEN - skip];
                let start = memory.address().wrapping_add(skip);
                // SAFETY: nobody writes to the guarded memory meanwhile, and no reference leads there.
                let src = unsafe { Untrusted::new(start, LEN - skip) }.unwrap();
                let account = way.read(dst, src, Rest::Leave);
                let reachable = 12 * PAGE - skip;
                assert_eq!(account.copied(), reachable, "{skip} {past} {account:?}");
                assert!(dst[..reachable] == bytes[skip..12 * PAGE]);
                assert!(dst[reachable..].iter().all(|&byte| byte == CANARY));
            }
        }
    }
}

proptest! {
    /// Both sides end somewhere: the first end counts, and the rest of the destination is as was asked.
    #[test]
    fn the_first_end_counts(
        size in 0usize..2 * PAGE,
        readable in 0usize..2 * PAGE,
        writable in 0usize..2 * PAGE,
        zero in any::<bool>(),
    ) {
        let (readable, writable) = (readable.min(size), writable.min(size));
        let exact = readable.min(writable);
        for way in exact_ways() {
            let (mut from, mut to) = (Edge::new(), Edge::new());
            to.memory.bytes_mut().fill(CANARY);
            let rest = if zero { Rest::Zero } else { Rest::Leave };
            let account = way.copy(to.range_mut(size, writable), from.range(size, readable), rest);
            prop_assert_eq!(account.left, size - exact, "{:?}", account);
            let (got, bytes) = (to.bytes(writable), from.bytes(readable));
            prop_assert!(got[..exact] == bytes[..exact]);
            let expected = if zero { 0 } else { CANARY };
            prop_assert!(got[exact..].iter().all(|&byte| byte == expected), "{:?}", account);
        }
    }

    /// Who mends the fault and goes on at the count ends up with all of it, nothing twice and nothing missing.
    #[test]
    fn a_copy_is_resumed_at_its_count(size in 1usize..3 * PAGE, holes in 0usize..4) {
        for way in exact_ways() {
            let mut memory = Guarded::new(3 * PAGE);
            let bytes = source(3 * PAGE);
            memory.bytes_mut().copy_from_slice(&bytes);
            for page in 0..holes.min(3) {
                memory.protect(page * PAGE..(page + 1) * PAGE, ProtFlags::PROT_NONE);
            }
            let mut got = vec![CANARY; size];
            let (mut done, mut rounds) = (0, 0);
            while done < size {
                let start = memory.address().wrapping_add(done);
                // SAFETY: our own pages, borrowed by nobody now.
                let src = unsafe { Untrusted::new(start, size - done) }.unwrap();
                let account = way.read(&mut got[done..], src, Rest::Leave);
                done += account.copied();
                if account.fault.is_some() {
                    let page = done / PAGE * PAGE;
                    memory.protect(page..page + PAGE, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE);
                }
                rounds += 1;
                prop_assert!(rounds <= 4, "no progress: {:?}", account);
            }
            prop_assert!(got[..] == bytes[..size]);
        }
    }
}

#[test]
fn the_cause_is_told() {
    let Some(session) = session() else { return };
    let edge = Edge::new();
    let mut dst = [0; 64];
    let fault = session.read(&mut dst, edge.range(64, 10), Rest::Leave).fault.unwrap();
    assert_eq!(fault.cause, Cause::Protected);
    assert_eq!(fault.address, Some(edge.range(64, 10).as_ptr().addr() + 10));

    let at = |address: usize| {
        // SAFETY: nothing of ours is there, which is the point.
        unsafe { Untrusted::new(std::ptr::without_provenance(address), 64) }.unwrap()
    };
    assert_eq!(session.read(&mut dst, at(0), Rest::Leave).fault.unwrap().cause, Cause::Unmapped);
    let nowhere = session.read(&mut dst, at(0x8000_0000_0000_0000), Rest::Leave).fault.unwrap();
    assert_eq!((nowhere.cause, nowhere.address), (Cause::NotAnAddress, None));
    for &routine in FaultRoutine::ALL {
        for address in [0, 0x8000_0000_0000_0000, usize::MAX - 64] {
            let account = session.with_routine(routine).read(&mut dst, at(address), Rest::Zero);
            assert_eq!(account.left, 64, "{routine} {address:#x}");
        }
    }
    let account = Session::without_handler().read(&mut dst, at(0), Rest::Leave);
    assert_eq!(account.fault.unwrap().cause, Cause::Unknown);
    assert_eq!(account.way, Way::ProcessVm(Unready::NotInstalled));
}

#[test]
fn ranges_that_wrap_around_are_none() {
    let at = |len: usize| {
        let pointer = std::ptr::without_provenance_mut(usize::MAX - 10);
        // SAFETY: nothing is copied.
        (unsafe { Untrusted::new(pointer, len) }, unsafe { UntrustedMut::new(pointer, len) })
    };
    assert!(at(11).0.is_none() && at(11).1.is_none());
    assert!(at(isize::MAX as usize + 1).0.is_none() && at(usize::MAX).1.is_none());
    let (read, write) = at(10);
    assert!(read.unwrap().slice(4..11).is_none() && write.unwrap().slice(4..11).is_none());
    assert_eq!(read.unwrap().slice(4..10).unwrap().len(), 6);
}

#[test]
fn nothing_is_copied_from_nowhere() {
    for way in exact_ways() {
        // SAFETY: no byte.
        let nowhere = unsafe { Untrusted::new(std::ptr::null(), 0) }.unwrap();
        let account = way.read(&mut [], nowhere, Rest::Zero);
        assert_eq!((account.asked, account.left, account.fault), (0, 0, None));
    }
}

#[test]
fn what_was_copied_into_uninitialised_memory_is_handed_back() {
    for way in exact_ways() {
        let mut edge = Edge::new();
        let bytes = edge.bytes(77);
        let mut room = [MaybeUninit::uninit(); 200];
        let (copied, account) = way.read_uninit(&mut room, edge.range(200, 77));
        assert_eq!((copied.len(), account.left), (77, 123));
        assert!(*copied == bytes[..]);
    }
}

/// A file of `len` bytes, mapped over three pages.
fn mapped(len: usize, private: bool) -> (tempfile::NamedTempFile, MmapRaw) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&source(len)).unwrap();
    let mut options = MmapOptions::new();
    options.len(3 * PAGE);
    let map = if private {
        // SAFETY: never made a slice, so the file may change.
        MmapRaw::from(unsafe { options.map_copy(file.as_file()) }.unwrap())
    } else {
        options.map_raw(file.as_file()).unwrap()
    };
    (file, map)
}

fn whole(map: &MmapRaw) -> Untrusted<'_> {
    // SAFETY: mapped as long as `map` lives, and no slice is made of it.
    unsafe { Untrusted::new(map.as_ptr(), map.len()) }.unwrap()
}

/// A private mapping is no shelter: it, too, ends where the file ends.
#[test]
fn a_mapping_past_the_end_of_its_file_is_survived_and_told_from_others() {
    for private in [false, true] {
        let (_file, map) = mapped(PAGE + 50, private);
        for way in exact_ways() {
            let mut dst = vec![CANARY; 3 * PAGE];
            let account = way.read(&mut dst, whole(&map), Rest::Leave);
            // The page in which the file ends is there to its end.
            assert_eq!(account.copied(), 2 * PAGE, "{account:?}");
            assert!(dst[..PAGE + 50] == source(PAGE + 50)[..]);
            let expected = if way.ready().is_ok() { Cause::BeyondEndOfFile } else { Cause::Unknown };
            assert_eq!(account.fault.unwrap().cause, expected);
        }
    }
}

/// Truncated and grown again by another thread during ten thousand copies.
#[test]
fn a_file_that_is_truncated_meanwhile_ends_no_process() {
    let Some(session) = session() else { return };
    let (file, map) = mapped(3 * PAGE, false);
    let expected = source(3 * PAGE);
    let stop = AtomicBool::new(false);
    let (mut short, mut complete) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for len in [PAGE, 3 * PAGE, 0, 2 * PAGE, 3 * PAGE] {
                    file.as_file().set_len(len as u64).unwrap();
                }
            }
        });
        let mut dst = vec![0; 3 * PAGE];
        for round in 0..10_000 {
            let routine = FaultRoutine::ALL[round % FaultRoutine::ALL.len()];
            dst.fill(CANARY);
            let account = session.with_routine(routine).read(&mut dst, whole(&map), Rest::Leave);
            if let Some(fault) = account.fault {
                assert_eq!(fault.cause, Cause::BeyondEndOfFile, "{account:?}");
                short += 1;
            } else {
                complete += 1;
            }
            if routine.is_exact() {
                // What is there is the file's bytes, or the zeros with which it grew again.
                let good = |(at, &byte): (usize, &u8)| byte == expected[at] || byte == 0;
                assert!(dst[..account.copied()].iter().enumerate().all(good), "{account:?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{short} copies ended early, {complete} did not");
}

/// Faults of many threads at once, which also install at once: no state of the handler is shared between them.
#[test]
fn threads_that_fault_at_once_do_not_disturb_each_other() {
    let Some(_) = session() else { return };
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            scope.spawn(move || {
                let session = fault::install().unwrap().session();
                let mut edge = Edge::new();
                for round in 0..2000usize {
                    let (size, reachable) = (300, (round * 7 + thread * 31) % 300);
                    let mut dst = vec![CANARY; size];
                    let account = session.read(&mut dst, edge.range(size, reachable), Rest::Zero);
                    assert_eq!(account.left, size - reachable);
                    let address = edge.range(size, reachable).as_ptr().addr() + reachable;
                    assert_eq!(account.fault.unwrap().address, Some(address));
                    assert!(dst[..reachable] == edge.bytes(reachable)[..]);
                }
            });
        }
    });
}

/// A thread that would not survive a fault is found out, and copies all the same.
#[test]
fn a_blocked_signal_leads_to_the_fallback() {
    let Some(_) = session() else { return };
    for (signal, number) in [(Signal::SIGSEGV, 11), (Signal::SIGBUS, 7)] {
        in_a_thread(move |door| {
            let mut set = SigSet::empty();
            set.add(signal);
            pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&set), None).unwrap();
            assert_falls_back(door, Unready::SignalBlocked { signal: number });
        });
    }
}

#[test]
fn a_missing_alternate_stack_leads_to_the_fallback() {
    let Some(_) = session() else { return };
    in_a_thread(|door| {
        // SAFETY: all zero but the flag is a valid request.
        let mut none: libc::stack_t = unsafe { std::mem::zeroed() };
        none.ss_flags = libc::SS_DISABLE;
        let mut old = none;
        // SAFETY: both are live; nobody runs on the stack now.
        assert_eq!(unsafe { libc::sigaltstack(&raw const none, &raw mut old) }, 0);
        assert_falls_back(door, Unready::NoAlternateStack);
        // SAFETY: the thread's own stack, back where std expects it.
        assert_eq!(unsafe { libc::sigaltstack(&raw const old, std::ptr::null_mut()) }, 0);
        assert_eq!(door.readiness(), Ok(()));
    });
}

fn in_a_thread(work: impl FnOnce(Door) + Send + 'static) {
    std::thread::spawn(move || work(Door::get().unwrap())).join().unwrap();
}

fn assert_falls_back(door: Door, unready: Unready) {
    assert_eq!(door.readiness(), Err(unready));
    let edge = Edge::new();
    let mut dst = [CANARY; 64];
    let account = door.read(&mut dst, edge.range(64, 10), Rest::Zero);
    assert_eq!((account.left, account.way), (54, Way::ProcessVm(unready)));
    assert!(dst[10..] == [0; 54]);
}
