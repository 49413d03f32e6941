//! Ways out of code that has streamed: every path from a streaming store, along jumps and faults, meets a fence before it
//! leaves the routine.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Instruction, Program};

/// Whether an instruction stores around the cache.
pub(crate) fn streams(instruction: &str) -> bool {
    instruction.starts_with("movnt") || instruction.starts_with("vmovnt")
}

/// Where control goes from an instruction, by what it is.
enum Flow {
    /// To the next.
    On,
    /// To an address, and nowhere else.
    Jump(u64),
    /// To an address or to the next.
    Branch(u64),
    /// Out, or to where nobody can tell: a return, a call, a jump through a register.
    Out,
    /// Nowhere: the program ends.
    End,
}

fn flow(text: &str) -> Flow {
    let mut words = text.split_whitespace().filter(|&word| !matches!(word, "notrack" | "bnd"));
    let (mnemonic, operand) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let target = u64::from_str_radix(operand.trim_start_matches("0x"), 16);
    match (mnemonic, target) {
        ("ud2" | "hlt", _) => Flow::End,
        ("jmp", Ok(target)) => Flow::Jump(target),
        (jump, Ok(target)) if jump.starts_with('j') || jump.starts_with("loop") => Flow::Branch(target),
        (jump, _) if jump.starts_with('j') || jump.starts_with("ret") || jump.starts_with("call") => {
            Flow::Out
        }
        _ => Flow::On,
    }
}

/// The first way out that is found from `start` on, which counts as one that has streamed, without a fence on it.
pub(crate) fn unfenced_way_out(program: &Program, start: u64) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![start];
    while let Some(address) = open.pop() {
        if !seen.insert(address) {
            continue;
        }
        let Some(instruction) = program.code.get(&address) else {
            return Some(format!("control leaves the program's code for {address:#x}"));
        };
        if instruction.text == "sfence" {
            continue;
        }
        // The instruction may fault after others have streamed, or after it has itself in an earlier round.
        open.extend(program.fixups.get(&address));
        let (to, falls_through) = match flow(&instruction.text) {
            Flow::On => (None, true),
            Flow::Jump(target) => (Some(target), false),
            Flow::Branch(target) => (Some(target), true),
            Flow::End => (None, false),
            Flow::Out => {
                let function = &program.functions[instruction.function];
                return Some(format!("`{}` at {address:#x} of {function}", instruction.text));
            }
        };
        open.extend(to);
        if falls_through {
            open.push(instruction.next.unwrap_or(u64::MAX));
        }
    }
    None
}

/// What of a function goes on unwinding: how many calls, and where one of them is led to without a fence on the way.
pub(crate) fn resumptions(program: &Program, function: usize) -> (usize, Option<u64>) {
    let whole = || program.code.iter().filter(|(_, code)| code.function == function);
    let mut before = BTreeMap::<u64, Vec<u64>>::new();
    for (&address, instruction) in whole() {
        for next in after(instruction) {
            before.entry(next).or_default().push(address);
        }
    }
    let resumes: Vec<u64> = whole()
        .filter(|(_, code)| code.text.contains("_Unwind_Resume"))
        .map(|(&address, _)| address)
        .collect();
    let mut seen = BTreeSet::new();
    let mut open = resumes.clone();
    while let Some(address) = open.pop() {
        if program.code[&address].text == "sfence" || !seen.insert(address) {
            continue;
        }
        match before.get(&address) {
            Some(earlier) => open.extend(earlier),
            // Nothing leads here but the unwinder.
            None => return (resumes.len(), Some(address)),
        }
    }
    (resumes.len(), None)
}

/// The addresses that may follow an instruction in its function, its calls returning.
fn after(Instruction { text, next, .. }: &Instruction) -> impl Iterator<Item = u64> {
    let (to, next) = match flow(text) {
        Flow::On => (None, *next),
        Flow::Jump(target) => (Some(target), None),
        Flow::Branch(target) => (Some(target), *next),
        Flow::Out if text.starts_with("call") => (None, *next),
        Flow::Out | Flow::End => (None, None),
    };
    to.into_iter().chain(next)
}
