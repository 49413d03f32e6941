//! Should an interrupt leave its randomness to the next tick, and not wake a worker for it? (Linux, September 2022.)
//!
//! The mail's own figure is the latency of a network card between two machines. Here is the path from an interrupt to
//! the input pool in every form that the kernel had, and an exchange over the loopback device with a stand-in for the
//! interrupts of such a card on one of its two CPUs.

mod exchange;
mod path;
mod qperf;
mod stand_in;

use std::sync::LazyLock;
use std::thread;

use entropy_core::fast_pool::{Gate, Way};

use self::exchange::Exchange;
use self::path::{EVENTS, HZ, Path};
use self::stand_in::StandIn;
use super::question::{Candidate, Load, Question};
use super::{Case, Comparison, Experiment, ProgramRun, VariantInfo, Workload};
use crate::claim::Claim;
use crate::report::model::ProgramRow;
use crate::sys::affinity;

/// The mail of September 2022.
#[derive(Debug)]
pub struct IrqMix;

static CLAIM: LazyLock<Claim> = LazyLock::new(|| Claim::embedded(include_str!("../../claims/irq-mix.toml")));

/// Interrupts after which the pool is handed over. All ways get the same gate, or they would do other work.
const GATES: [(&str, &str, u32); 2] = [
    (
        "path-1024",
        "an interrupt, 400 a tick, the pool handed over after 1024: the gate of worker and timer",
        1024,
    ),
    ("path-64", "the same, handed over after 64: the gate that mixing in the interrupt came with", 64),
];

/// Sizes of a message: those of the mail, 4 KiB to 1 MiB doubling.
const SIZES: [usize; 9] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];

/// Those that a quick run has.
const QUICK_SIZES: [usize; 3] = [SIZES[0], SIZES[4], SIZES[8]];

/// What is compared on the path, the mail's "before" first.
const ON_THE_PATH: [Option<Way>; 5] =
    [Some(Way::Worker), Some(Way::Timer), Some(Way::DeferrableTimer), Some(Way::InInterrupt), None];

/// What a stand-in does in an exchange. On a CPU that is busy a deferrable timer is a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum During {
    /// Nothing: the run that all others are held against.
    Nothing,
    /// Interrupts that are handed over so, or not at all.
    Interrupts(Option<Way>),
}

const IN_AN_EXCHANGE: [During; 5] = [
    During::Nothing,
    During::Interrupts(None),
    During::Interrupts(Some(Way::InInterrupt)),
    During::Interrupts(Some(Way::Worker)),
    During::Interrupts(Some(Way::Timer)),
];

impl Experiment for IrqMix {
    fn claim(&self) -> &'static Claim {
        &CLAIM
    }

    fn program(&self, how: &ProgramRun<'_>) -> Option<ProgramRow> {
        Some(qperf::run(how))
    }

    fn live(&self, tasks: usize) -> Vec<Question> {
        // Interrupts come as the disk likes; more tasks only make it busier.
        if tasks > 1 {
            return Vec::new();
        }
        let load = Load::DirectRead { bytes: 4096 };
        vec![
            Question {
                target: "random:mix-interrupts",
                question: "how long the kernel takes to mix what interrupts left, and how often it does, while reads \
                           past the page cache have a disk interrupt; `adds` is what the probes add to such a read",
                load,
                tasks,
                candidates: &[
                    Candidate::Function("mix_interrupt_randomness"),
                    Candidate::Timer("mix_interrupt_randomness"),
                ],
            },
            Question {
                target: "random:add-interrupt",
                question: "how long an interrupt is at its fast pool, during the same reads",
                load,
                tasks,
                candidates: &[Candidate::Function("add_interrupt_randomness")],
            },
        ]
    }
}

/// A case, by its name.
#[derive(Clone, Copy, Debug)]
enum Situation {
    /// The path alone, with this gate.
    Path(Gate),
    /// Exchanges of so many bytes each way.
    Exchange(usize),
}

impl Situation {
    fn of(case: &Case) -> Self {
        let gate = GATES.iter().find(|(name, ..)| *name == case.name);
        let bytes = SIZES.into_iter().find(|&bytes| exchange_name(bytes) == case.name);
        match (gate, bytes) {
            (Some(&(_, _, events)), _) => Self::Path(Gate { events, hz: HZ }),
            (None, bytes) => Self::Exchange(bytes.unwrap_or(SIZES[0])),
        }
    }
}

