//! The pairing rules, held to an oracle that sees the call tree itself.

use std::collections::HashMap;

use probe_abi::pairing::{Entry, Exit, Frame, MAX_DEPTH};
use proptest::prelude::*;

/// A call and the calls it makes, each with the time before and after it.
#[derive(Clone, Debug)]
struct Call {
    row: u32,
    before_ns: u64,
    body_ns: u64,
    nested: Vec<Call>,
}

fn call() -> impl Strategy<Value = Call> {
    let leaf = (0..50_u32, 0..1000_u64, 0..1000_u64).prop_map(|(row, before_ns, body_ns)| Call {
        row,
        before_ns,
        body_ns,
        nested: Vec::new(),
    });
    leaf.prop_recursive(14, 80, 3, |inner| {
        (0..50_u32, 0..1000_u64, 0..1000_u64, prop::collection::vec(inner, 0..3))
            .prop_map(|(row, before_ns, body_ns, nested)| Call { row, before_ns, body_ns, nested })
    })
}

/// Runs a tree through a frame; durations come from the tree, never from the frame.
struct Walk {
    now_ns: u64,
    frame: Frame,
    too_deep: u64,
}

impl Walk {
    fn run(&mut self, call: &Call, depth: usize) {
        self.now_ns += call.before_ns;
        let start_ns = self.now_ns;
        let entry = self.frame.enter(self.now_ns, call.row);
        let kept = depth < MAX_DEPTH;
        assert_eq!(entry, if kept { Entry::Opened } else { Entry::TooDeep });
        self.too_deep += u64::from(!kept);
        for nested in &call.nested {
            self.run(nested, depth + 1);
        }
        self.now_ns += call.body_ns;
        let expected = if kept {
            Exit::Elapsed { elapsed_ns: self.now_ns - start_ns, row: call.row }
        } else {
            Exit::TooDeep
        };
        assert_eq!(self.frame.exit(self.now_ns), expected);
    }
}

proptest! {
    #[test]
    fn any_nesting_gives_exact_durations(calls in prop::collection::vec(call(), 0..6)) {
        let mut walk = Walk { now_ns: 1, frame: Frame::EMPTY, too_deep: 0 };
        for call in &calls {
            walk.run(call, 0);
        }
        prop_assert_eq!(walk.frame.open(), 0);
        prop_assert_eq!(walk.frame.exit(walk.now_ns), Exit::Unmatched);
    }

    /// Events may be missed on either side; what arrives is accounted for to the last one.
    #[test]
    fn every_event_is_accounted_for(events in prop::collection::vec(any::<bool>(), 0..200)) {
        let mut frame = Frame::EMPTY;
        let (mut entries, mut too_deep_in, mut elapsed, mut unmatched, mut too_deep_out) = (0, 0, 0, 0, 0);
        for (now, is_entry) in events.iter().enumerate() {
            if *is_entry {
                entries += 1;
                too_deep_in += u64::from(frame.enter(now as u64, 0) == Entry::TooDeep);
            } else {
                match frame.exit(now as u64) {
                    Exit::Elapsed { .. } => elapsed += 1,
                    Exit::Unmatched => unmatched += 1,
                    Exit::TooDeep => too_deep_out += 1,
                    Exit::ClockRegression { .. } => prop_assert!(false, "time only grows here"),
                }
            }
        }
        prop_assert_eq!(entries, elapsed + too_deep_out + frame.open());
        prop_assert_eq!(events.len() as u64, entries + elapsed + unmatched + too_deep_out);
        prop_assert!(too_deep_out <= too_deep_in);
    }

    /// A system call that finds another open replaces it, and the exit ends the newest.
    #[test]
    fn a_system_call_is_open_once(events in prop::collection::vec(any::<bool>(), 0..200)) {
        let mut frame = Frame::EMPTY;
        let mut open: Option<u64> = None;
        for (now, is_entry) in events.iter().enumerate() {
            let now = now as u64;
            if *is_entry {
                let expected = if open.is_some() { Entry::Replaced } else { Entry::Opened };
                prop_assert_eq!(frame.enter_alone(now, 3), expected);
                open = Some(now);
            } else {
                let expected = match open.take() {
                    Some(start) => Exit::Elapsed { elapsed_ns: now - start, row: 3 },
                    None => Exit::Unmatched,
                };
                prop_assert_eq!(frame.exit(now), expected);
            }
        }
    }
}

#[test]
fn a_clock_that_goes_back_is_not_a_duration() {
    let mut frame = Frame::EMPTY;
    frame.enter(100, 7);
    assert_eq!(frame.exit(99), Exit::ClockRegression { row: 7 });
    assert_eq!(frame.open(), 0);
}

#[test]
fn an_exit_without_an_entry_uses_no_old_start() {
    let mut frame = Frame::EMPTY;
    frame.enter(1, 0);
    frame.exit(2);
    assert_eq!(frame.exit(3), Exit::Unmatched);
    assert_eq!(frame.enter(4, 1), Entry::Opened);
    assert_eq!(frame.exit(6), Exit::Elapsed { elapsed_ns: 2, row: 1 });
}

/// What a thread does, one step after the other: `Some(function)` is entered, `None` leaves what is innermost.
type Steps = Vec<Option<u8>>;

