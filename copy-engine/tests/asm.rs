//! The machine code itself: streaming routines end in a fence, and nothing uses instructions its name does not allow.
//!
//! Disassembles this very test program, so that it judges whatever profile it was built with; the optimised one counts.

#![cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]

use std::collections::BTreeMap;
use std::process::Command;

use copy_engine::{Engine, NextUse, Policy, Routine};

/// Instructions by function of the crate, or `None`, said aloud, without a disassembler.
fn functions() -> Option<BTreeMap<String, Vec<String>>> {
    // Everything that is looked for has to be linked in.
    for routine in Routine::ALL.iter().filter_map(|routine| routine.on_this_cpu()) {
        let _ = routine.copy(&mut [0; 300], &[1; 300]);
        let mut out = [0; 300];
        let _ = Engine::detect().with_stream(routine).with_policy(Policy::StreamAlways).batch(|batch| {
            let _ = batch.copy(&mut out, &[1; 300], NextUse::NotRead);
        });
    }
    #[cfg(feature = "fault")]
    let _ = copy_engine::fault::install();

    let program = std::env::current_exe().unwrap();
    let arguments = ["--disassemble", "--demangle", "--no-show-raw-insn", "--disassembler-options=intel"];
    let output = match Command::new("objdump").args(arguments).arg(program).output() {
        Ok(output) if output.status.success() => output,
        other => {
            eprintln!("skipped: objdump is needed, from the package binutils: {other:?}");
            return None;
        }
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let mut functions = BTreeMap::<String, Vec<String>>::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            current = (name.contains("copy_engine::") || name.contains("copy_engine_")).then(|| {
                // Without the hash that the compiler appends.
                let name = name
                    .rsplit_once("::h")
                    .filter(|(_, hash)| hash.len() == 16)
                    .map_or(name, |(name, _)| name);
                functions.entry(name.to_owned()).or_default()
            });
        } else if let (Some(function), Some((_, instruction))) = (&mut current, line.split_once(":\t")) {
            function.push(instruction.trim().to_owned());
        }
    }
    Some(functions)
}

fn streams(instruction: &str) -> bool {
    instruction.starts_with("movnt") || instruction.starts_with("vmovnt")
}

/// Whether anything follows the last streaming store without a fence in between.
fn is_fenced(instructions: &[String]) -> bool {
    let last = instructions.iter().rposition(|instruction| streams(instruction)).unwrap();
    let after = &instructions[last..];
    let fence = after.iter().position(|instruction| instruction == "sfence");
    let end = after.iter().position(|instruction| instruction.starts_with("ret"));
    fence.is_some_and(|fence| end.is_none_or(|end| fence < end))
}

#[test]
fn streaming_routines_end_in_a_fence_and_nothing_else_streams() {
    let Some(functions) = functions() else { return };
    let mut seen = (0, 0, 0);
    for (name, instructions) in functions {
        if !instructions.iter().any(|instruction| streams(instruction)) {
            continue;
        }
        if name.contains("_unfenced") {
            assert!(!instructions.iter().any(|instruction| instruction == "sfence"), "{name} is for batches");
            seen.1 += 1;
        } else {
            assert!(is_fenced(&instructions), "{name} streams and does not fence: {instructions:#?}");
            let ours = ["::stream::stream_", "::movnti::generic", "::movnti::page"];
            if ours.iter().any(|part| name.contains(part)) {
                seen.0 += 1;
            } else {
                assert!(name.contains("_fault_"), "{name} streams, outside of the modules that may");
                seen.2 += 1;
            }
        }
    }
    let faulting = if cfg!(feature = "fault") { 4 } else { 0 };
    assert_eq!(seen, (8, 8, faulting), "fenced, unfenced and surviving routines that stream");
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
    let Some(functions) = functions() else { return };
    let uses =
        |instructions: &[String], register: &str| instructions.iter().any(|text| text.contains(register));
    let mut seen = (0, 0);
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