fn exchange_name(bytes: usize) -> String {
    format!("tcp-{}k", bytes >> 10)
}

impl Comparison for IrqMix {
    fn name(&self) -> &str {
        &CLAIM.experiment
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let paths = GATES.map(|(name, title, _)| Case {
            name: name.to_owned(),
            title: title.to_owned(),
            tasks: 1,
            operation: "interrupt",
            variants: ON_THE_PATH.into_iter().map(path_variant).collect(),
        });
        let exchanges = SIZES.map(|bytes| Case {
            name: exchange_name(bytes),
            title: format!(
                "{} KiB there and back over the loopback device, a stand-in for interrupts on the CPU that asks",
                bytes >> 10
            ),
            tasks: 2,
            operation: "exchange",
            variants: IN_AN_EXCHANGE.into_iter().map(exchange_variant).collect(),
        });
        paths.into_iter().chain(exchanges).collect()
    }

    fn only_in_full_runs(&self, case: &Case) -> bool {
        matches!(Situation::of(case), Situation::Exchange(bytes) if !QUICK_SIZES.contains(&bytes))
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        match Situation::of(case) {
            Situation::Path(gate) => same_path(gate),
            Situation::Exchange(bytes) => same_exchange(bytes),
        }
    }

    fn waits_by_design(&self, _case: &Case) -> bool {
        // The worker takes the CPU from whoever woke it, and each side of an exchange waits for the other.
        true
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        match Situation::of(case) {
            Situation::Path(gate) => Box::new(Path::new(ON_THE_PATH[variant], gate)),
            Situation::Exchange(bytes) => {
                Box::new(Exchange::new(bytes, stand_in(IN_AN_EXCHANGE[variant]), seed))
            }
        }
    }

    fn prepare_operation_timed(&self, case: &Case, variant: usize, _seed: u64) -> Option<Box<dyn Workload>> {
        match Situation::of(case) {
            Situation::Path(gate) => Some(Box::new(Path::timed(ON_THE_PATH[variant], gate))),
            Situation::Exchange(_) => None,
        }
    }
}

/// The mail's gate for all, so that the ways differ in nothing else.
fn stand_in(during: During) -> Option<StandIn> {
    match during {
        During::Nothing => None,
        During::Interrupts(way) => Some(StandIn::new(way, Gate::deferred(HZ))),
    }
}

fn way_name(way: Option<Way>) -> String {
    way.map_or_else(|| "stirred-only".to_owned(), |way| way.to_string())
}

fn path_variant(way: Option<Way>) -> VariantInfo {
    let summary = match way {
        Some(Way::InInterrupt) => "mixed inside the interrupt, if the pool's lock is free (up to Linux 5.17)".to_owned(),
        Some(Way::Worker) => format!("a worker on the same CPU is woken (Linux 5.18 to 6.0){}", *WORKER_DOUBT),
        Some(Way::Timer) => "left to the next tick of the CPU (merged in Linux 6.1)".to_owned(),
        Some(Way::DeferrableTimer) => {
            "the same, but an idle CPU is not woken for it: as posted in the mail; on a busy CPU it is the timer"
                .to_owned()
        }
        None => "control: stirred and counted, never handed over".to_owned(),
    };
    VariantInfo { name: way_name(way), summary, named: true, unavailable: None }
}

fn exchange_variant(during: During) -> VariantInfo {
    match during {
        During::Nothing => VariantInfo {
            name: "control".to_owned(),
            summary: "the stand-in does nothing".to_owned(),
            named: true,
            unavailable: None,
        },
        During::Interrupts(None) => VariantInfo {
            summary: "the stand-in's own cost: an interrupt stirred and counted for every 1500 bytes, never handed over"
                .to_owned(),
            ..path_variant(None)
        },
        During::Interrupts(way) => path_variant(way),
    }
}

/// What keeps a worker here from being one of high priority.
static WORKER_DOUBT: LazyLock<String> = LazyLock::new(|| {
    StandIn::worker_refused().map_or_else(String::new, |why| {
        format!("; here of ordinary priority, so it may come late and mix less often ({why})")
    })
});

