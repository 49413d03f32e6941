//! The questions of every experiment, asked with little effort.

use libtest_mimic::Trial;
use probe_cli::experiment;
use probe_cli::probe::calibration::calibrate;
use probe_cli::probe::capability::mechanisms;
use probe_cli::probe::live::{Effort, ask};
use probe_cli::probe::object;

use crate::outcome::{Outcome, Stop, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_live_row_counts_every_call_it_made", every_call_is_in_the_row),
        trial("each_mechanism_works_or_says_why_not", each_mechanism),
        trial("calibration_has_a_cost_for_what_works", calibration),
    ]
}

fn every_call_is_in_the_row() -> Outcome {
    object::bytes()?;
    let effort = Effort { rounds: 2, calls: 200 };
    for question in experiment::ALL.iter().flat_map(|experiment| experiment.live(3)) {
        let row = ask(&question, effort);
        if row.backend == "none" {
            return Err(Stop::Skip(row.reason));
        }
        assert!(
            row.p50_ns.is_some() && row.p50_ns <= row.p90_ns && row.p90_ns <= row.p99_ns,
            "{}",
            row.target
        );
        assert!(row.floor_ns.is_some(), "{}", row.target);
        if row.backend == "call" {
            // Nobody outside makes calls, and no call is traced.
            assert_eq!((row.n, row.calls, row.added_ns), (20, None, None), "{}", row.target);
            continue;
        }
        assert_eq!(row.calls, Some(3 * 2 * 200), "{}", row.target);
        assert_eq!(Some(row.n + row.dropped + row.missed.unwrap_or(0)), row.calls, "{}", row.target);
        assert_eq!((row.in_flight, row.unmatched, row.clock_regressions), (0, 0, 0), "{}", row.target);
        assert!(row.added_ns.is_some() && row.bystander_ns.is_some(), "{}", row.target);
    }
    Ok(())
}

fn each_mechanism() -> Outcome {
    let mechanisms = mechanisms();
    for mechanism in &mechanisms {
        match &mechanism.outcome {
            Ok(seen) => println!("{}: {seen}", mechanism.name),
            Err(refusal) => println!("{}: {refusal}", mechanism.name),
        }
    }
    // A refusal of the kernel's is an answer; one that lies in us is not.
    for mechanism in mechanisms {
        if let Err(refusal) = mechanism.outcome
            && let Stop::Fail(reason) = Stop::from(refusal)
        {
            return Err(Stop::Fail(format!("{}: {reason}", mechanism.name)));
        }
    }
    Ok(())
}

fn calibration() -> Outcome {
    object::bytes()?;
    let (costs, refusals) = calibrate();
    for (name, cost) in &costs {
        assert!(cost.n > 0 && cost.p50_ns <= cost.p99_ns, "{name}");
    }
    // Three floors, each there or refused; the markers give two costs or one refusal.
    let floors = costs.keys().filter(|name| name.ends_with("-floor")).count();
    let markers = costs.keys().filter(|name| name.starts_with("marker-")).count();
    assert!(markers == 0 || markers == 2, "{costs:?}");
    assert_eq!(floors + refusals.len() + markers / 2, 4, "{costs:?} {refusals:?}");
    Ok(())
}
