//! What a probe costs the code it is on: a marker of ours with its event, and the pair that any tool puts on a
//! function.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use probe_abi::batch::BatchKey;
use probe_abi::site;
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};
use probe_cli::harness::markers::BatchSource as _;
use probe_cli::probe::markers::Markers;
use probe_cli::probe::refusal::Refusal;
use probe_cli::probe::user_function::{EmptyPair, file_offset};

pub(crate) const NAME: &str = "marker-cost";
pub(crate) const CASE: &str = "one-site";
/// A function that begins by saving a register, which the kernel emulates under a probe.
pub(crate) const FUNCTION: &str = "function-pair";
/// A function that begins with work, which the kernel steps through out of line.
pub(crate) const LEAF: &str = "leaf-pair";
pub(crate) const MARKER: &str = "marker";

/// Batches, and so twice as many marker hits, in a timed batch of the harness.
const HITS: u64 = 500;

/// What can stand behind the address of this program, whatever it is called.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Probed sites against each other; each operation is one site passed.
#[derive(Debug)]
pub(crate) struct MarkerCost;

impl Comparison for MarkerCost {
    fn name(&self) -> &str {
        NAME
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let refused = Markers::attach(Path::new(THIS_PROGRAM)).err().map(|refusal| refusal.to_string());
        let variant = |name: &str, summary: &str| VariantInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            named: true,
            unavailable: refused.clone(),
        };
        vec![Case {
            name: CASE.to_owned(),
            title: "a probed site of a user program, passed once".to_owned(),
            tasks: 1,
            operation: "site passed",
            variants: vec![
                variant(
                    FUNCTION,
                    "uprobe and uretprobe on a function that saves registers; programs do nothing",
                ),
                variant(LEAF, "uprobe and uretprobe on a leaf function; programs do nothing"),
                variant(MARKER, "uprobe on a marker, every second hit makes an event"),
            ],
        }]
    }

    fn work_check(&self, _case: &Case) -> Result<String, String> {
        Ok("each operation passes one probed site; the function's programs do nothing, the markers' all they \
            do in a run"
            .to_owned())
    }

    fn prepare(&self, _case: &Case, variant: usize, _seed: u64) -> Box<dyn Workload> {
        // A refusal was told by `cases`; one that comes only now ends the launch.
        if let Some(function) = FUNCTIONS.get(variant).copied() {
            let pair = attach_to(function).unwrap_or_else(|refusal| panic!("{refusal}"));
            Box::new(Function { function, _pair: pair })
        } else {
            let markers =
                Markers::attach(Path::new(THIS_PROGRAM)).unwrap_or_else(|refusal| panic!("{refusal}"));
            Box::new(Marked { markers })
        }
    }
}

/// What the first variants call.
const FUNCTIONS: [fn(u64) -> u64; 2] = [saving, leaf];

fn attach_to(function: fn(u64) -> u64) -> Result<EmptyPair, Refusal> {
    EmptyPair::attach(Path::new(THIS_PROGRAM), file_offset(function as *const () as usize)?)
}

struct Function {
    function: fn(u64) -> u64,
    _pair: EmptyPair,
}

impl Workload for Function {
    fn reset(&mut self) {}

    fn run(&self, _task: usize) -> u64 {
        for number in 0..2 * HITS {
            black_box((self.function)(black_box(number)));
        }
        2 * HITS
    }
}

struct Marked {
    markers: Markers,
}

impl Workload for Marked {
    fn reset(&mut self) {
        // A full ring would spare the programs the work of an event.
        self.markers.drain();
    }

    fn run(&self, _task: usize) -> u64 {
        for raw in 0..HITS {
            let key = BatchKey::from_raw(raw);
            site::begin(key);
            site::end(key);
        }
        2 * HITS
    }
}

/// As any function that has locals and calls others.
#[inline(never)]
fn saving(number: u64) -> u64 {
    let digits = number.to_string();
    digits.bytes().fold(number, |sum, digit| sum.rotate_left(5) ^ u64::from(digit))
}

/// As any small function that calls nobody.
#[inline(never)]
fn leaf(number: u64) -> u64 {
    number.rotate_left(5) ^ 0x9e37_79b9
}

pub(crate) fn saving_note() -> String {
    note(saving)
}

pub(crate) fn leaf_note() -> String {
    note(leaf)
}

/// By which path the kernel runs the markers' probes, and what the function begins with.
fn note(function: fn(u64) -> u64) -> String {
    let first = file_offset(function as *const () as usize).ok().and_then(first_bytes);
    let first =
        first.map_or_else(|| "unknown".to_owned(), |bytes| bytes.map(|byte| format!("{byte:02x}")).join(" "));
    format!("markers: {}; the function begins with the bytes {first}", path())
}

fn first_bytes(offset: u64) -> Option<[u8; 4]> {
    let at = usize::try_from(offset).ok()?;
    fs::read(THIS_PROGRAM).ok()?.get(at..at + 4)?.try_into().ok()
}

/// Since 6.18 the kernel may replace the nop of a hot site by a call into a page it maps for that.
fn path() -> &'static str {
    let Ok(_markers) = Markers::attach(Path::new(THIS_PROGRAM)) else { return "not attached" };
    for _ in 0..3 {
        site::begin(BatchKey::from_raw(0));
        site::end(BatchKey::from_raw(0));
    }
    match fs::read_to_string("/proc/self/maps") {
        Ok(maps) if maps.contains("uprobes-trampoline") => {
            "five-byte-nop fast path (the kernel maps a trampoline)"
        }
        Ok(_) => "plain breakpoint",
        Err(_) => "path unknown",
    }
}
