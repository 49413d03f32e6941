//! What ran is seen: receipts, overrides, batches and the mail's mistakes that copies can show.

use copy_engine::{
    Basis, Engine, Features, Limits, NextUse, PAGE, Page, Path, Policy, Routine, Selection, Vendor,
};

/// The engine of the mail: the kernel's own two routines, whatever the processor has beyond them.
fn of_2009(policy: Policy) -> Option<Engine> {
    let routine = |routine: Routine| routine.on_this_cpu();
    Some(
        Engine::detect()
            .with_policy(policy)
            .with_cached(routine(Routine::RepMovsb)?)
            .with_stream(routine(Routine::Movnti)?)
            .with_page(routine(Routine::MovntiPage)?),
    )
}

fn can_stream() -> bool {
    let can = Features::native().contains(Features::X86_64);
    if !can {
        eprintln!("skipped: no streaming stores on this processor or in this build");
    }
    can
}

/// What a copy of `len` bytes to an aligned destination did: routine, streamed, cached, fences.
fn seen(engine: &Engine, len: usize, next: NextUse) -> (Routine, usize, usize, u32) {
    let src = vec![7; len];
    let mut room = vec![0; len + PAGE];
    let aligned = room.as_ptr().align_offset(PAGE);
    let receipt = engine.copy(&mut room[aligned..][..len], &src, next);
    assert!(room[aligned..][..len].iter().all(|&byte| byte == 7));
    (receipt.routine, receipt.streamed, receipt.cached, receipt.fences)
}

#[test]
fn the_small_writes_of_the_mail_stream_only_where_they_regressed() {
    if !can_stream() {
        return;
    }
    for (policy, expected) in [
        (Policy::CachedAlways, (Routine::RepMovsb, 0, 256, 0)),
        (Policy::StreamAlways, (Routine::Movnti, 256, 0, 1)),
        (Policy::PageUp, (Routine::RepMovsb, 0, 256, 0)),
        (Policy::ExactlyPage, (Routine::RepMovsb, 0, 256, 0)),
        (Policy::PageDoor, (Routine::RepMovsb, 0, 256, 0)),
    ] {
        assert_eq!(seen(&of_2009(policy).unwrap(), 256, NextUse::Unknown), expected, "{policy}");
    }
}