/// Any program of a thread over three functions; leaving with nothing entered does nothing.
fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec(prop::option::weighted(0.5, 0..3_u8), 0..60)
}

/// Threads that run in turns chosen by `schedule`, as preemption would choose; time passes with every step. `event` is
/// told thread, function, whether it is an entry, and the time.
fn interleave(threads: &[Steps], schedule: &[u8], mut event: impl FnMut(usize, u8, bool, u64)) {
    let mut next = vec![0; threads.len()];
    let mut stacks: Vec<Vec<u8>> = vec![Vec::new(); threads.len()];
    let mut turns = schedule.iter().copied().cycle().map(usize::from);
    let mut now_ns = 0;
    while next.iter().zip(threads).any(|(next, steps)| *next < steps.len()) {
        now_ns += 7;
        // A thread that is done passes its turn on.
        let first = turns.next().unwrap_or(0);
        let thread = (0..threads.len())
            .map(|offset| (first + offset) % threads.len())
            .find(|thread| next[*thread] < threads[*thread].len())
            .expect("one is not done");
        match threads[thread][next[thread]] {
            Some(function) => {
                stacks[thread].push(function);
                event(thread, function, true, now_ns);
            }
            None => {
                if let Some(function) = stacks[thread].pop() {
                    event(thread, function, false, now_ns);
                }
            }
        }
        next[thread] += 1;
    }
}

proptest! {
    /// Threads preempt each other anywhere, functions nest in each other and in themselves: every call has exactly
    /// the duration that a stack for each thread and function says, and only calls that are too deep have none.
    #[test]
    fn threads_and_functions_never_mix(
        threads in prop::collection::vec(steps(), 1..4),
        schedule in prop::collection::vec(any::<u8>(), 1..20),
        limit in 1..=MAX_DEPTH as u64,
    ) {
        let mut frames: HashMap<(usize, u8), Frame> = HashMap::new();
        let mut oracle: HashMap<(usize, u8), Vec<u64>> = HashMap::new();
        interleave(&threads, &schedule, |thread, function, is_entry, now_ns| {
            let key = (thread, function);
            let frame = frames.entry(key).or_insert(Frame::EMPTY);
            let open = oracle.entry(key).or_default();
            if is_entry {
                let expected =
                    if (open.len() as u64) < limit { Entry::Opened } else { Entry::TooDeep };
                assert_eq!(frame.enter_within(limit, now_ns, u32::from(function)), expected);
                open.push(now_ns);
            } else {
                let start_ns = open.pop().expect("it was entered");
                let expected = if (open.len() as u64) < limit {
                    Exit::Elapsed { elapsed_ns: now_ns - start_ns, row: u32::from(function) }
                } else {
                    Exit::TooDeep
                };
                assert_eq!(frame.exit_within(limit, now_ns), expected);
            }
        });
        for (key, open) in oracle {
            assert_eq!(frames[&key].open(), open.len() as u64);
        }
    }

    /// The kernel skips any events it likes: for each thread and function what arrived is accounted for, and no
    /// duration is longer than the time from the first entry.
    #[test]
    fn lost_events_are_accounted_for_by_function(
        threads in prop::collection::vec(steps(), 1..4),
        schedule in prop::collection::vec(any::<u8>(), 1..20),
        lost in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        let mut frames: HashMap<(usize, u8), Frame> = HashMap::new();
        // Entries, exits, durations, unmatched exits, exits of calls that were too deep.
        let mut counts: HashMap<(usize, u8), [u64; 5]> = HashMap::new();
        let mut lost = lost.into_iter().cycle();
        interleave(&threads, &schedule, |thread, function, is_entry, now_ns| {
            if lost.next() == Some(true) {
                return;
            }
            let key = (thread, function);
            let frame = frames.entry(key).or_insert(Frame::EMPTY);
            let count = counts.entry(key).or_default();
            if is_entry {
                count[0] += 1;
                frame.enter(now_ns, 0);
                return;
            }
            count[1] += 1;
            match frame.exit(now_ns) {
                Exit::Elapsed { elapsed_ns, .. } => {
                    assert!(elapsed_ns <= now_ns);
                    count[2] += 1;
                }
                Exit::Unmatched => count[3] += 1,
                Exit::TooDeep => count[4] += 1,
                Exit::ClockRegression { .. } => panic!("time only grows here"),
            }
        });
        for (key, [entries, exits, durations, unmatched, too_deep]) in counts {
            prop_assert_eq!(exits, durations + unmatched + too_deep);
            prop_assert_eq!(entries, durations + too_deep + frames[&key].open());
        }
    }

    /// A point without an end times from hit to hit.
    #[test]
    fn hits_end_each_other(gaps in prop::collection::vec(0..1000_u64, 1..50)) {
        let mut frame = Frame::EMPTY;
        let mut now_ns = 1;
        prop_assert_eq!(frame.hit(now_ns, 5), Exit::Unmatched);
        for gap in gaps {
            now_ns += gap;
            prop_assert_eq!(frame.hit(now_ns, 5), Exit::Elapsed { elapsed_ns: gap, row: 5 });
        }
        prop_assert_eq!(frame.open(), 1);
    }
}
