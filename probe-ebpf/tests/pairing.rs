//! The pairing rules, held to an oracle that sees the call tree itself.

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