/// Mistake 1: a comma was missing, so that the posted page routine does not assemble. Ours does, with the real
/// instruction in each of its eight stores: every quad of the page comes from its own place.
#[test]
fn mistake_1_the_page_routine_assembles_and_moves_every_quad() {
    let Some(routine) = Routine::MovntiPage.on_this_cpu() else {
        assert!(!can_stream());
        return;
    };
    let src: Vec<u8> = (0..PAGE as u64 / 8)
        .flat_map(|quad| quad.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect();
    let mut page = Page::ZERO;
    let _ = routine.copy(page.as_mut(), &src);
    assert!(page.as_ref()[..] == src[..]);
}

/// Mistake 7: the routine was not exported, though an inline function that modules compile in calls it. This test is
/// another crate, as every caller is.
#[test]
fn mistake_7_the_page_door_is_reached_from_another_crate() {
    let mut page = Page::ZERO;
    let receipt = Engine::detect().copy_page(&mut page, &[1; PAGE]);
    assert_eq!((receipt.bytes(), page), (PAGE, Page::from([1; PAGE])));
}

/// Mistake 6 of the second patch: `==` where the first had `>=`, so what is larger went back to the cache unseen.
#[test]
fn mistake_6_larger_copies_leave_the_page_policy_and_the_receipt_says_so() {
    if !can_stream() {
        return;
    }
    let two = 2 * PAGE;
    let seen = |policy| seen(&of_2009(policy).unwrap(), two, NextUse::Unknown);
    assert_eq!(seen(Policy::PageUp), (Routine::Movnti, two, 0, 1));
    assert_eq!(seen(Policy::ExactlyPage), (Routine::RepMovsb, 0, two, 0));
}

/// Mistake 8: 4096 is written into the loop and alignment assumed. Ours checks the length, copies right at any
/// alignment, and has a type for a page that is aligned.
#[test]
fn mistake_8_the_page_routine_checks_its_length_and_needs_no_alignment() {
    if !can_stream() {
        return;
    }
    let page = Routine::MovntiPage.on_this_cpu().unwrap();
    let src: Vec<u8> = (0..PAGE + 64).map(|at| (at % 251) as u8).collect();
    for at in 0..64 {
        let mut room = vec![0; PAGE + 64];
        let receipt = page.copy(&mut room[at..][..PAGE], &src[63 - at..][..PAGE]);
        assert_eq!((receipt.routine, receipt.streamed), (Routine::MovntiPage, PAGE));
        assert!(room[at..][..PAGE] == src[63 - at..][..PAGE]);
    }
    assert_eq!(page.copy(&mut vec![0; PAGE - 1], &src[..PAGE - 1]).routine, Routine::Movnti);
    assert_eq!(align_of::<Page>(), PAGE);
}

/// Mistake 9: a routine that is there and that nobody reaches. Each of ours can be had, runs, and is seen to have run.
#[test]
fn mistake_9_every_routine_is_reached_and_named_by_its_receipt() {
    for &routine in Routine::ALL {
        let Some(available) = routine.on_this_cpu() else {
            eprintln!("skipped: this processor or build cannot run {routine}");
            continue;
        };
        let engine = Engine::detect().with_policy(Policy::CachedAlways).with_cached(available);
        let (ran, streamed, cached, fences) = seen(&engine, PAGE, NextUse::Unknown);
        assert_eq!((ran, streamed + cached), (routine, PAGE));
        assert_eq!((streamed > 0, fences), (routine.streams(), u32::from(routine.streams())), "{routine}");
    }
}

/// The page door streams what it is given, without a length and without a policy in between.
#[test]
fn the_page_door_streams_under_every_policy() {
    let src = [9; PAGE];
    for &policy in Policy::ALL {
        let mut page = Page::ZERO;
        let receipt = Engine::detect().with_policy(policy).copy_page(&mut page, &src);
        assert_eq!(page, Page::from(src));
        assert_eq!(receipt.streamed, if can_stream() { PAGE } else { 0 }, "{policy}");
    }
}

#[test]
fn the_hint_moves_the_threshold() {
    if !can_stream() {
        return;
    }
    let limits = Limits {
        not_read: 1024,
        not_read_batched: 256,
        unknown: 4096,
        read_soon: 16384,
        ahead: 512,
        long: 8192,
        basis: Basis::Caller,
    };
    let engine = Engine::detect().with_limits(limits);
    for (next, threshold) in [(NextUse::NotRead, 1024), (NextUse::Unknown, 4096), (NextUse::ReadSoon, 16384)]
    {
        assert_eq!(seen(&engine, threshold - 1, next).1, 0, "{next}");
        assert_eq!(seen(&engine, threshold, next).1, threshold, "{next}");
    }
}

/// The pattern of 2009 costs no fence without a hint, and one fence as a streamed batch.
#[test]
fn two_thousand_small_blocks_share_one_fence() {
    let engine = Engine::detect();
    let mut file = vec![0; 2000 * 256];
    let plain: u32 =
        file.chunks_exact_mut(256).map(|block| engine.copy(block, &[3; 256], NextUse::Unknown).fences).sum();
    assert_eq!(plain, 0);
    let ((), tally) = engine.with_policy(Policy::StreamAlways).batch(|batch| {
        for block in file.chunks_exact_mut(256) {
            assert_eq!(batch.copy(block, &[4; 256], NextUse::Unknown).fences, 0);
        }
    });
    assert!(file.iter().all(|&byte| byte == 4));
    assert_eq!((tally.copies, tally.streamed + tally.cached), (2000, 2000 * 256));
    assert_eq!(tally.fences, u64::from(can_stream()));
}

/// With the fence shared, shorter blocks are worth streaming than alone.
#[test]
fn a_batch_streams_shorter_blocks_than_a_copy_of_their_own() {
    let engine = Engine::detect();
    let Limits { not_read, not_read_batched, .. } = engine.limits();
    assert!(not_read_batched < not_read);
    let src = vec![6; not_read_batched];
    let mut room = vec![0; not_read_batched + 64];
    let aligned = room.as_ptr().align_offset(64);
    let dst = &mut room[aligned..][..not_read_batched];
    assert_eq!(engine.copy(dst, &src, NextUse::NotRead).streamed, 0);
    let (_, tally) = engine.batch(|batch| batch.copy(dst, &src, NextUse::NotRead));
    assert_eq!(tally.streamed, if can_stream() { not_read_batched as u64 } else { 0 });
}

#[test]
fn a_batch_that_streams_nothing_fences_nothing() {
    let engine = Engine::detect().with_policy(Policy::CachedAlways);
    let mut out = [0; 100];
    let (answer, tally) = engine.batch(|batch| {
        let _ = batch.copy(&mut out, &[1; 100], NextUse::NotRead);
        "done"
    });
    assert_eq!((answer, tally.copies, tally.fences), ("done", 1, 0));
    assert_eq!(out, [1; 100]);
}

#[test]
fn a_batch_that_panics_leaves_whole_copies_behind() {
    let mut out = vec![0; PAGE];
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Engine::detect().batch(|batch| {
            let _ = batch.copy(&mut out, &[5; PAGE], NextUse::NotRead);
            panic!("in the middle of a batch");
        })
    }));
    assert!(caught.is_err());
    assert!(out.iter().all(|&byte| byte == 5));
}

/// What a batch can be swapped for is another of the same lifetime, and then both end before anybody looks.
#[test]
fn swapped_batches_are_both_fenced() {
    let engine = Engine::detect().with_policy(Policy::StreamAlways);
    let (mut first, mut second) = (vec![0; PAGE], vec![0; PAGE]);
    let ((_, inner), outer) = engine.batch(|outer| {
        let _ = outer.copy(&mut first, &[1; PAGE], NextUse::NotRead);
        engine.batch(|inner| {
            let _ = inner.copy(&mut second, &[2; PAGE], NextUse::NotRead);
            std::mem::swap(inner, outer);
        })
    });
    assert_eq!(inner.fences + outer.fences, if can_stream() { 2 } else { 0 });
    assert!(first.iter().all(|&byte| byte == 1) && second.iter().all(|&byte| byte == 2));
}

#[test]
#[cfg(feature = "std")]
fn the_shared_engine_is_chosen_once() {
    let engine = Engine::detect().with_policy(Policy::PageUp);
    copy_engine::share(engine).unwrap();
    assert_eq!(copy_engine::shared().policy(), Policy::PageUp);
    assert_eq!(copy_engine::share(Engine::detect()), Err(Engine::detect()));
    let mut out = [0; 3];
    let _ = copy_engine::copy(&mut out, &[1, 2, 3]);
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn names_are_parsed_as_they_are_printed() {
    for &policy in Policy::ALL {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    for &routine in Routine::ALL {
        assert_eq!(routine.to_string().parse(), Ok(routine));
    }
    assert_eq!("stream-avx2-prefetch".parse(), Ok(Routine::StreamAvx2Prefetch));
    assert_eq!(Policy::ALL[0], Policy::CachedAlways);
    let _ = (Path::Cached, Selection::for_processor(Features::NONE, Vendor::Other));
}
