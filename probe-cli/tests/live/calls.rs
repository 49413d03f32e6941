//! Primitives of the kernel, called from a program.

use libtest_mimic::Trial;
use probe_cli::probe::call::{self, PRIMITIVES, Primitive};
use probe_cli::probe::diagnose::diagnose;

use crate::outcome::{Outcome, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("prandom_is_called_and_its_floor_subtracted", prandom),
        trial("every_primitive_can_be_called", every_primitive),
        trial("the_object_s_log_says_what_a_program_sees", log),
    ]
}

fn prandom() -> Outcome {
    const REPETITIONS: usize = 50;
    let primitive = Primitive::by_name("bpf_get_prandom_u32").expect("the table has it");
    let times = call::measure(primitive, REPETITIONS as u32)?;
    assert_eq!((times.net_ns.len(), times.floor_ns.len()), (REPETITIONS, REPETITIONS));
    assert!(times.net_ns.iter().chain(&times.floor_ns).all(|ns| *ns >= 0.0));
    // A loop that the compiler removed would leave both at nothing.
    assert!(times.net_ns.iter().any(|ns| *ns > 0.0));
    assert!(times.floor_ns.iter().any(|ns| *ns > 0.0));
    Ok(())
}

fn every_primitive() -> Outcome {
    for primitive in PRIMITIVES {
        let times = call::measure(*primitive, 5)?;
        assert_eq!(times.net_ns.len(), 5, "{}", primitive.name);
    }
    Ok(())
}

fn log() -> Outcome {
    let lines = diagnose()?;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let expected = format!("process {} thread {} ", std::process::id(), nix::unistd::gettid());
    assert!(lines[0].starts_with(&expected), "{:?} does not start with {expected:?}", lines[0]);
    Ok(())
}