/// Runs `proof` on one CPU, as batches run: a worker is woken where its interrupts are.
fn on_one_cpu<T: Send>(proof: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    let pinned = || {
        affinity::current()
            .and_then(affinity::pin)
            .map_err(|errno| format!("a thread cannot be pinned: {errno}"))?;
        proof()
    };
    thread::scope(|scope| scope.spawn(pinned).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn same_path(gate: Gate) -> Result<String, String> {
    let mut mixes = Vec::new();
    for way in ON_THE_PATH {
        let tally = on_one_cpu(|| path::prove(way, gate))?;
        mixes.push(format!("{} by {}", tally.mixes, way_name(way)));
    }
    let said = format!(
        "{EVENTS} interrupts: the same words by all, each interrupt handed over once or still counted; mixes: {}",
        mixes.join(", ")
    );
    if gate != Way::Timer.gate(HZ) {
        return Ok(said);
    }
    let (ticking, _) = path::idle_for_ten_minutes(Way::Timer);
    let (deferred, waiting) = path::idle_for_ten_minutes(Way::DeferrableTimer);
    Ok(format!(
        "{said}. A CPU that is idle for ten minutes with one interrupt a tick mixes {ticking} times by timer and \
         {deferred} times by deferrable timer, where {waiting} interrupts wait"
    ))
}

fn same_exchange(bytes: usize) -> Result<String, String> {
    let mut mixes = Vec::new();
    for during in IN_AN_EXCHANGE {
        let name = exchange_variant(during).name;
        let tally = on_one_cpu(|| exchange::prove(bytes, stand_in(during)))
            .map_err(|why| format!("{name}: {why}"))?;
        mixes.push(format!("{} by {name}", tally.mixes));
    }
    Ok(format!(
        "the bytes come back as they were sent, an interrupt for every 1500 of them, each handed over once or still \
         counted; mixes of a batch: {}",
        mixes.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_does_the_work_that_it_says() {
        for case in IrqMix.cases(2) {
            let said = IrqMix.work_check(&case).unwrap_or_else(|difference| panic!("{difference}"));
            assert!(said.contains("handed over once or still counted"), "{said}");
        }
    }

    #[test]
    fn mixes_are_those_that_gate_and_ticks_allow() {
        let mixes = |way, events| path::prove(Some(way), Gate { events, hz: HZ }).unwrap().mixes;
        // 12800 / 1024, and / 64.
        assert_eq!([1024, 64].map(|events| mixes(Way::InInterrupt, events)), [12, 200]);
        // The gate opens in the third tick of three, so every third tick mixes; or within every tick.
        assert_eq!([1024, 64].map(|events| mixes(Way::Timer, events)), [10, 32]);
    }

    #[test]
    fn the_claim_names_a_case_and_variants_that_exist() {
        let mechanism = &IrqMix.claim().mechanism;
        let cases = IrqMix.cases(1);
        let case = cases.iter().find(|case| case.name == mechanism.case).unwrap();
        for name in [&mechanism.baseline, &mechanism.candidate] {
            assert!(case.variants.iter().any(|variant| variant.name == *name), "{name}");
        }
        assert!(IrqMix.claim().claim.test.is_none());
    }

    #[test]
    fn a_quick_run_has_the_ends_and_the_middle_of_the_mail_s_sizes() {
        let cases = IrqMix.cases(2);
        let quick: Vec<_> =
            cases.iter().filter(|case| !IrqMix.only_in_full_runs(case)).map(|case| &*case.name).collect();
        assert_eq!(quick, ["path-1024", "path-64", "tcp-4k", "tcp-64k", "tcp-1024k"]);
        assert_eq!(cases.len(), 2 + 9);
    }

    #[test]
    fn every_interrupt_is_timed_once_and_only_a_worker_is_woken() {
        let case = &IrqMix.cases(1)[0];
        for (variant, way) in ON_THE_PATH.into_iter().enumerate() {
            let mut timed = IrqMix.prepare_operation_timed(case, variant, 1).unwrap();
            timed.reset();
            assert_eq!(timed.run(0), EVENTS);
            let seen = timed.operation_times().unwrap();
            assert_eq!(seen.times.n(), EVENTS);
            assert_eq!(seen.wakeups > 0, way == Some(Way::Worker), "{way:?}");
        }
        assert!(IrqMix.prepare_operation_timed(&IrqMix.cases(1)[2], 0, 1).is_none());
    }

    #[test]
    fn a_control_and_the_stand_in_alone_hand_nothing_over() {
        for during in [During::Nothing, During::Interrupts(None)] {
            let tally = exchange::prove(1 << 20, stand_in(during)).unwrap();
            assert_eq!((tally.mixes, tally.handed, tally.wakeups), (0, 0, 0));
        }
    }
}
