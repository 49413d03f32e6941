//! The machine code itself: streaming routines end in a fence, and nothing uses instructions its name does not allow.
//!
//! Disassembles this very test program, so that it judges whatever profile it was built with; the optimised one counts.

#![cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]

mod exits;
mod program;

use std::hint::black_box;

use copy_engine::{Engine, NextUse, Policy, Routine, Tally};

use self::exits::{resumptions, streams, unfenced_way_out};
use self::program::Program;

/// This program, with everything linked in that is looked for.
fn program() -> Option<Program> {
    for routine in Routine::ALL.iter().filter_map(|routine| routine.on_this_cpu()) {
        let _ = routine.copy(&mut [0; 300], &[1; 300]);
        let mut out = [0; 300];
        let engine = Engine::detect().with_stream(routine).with_policy(Policy::StreamAlways);
        let _ = black_box(batch_that_may_panic as fn(&Engine, &mut [u8], &[u8]) -> Tally)(
            &engine, &mut out, &[1; 300],
        );
    }
    #[cfg(feature = "fault")]
    let _ = copy_engine::fault::install();
    Program::this()
}

/// A batch of two copies, the second of which panics if it has to.
#[inline(never)]
fn batch_that_may_panic(engine: &Engine, dst: &mut [u8], src: &[u8]) -> Tally {
    let (first, second) = dst.split_at_mut(src.len() / 2);
    let copied = engine.batch(|batch| {
        let _ = batch.copy(first, &src[..src.len() / 2], NextUse::NotRead);
        let _ = batch.copy(second, &src[src.len() / 2..], NextUse::NotRead);
    });
    copied.1
}

#[test]
fn every_way_out_of_a_routine_that_streams_is_fenced_and_nothing_else_streams() {
    let Some(program) = program() else { return };
    let mut stores = (0, 0);
    for (&address, instruction) in program.code.iter().filter(|(_, code)| streams(&code.text)) {
        let name = &program.functions[instruction.function];
        if !name.contains("copy_engine") {
            continue;
        }
        if name.contains("_unfenced") {
            stores.1 += 1;
            continue;
        }
        stores.0 += 1;
        if let Some(way_out) = unfenced_way_out(&program, address) {
            panic!("{name} streams, and leaves without a fence by {way_out}");
        }
    }
    assert!(stores.0 > 0 && stores.1 > 0, "{stores:?} stores that stream");

    let mut seen = (0, 0, 0);
    for (name, instructions) in program.of_the_crate() {
        if !instructions.iter().any(|instruction| streams(instruction)) {
            continue;
        }
        let ours = ["::stream::stream_", "::movnti::generic", "::movnti::page"];
        if name.contains("_unfenced") {
            assert!(!instructions.contains(&"sfence"), "{name} is for batches");
            seen.1 += 1;
        } else if ours.iter().any(|part| name.contains(part)) {
            seen.0 += 1;
        } else {
            assert!(name.contains("_fault_"), "{name} streams, outside of the modules that may");
            seen.2 += 1;
        }
    }
    let faulting = if cfg!(feature = "fault") { 4 } else { 0 };
    assert_eq!(seen, (8, 8, faulting), "fenced, unfenced and surviving routines that stream");
    assert_eq!(program.fixups.is_empty(), faulting == 0, "ways out by a fault were walked");
}

/// What no test can see at run time: that the fence is there when a batch is left by a panic.
#[test]
fn a_batch_that_unwinds_is_fenced() {
    if cfg!(debug_assertions) {
        eprintln!("skipped: without optimisation the fence is a call away; `cargo test --release` judges it");
        return;
    }
    let Some(program) = program() else { return };
    let mut seen = 0;
    for (function, name) in program.functions.iter().enumerate() {
        // The form is generic, and may be inlined where it is used.
        if !name.contains("engine::Engine>::batch") && !name.ends_with("::batch_that_may_panic") {
            continue;
        }
        let (resumptions, unfenced) = resumptions(&program, function);
        assert_eq!(unfenced, None, "unwinding enters {name} there, and goes on without a fence");
        seen += resumptions;
    }
    assert!(seen > 0, "places where a batch goes on unwinding");
}

/// Whether a wide register among the first sixteen is named: those have halves that SSE code stumbles over.
fn leaves_upper_halves(instruction: &str) -> bool {
    instruction.split(['y', 'z']).filter_map(|text| text.strip_prefix("mm")).any(|text| {
        let digits = text.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().is_ok_and(|register: u8| register < 16)
    })
}

#[test]
fn no_function_uses_registers_its_feature_set_lacks() {
    let Some(program) = program() else { return };
    let uses =
        |instructions: &[&str], register: &str| instructions.iter().any(|text| text.contains(register));
    let mut seen = (0, 0);
    let functions = program.of_the_crate();
    for (name, instructions) in functions.iter().filter(|(name, _)| !name.contains("asm::")) {
        let wide = name.contains("avx512");
        let vectors = wide || name.contains("avx2");
        assert!(wide || !uses(instructions, "zmm"), "{name} uses the registers of AVX-512");
        assert!(vectors || !uses(instructions, "ymm"), "{name} uses the registers of AVX");
        seen.0 += usize::from(uses(instructions, "zmm"));
        seen.1 += usize::from(uses(instructions, "ymm"));
        if instructions.iter().any(|text| leaves_upper_halves(text)) {
            assert!(uses(instructions, "zeroupper"), "{name} leaves the upper halves dirty");
        }
    }
    assert!(seen.0 >= 3 && seen.1 >= 6, "{seen:?}: the functions are there to be judged");
}
