//! The markers of our own batches.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::Trial;
use probe_abi::batch::BatchKey;
use probe_abi::quality::Quality;
use probe_abi::site;
use probe_cli::harness::markers::BatchSource as _;
use probe_cli::probe::markers::Markers;

use crate::outcome::{Outcome, trial};

/// First argument of a process that runs as many batches as the second says.
pub(crate) const RUN_BATCHES: &str = "--run-batches";

const OWN: &str = "/proc/self/exe";

pub(crate) fn run_batches(arguments: &[String]) -> ExitCode {
    let Some(batches) = arguments.first().and_then(|count| count.parse().ok()) else {
        return ExitCode::FAILURE;
    };
    for raw in 0..batches {
        site::begin(BatchKey::from_raw(raw));
        site::end(BatchKey::from_raw(raw));
    }
    ExitCode::SUCCESS
}

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("every_batch_arrives_with_its_own_key", every_batch_arrives),
        trial("a_full_ring_is_counted", a_full_ring_is_counted),
        trial("mismatched_markers_are_counted", mismatched_markers_are_counted),
        trial("markers_of_other_processes_arrive", other_processes),
    ]
}

fn every_batch_arrives() -> Outcome {
    const THREADS: u64 = 4;
    const BATCHES: u64 = 1000;
    let mut markers = Markers::attach(Path::new(OWN))?;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for batch in 0..BATCHES {
                    let key = BatchKey::from_raw(thread << 32 | batch);
                    site::begin(key);
                    site::end(key);
                }
            });
        }
    });
    let events = markers.drain();
    assert_eq!(events.len() as u64, THREADS * BATCHES);
    assert_eq!((markers.lost(), markers.counts()), (0, [0; Quality::COUNT]));
    let mut keys: Vec<_> = events.iter().map(|event| event.key).collect();
    keys.sort_unstable();
    let expected: Vec<_> =
        (0..THREADS).flat_map(|thread| (0..BATCHES).map(move |batch| thread << 32 | batch)).collect();
    assert_eq!(keys, expected);
    // A batch paired with another thread's marker would show as a thread with two tids, or as time going back.
    let mut last_end_ns: HashMap<u32, u64> = HashMap::new();
    let mut tid_of: HashMap<u64, u32> = HashMap::new();
    for event in &events {
        assert_eq!(*tid_of.entry(event.key >> 32).or_insert(event.tid), event.tid);
        let last = last_end_ns.entry(event.tid).or_default();
        assert!(*last <= event.start_ns, "batches of a thread follow each other");
        *last = event.start_ns + event.elapsed_ns;
    }
    assert_eq!(markers.drain(), []);
    Ok(())
}

fn a_full_ring_is_counted() -> Outcome {
    const BATCHES: usize = 1000;
    let mut markers = Markers::attach_with_ring(Path::new(OWN), 4096)?;
    for raw in 0..BATCHES as u64 {
        site::begin(BatchKey::from_raw(raw));
        site::end(BatchKey::from_raw(raw));
    }
    let arrived = markers.drain().len();
    assert!(arrived > 0 && arrived < BATCHES, "{arrived}");
    assert_eq!(arrived as u64 + markers.lost(), BATCHES as u64);
    // What was drained makes room again.
    site::begin(BatchKey::from_raw(7));
    site::end(BatchKey::from_raw(7));
    assert_eq!(markers.drain().iter().map(|event| event.key).collect::<Vec<_>>(), [7]);
    Ok(())
}

fn mismatched_markers_are_counted() -> Outcome {
    let mut markers = Markers::attach(Path::new(OWN))?;
    let [first, second] = [1, 2].map(BatchKey::from_raw);
    // An end alone; a begin replaced by another; an end with another key.
    site::end(first);
    site::begin(first);
    site::begin(second);
    site::end(second);
    site::begin(first);
    site::end(second);
    assert_eq!(markers.drain().iter().map(|event| event.key).collect::<Vec<_>>(), [2]);
    let counts = markers.counts();
    assert_eq!((counts[Quality::Unmatched.index()], counts[Quality::Replaced.index()]), (2, 1));
    assert_eq!(markers.lost(), 0);
    Ok(())
}

fn other_processes() -> Outcome {
    let own = std::env::current_exe()?;
    let mut markers = Markers::attach(&own)?;
    let mut child = std::process::Command::new(&own).args([RUN_BATCHES, "25"]).spawn()?;
    let tid = child.id();
    assert!(child.wait()?.success());
    let events = markers.drain();
    let expected: Vec<_> = (0..25).map(|key| (key, tid)).collect();
    assert_eq!(events.iter().map(|event| (event.key, event.tid)).collect::<Vec<_>>(), expected);
    Ok(())
}
