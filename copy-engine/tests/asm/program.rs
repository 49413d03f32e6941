//! This test program, disassembled.

use std::collections::BTreeMap;
use std::process::Command;

/// An instruction, as objdump writes it.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) text: String,
    /// Index of the function, by the order of addresses.
    pub(crate) function: usize,
    /// What follows it in memory.
    pub(crate) next: Option<u64>,
}

/// Code by address, with the names of the functions and where faults lead.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) code: BTreeMap<u64, Instruction>,
    pub(crate) functions: Vec<String>,
    /// From an instruction that may fault to where its copy goes on then.
    pub(crate) fixups: BTreeMap<u64, u64>,
}

impl Program {
    /// The program that asks, or `None`, said aloud, without a disassembler.
    pub(crate) fn this() -> Option<Self> {
        let mut program = Self { code: BTreeMap::new(), functions: Vec::new(), fixups: BTreeMap::new() };
        let disassembly =
            objdump(&["--disassemble", "--demangle", "--no-show-raw-insn", "--disassembler-options=intel"])?;
        let mut previous: Option<u64> = None;
        for line in disassembly.lines() {
            if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                // Without the hash that the compiler appends.
                let hashed = name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16);
                program.functions.push(hashed.map_or(name, |(name, _)| name).to_owned());
            } else if let Some((address, text)) = line.split_once(":\t") {
                let address = u64::from_str_radix(address.trim(), 16).unwrap();
                if let Some(previous) = previous.and_then(|previous| program.code.get_mut(&previous)) {
                    previous.next = Some(address);
                }
                let text = text.split(" #").next().unwrap_or_default().trim().to_owned();
                let function = program.functions.len().checked_sub(1).unwrap();
                program.code.insert(address, Instruction { text, function, next: None });
                previous = Some(address);
            }
        }
        program.read_fixups();
        Some(program)
    }

    /// Reads the exception table as it lies in the program: pairs of distances, each from its own place.
    fn read_fixups(&mut self) {
        let symbols = objdump(&["--syms"]).unwrap();
        let place = |wanted: &str| {
            let line = symbols.lines().find(|line| line.ends_with(wanted))?;
            u64::from_str_radix(line.split_whitespace().next()?, 16).ok()
        };
        let (Some(start), Some(end)) = (place("_fault_table"), place("_fault_table_end")) else { return };
        let range = [format!("--start-address={start}"), format!("--stop-address={end}")];
        let contents = objdump(&["--full-contents", "--section=.rodata", &range[0], &range[1]]).unwrap();
        let bytes: Vec<u8> = contents
            .lines()
            .filter(|line| line.starts_with(' '))
            // An address, up to four groups of digits, two blanks, the same as text.
            .flat_map(|line| line.trim_start().split("  ").next().unwrap_or_default().split(' ').skip(1))
            .flat_map(|group| (0..group.len() / 2).map(|at| u8::from_str_radix(&group[2 * at..][..2], 16)))
            .map(Result::unwrap)
            .collect();
        assert_eq!(bytes.len() as u64, end - start, "the whole table was read");
        let distance = |at: usize| i64::from(i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        let target = |at: usize| (start + at as u64).wrapping_add_signed(distance(at));
        self.fixups = (0..bytes.len()).step_by(8).map(|at| (target(at), target(at + 4))).collect();
        assert!(self.fixups.iter().all(|(from, to)| [from, to].iter().all(|at| self.code.contains_key(at))));
    }

    /// The code of each function of the crate.
    pub(crate) fn of_the_crate(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut functions = BTreeMap::<&str, Vec<&str>>::new();
        for instruction in self.code.values() {
            let name = self.functions[instruction.function].as_str();
            if name.contains("copy_engine::") || name.contains("copy_engine_") {
                functions.entry(name).or_default().push(&instruction.text);
            }
        }
        functions
    }
}

fn objdump(arguments: &[&str]) -> Option<String> {
    let program = std::env::current_exe().unwrap();
    match Command::new("objdump").args(arguments).arg(program).output() {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        other => {
            eprintln!("skipped: objdump is needed, from the package binutils: {other:?}");
            None
        }
    }
}
