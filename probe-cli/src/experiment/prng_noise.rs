//! What does noise from the clock cost a fast generator, and when is it read? (Linux, August 2020.)
//!
//! The mail's own figures are connections that a kernel of 2020 accepts, which no machine of today has. Here is the draw:
//! the generator that was replaced, the one that replaced it, and that one with every gate of the thread. Beside it
//! stand connections of this machine with draws in them, and packets past a rule that draws.

mod accept;
mod packet;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{LazyLock, Mutex, PoisonError};

use entropy_core::history::{Gate, GateUser, Lfsr113, NoiseGate, Noisy, Siprand};

use self::accept::Accepting;
use self::packet::{Passing, Rule};
use super::cycles::Cycles;
use super::question::{Candidate, Load, Question};
use super::{Case, Comparison, Experiment, VariantInfo, Workload};
use crate::claim::Claim;
use crate::stats::rng::Rng;
use crate::sys::cache;

/// The mails of August 2020.
#[derive(Debug)]
pub struct PrngNoise;

static CLAIM: LazyLock<Claim> =
    LazyLock::new(|| Claim::embedded(include_str!("../../claims/prng-noise.toml")));

/// Draws of a batch from one generator: a gate of every eighth draw and one of every ninth both come out even.
const DRAWS: u64 = 100 * PERIOD;

/// Draws after which every counting gate is where it was.
const PERIOD: u64 = 8 * 9;

/// Generators of a batch that draws from each once.
const GENERATORS: u64 = 4 * PERIOD;

/// Draws of the proof that variants do what they say.
const PROOF_DRAWS: u64 = 10 * PERIOD;

const HOT: &str = "draw";
const COLD: &str = "draw-cold";
const ACCEPT: &str = "accept";
const PACKET: &str = "packet";

/// Generators whose draws stand beside a connection: those that the mail compares, and what came of it.
const BESIDE_A_CONNECTION: [Generator; 5] = [
    Generator::Siprand(Gate::None),
    Generator::Lfsr113,
    Generator::Siprand(Gate::EveryDraw),
    Generator::Siprand(Gate::CountUp),
    Generator::Siprand(Gate::Upstream),
];

/// A generator of the kernel, with its noise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Generator {
    /// Up to Linux 5.8.
    Lfsr113,
    /// SipHash, and this.
    Siprand(Gate),
}

impl Generator {
    /// The plain one first: it is what noise is added to.
    fn all() -> impl Iterator<Item = Self> {
        let mut gates = Gate::ALL.iter().map(|&gate| Self::Siprand(gate));
        gates.next().into_iter().chain([Self::Lfsr113]).chain(gates)
    }

    fn name(self) -> String {
        match self {
            Self::Lfsr113 => "lfsr113".to_owned(),
            Self::Siprand(Gate::None) => "plain".to_owned(),
            Self::Siprand(gate) => gate.to_string(),
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::Lfsr113 => "four shift registers, up to Linux 5.8",
            Self::Siprand(Gate::None) => "two rounds of SipHash, no noise",
            Self::Siprand(Gate::EveryDraw) => "the clock at every draw: the mail's first attempt",
            Self::Siprand(Gate::CountUp) => "the clock at every 8th draw, counting up: the mail's proposal",
            Self::Siprand(Gate::CountUpSigned) => "the same with a signed counter",
            Self::Siprand(Gate::CountDown) => "counting down from 8, as suggested: every 9th draw",
            Self::Siprand(Gate::CountDownUnsigned) => "the same with an unsigned counter",
            Self::Siprand(Gate::CountDownMended) => "counting down from 7: every 8th draw",
            Self::Siprand(Gate::Statistical) => {
                "the clock when three bits of the state are zero: 1 draw in 8"
            }
            Self::Siprand(Gate::Buffered) => "the clock at every draw, eight readings added at every 8th",
            Self::Siprand(Gate::Upstream) => {
                "as merged in Linux 5.10: noise is left by others, no clock in a draw"
            }
        }
    }
}

impl Experiment for PrngNoise {
    fn claim(&self) -> &'static Claim {
        &CLAIM
    }

    fn live(&self, _tasks: usize) -> Vec<Question> {
        let prandom = Question {
            target: "random:prandom",
            question: "what a draw from the kernel's LFSR113 costs today, called from a program: the call itself and \
                       the preemption guard of the generator are in it; each sample is the mean of a loop, the time \
                       of the same loop without calls subtracted",
            load: Load::InKernel { bytes: None },
            tasks: 1,
            candidates: &[Candidate::Called("bpf_get_prandom_u32")],
        };
        let accept = Question {
            target: "syscall:accept4",
            question: "what accepting a connection that is there costs, one that the same task has asked for over the \
                       loopback device; asking, answering and closing are not in it",
            load: Load::Accept,
            tasks: 1,
            candidates: &[Candidate::SyscallEvents("accept4"), Candidate::RawSyscall("accept4")],
        };
        let draws = Question {
            target: "random:get-random-u32",
            question: "what the draws of today's network stack cost, and how many there are, during such connections",
            load: Load::Connect,
            tasks: 1,
            candidates: &[Candidate::Function("get_random_u32")],
        };
        vec![prandom, accept, draws]
    }
}

impl Comparison for PrngNoise {
    fn name(&self) -> &str {
        &CLAIM.experiment
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let case = |name: &str, title: String, operation, variants| Case {
            name: name.to_owned(),
            title,
            tasks: 1,
            operation,
            variants,
        };
        let all = || Generator::all().map(variant).collect();
        let connections = format!(
            "a connection over the loopback device, both ends on one core, with {} draws",
            accept::DRAWS_EACH
        );
        vec![
            case(HOT, "draws one after the other, state in the cache".to_owned(), "draw", all()),
            case(COLD, "one draw now and then: the state is in no cache".to_owned(), "draw", all()),
            case(ACCEPT, connections, "connection", BESIDE_A_CONNECTION.map(variant).into()),
            case(
                PACKET,
                "a packet over the loopback device of a network namespace, past a rule".to_owned(),
                "packet",
                Rule::ALL.map(rule_variant).into(),
            ),
        ]
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        if case.name == PACKET {
            return Ok(format!("{} packets are sent and received past each rule", packet::PACKETS));
        }
        let mut readings = BTreeMap::new();
        for generator in generators(case) {
            let read = match generator {
                Generator::Lfsr113 => proven_lfsr113()?,
                Generator::Siprand(gate) => gate.visit(Proof(gate))?,
            };
            readings.entry(read).or_insert_with(Vec::new).push(generator.name());
        }
        let readings: Vec<String> =
            readings.iter().map(|(read, names)| format!("{read} by {}", names.join(", "))).collect();
        Ok(format!(
            "{PROOF_DRAWS} draws of each are those of its description; the clock is read {}",
            readings.join("; ")
        ))
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        let of = match &*case.name {
            PACKET => return Box::new(Passing::new(Rule::ALL[variant])),
            ACCEPT => Of::Connections,
            COLD => Of::Cold,
            _ => Of::Hot,
        };
        match generators(case)[variant] {
            Generator::Siprand(gate) => gate.visit(Prepare { of, seed }),
            Generator::Lfsr113 => workload(of, seed, |seed| Lfsr113::seeded(seed as u32)),
        }
    }
}

/// The generators that are the variants of a case with draws.
fn generators(case: &Case) -> Vec<Generator> {
    if case.name == ACCEPT { BESIDE_A_CONNECTION.into() } else { Generator::all().collect() }
}

fn rule_variant(rule: Rule) -> VariantInfo {
    VariantInfo {
        name: rule.name().to_owned(),
        summary: rule.summary().to_owned(),
        named: true,
        unavailable: packet::refused().map(str::to_owned),
    }
}

fn variant(generator: Generator) -> VariantInfo {
    VariantInfo {
        name: generator.name(),
        summary: generator.summary().to_owned(),
        named: true,
        unavailable: None,
    }
}

/// What is drawn from. The draw is a call, as in the kernel: the state goes through memory each time.
trait Draw: Clone + Send + Sync + 'static {
    fn draw(&mut self) -> u32;
}

impl Draw for Lfsr113 {
    #[inline(never)]
    fn draw(&mut self) -> u32 {
        Self::draw(self)
    }
}

impl<G: NoiseGate<u64> + Clone + Send + Sync + 'static> Draw for Noisy<u64, G> {
    #[inline(never)]
    fn draw(&mut self) -> u32 {
        Self::draw(self, &mut Cycles)
    }
}

/// What is made of draws.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// One after the other.
    Hot,
    /// One of each generator.
    Cold,
    /// Some in each connection.
    Connections,
}

struct Prepare {
    of: Of,
    seed: u64,
}

impl GateUser<u64> for Prepare {
    type Output = Box<dyn Workload>;

    fn with<G: NoiseGate<u64> + Clone + Default + Send + Sync + 'static>(self, gate: G) -> Self::Output {
        workload(self.of, self.seed, |seed| Noisy::new(siprand(seed), gate.clone()))
    }
}

fn siprand(seed: u64) -> Siprand<u64> {
    let mut rng = Rng::new(seed);
    Siprand::reseeded([rng.next_u64(), rng.next_u64()], [0; 2])
}

fn workload<D: Draw>(of: Of, seed: u64, generator: impl Fn(u64) -> D) -> Box<dyn Workload> {
    match of {
        Of::Hot => return Box::new(Hot(generator(seed))),
        Of::Connections => return Box::new(Accepting::new(generator(seed))),
        Of::Cold => {}
    }
    let mut rng = Rng::new(seed);
    let mut generators: Vec<Box<D>> = (0..GENERATORS).map(|_| Box::new(generator(rng.next_u64()))).collect();
    // Each is elsewhere in its count, so that of every batch the same share reads the clock.
    for (number, generator) in generators.iter_mut().enumerate() {
        for _ in 0..number % PERIOD as usize {
            generator.draw();
        }
    }
    rng.shuffle(&mut generators);
    Box::new(Cold(Mutex::new(generators)))
}

/// Many draws from one generator.
struct Hot<D>(D);

impl<D: Draw> Workload for Hot<D> {
    fn reset(&mut self) {
        for _ in 0..PERIOD {
            black_box(self.0.draw());
        }
    }

    fn run(&self, _task: usize) -> u64 {
        // A copy, so that every batch does the same.
        let mut generator = self.0.clone();
        for _ in 0..DRAWS {
            black_box(black_box(&mut generator).draw());
        }
        DRAWS
    }
}

/// One draw from each of many generators, which are not in the cache when it begins.
struct Cold<D>(Mutex<Vec<Box<D>>>);

impl<D: Draw> Workload for Cold<D> {
    fn reset(&mut self) {
        let generators = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for generator in generators.iter() {
            cache::flush(std::slice::from_ref(&**generator));
        }
    }

    fn run(&self, _task: usize) -> u64 {
        let mut generators = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for generator in generators.iter_mut() {
            black_box(generator.draw());
        }
        generators.len() as u64
    }
}

/// A clock that every proof reads alike.
fn scripted(reading: u64) -> u64 {
    reading.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Runs a gate beside its description; how often it read the clock.
struct Proof(Gate);

impl GateUser<u64> for Proof {
    type Output = Result<u64, String>;

    fn with<G: NoiseGate<u64> + Clone + Default + Send + Sync + 'static>(self, gate: G) -> Self::Output {
        let start = siprand(2020);
        let mut naive = Naive { state: start.state(), noise: 0, readings: 0, buffer: Vec::new() };
        let mut generator = Noisy::new(start, gate);
        let mut readings = 0;
        for draw in 1..=PROOF_DRAWS {
            let found = generator.draw(&mut || {
                readings += 1;
                scripted(readings)
            });
            if found != naive.draw(self.0, draw) || readings != naive.readings {
                return Err(format!("{} is not what it says at draw {draw}", self.0));
            }
        }
        match self.0.readings(PROOF_DRAWS) {
            Some(expected) if expected != readings => {
                Err(format!("{} read the clock {readings} times and not {expected}", self.0))
            }
            _ => Ok(readings),
        }
    }
}

/// The generator in the plainest form, with every gate told by the number of the draw.
struct Naive {
    state: [u64; 4],
    noise: u64,
    readings: u64,
    buffer: Vec<u64>,
}

impl Naive {
    fn read(&mut self) -> u64 {
        self.readings += 1;
        scripted(self.readings)
    }

    fn draw(&mut self, gate: Gate, draw: u64) -> u32 {
        let saved = match gate {
            Gate::None | Gate::Upstream | Gate::Statistical | Gate::Buffered => false,
            Gate::EveryDraw => true,
            Gate::CountUp | Gate::CountUpSigned => draw.is_multiple_of(8),
            Gate::CountDown | Gate::CountDownUnsigned => draw % 9 == 1,
            Gate::CountDownMended => draw % 8 == 1,
        };
        if saved {
            self.state[3] ^= self.noise;
            self.noise = self.noise.wrapping_add(self.read());
        }
        if gate == Gate::Statistical && self.state[3].is_multiple_of(8) {
            self.state[3] ^= self.read();
        }
        if gate == Gate::Buffered {
            let reading = self.read();
            self.buffer.push(reading & 0xffff_ffff);
            if self.buffer.len() == 8 {
                for (word, pair) in self.state.iter_mut().zip(self.buffer.chunks(2)) {
                    *word = word.wrapping_add(pair[0] + (pair[1] << 32));
                }
                self.buffer.clear();
            }
        }
        let [mut a, mut b, mut c, mut d] = self.state;
        for _ in 0..2 {
            a = a.wrapping_add(b);
            c = c.wrapping_add(d);
            b = b.rotate_left(13) ^ a;
            d = d.rotate_left(16) ^ c;
            a = a.rotate_left(32).wrapping_add(d);
            c = c.wrapping_add(b);
            d = d.rotate_left(21) ^ a;
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
        }
        self.state = [a, b, c, d];
        b.wrapping_add(d) as u32
    }
}

/// The shift registers one bit at a time, as recurrences; they read no clock.
fn proven_lfsr113() -> Result<u64, String> {
    let mut generator = Lfsr113::seeded(2020);
    let mut registers = generator.state();
    // Bits, distance of the feedback, and step of each register.
    let shape = [(31, 6, 18), (29, 2, 2), (28, 13, 7), (25, 3, 13)];
    for draw in 1..=PROOF_DRAWS {
        for (register, (bits, feedback, step)) in registers.iter_mut().zip(shape) {
            for _ in 0..step {
                // The newest bit is the lowest; one of age n, counted from the next, is at place n - 1.
                let of_age = |age: u32| *register >> (age - 1) & 1;
                let newest = of_age(bits) ^ of_age(bits - feedback);
                *register = *register << 1 | newest;
            }
        }
        let expected = registers.iter().fold(0, |sum, register| sum ^ register);
        if generator.draw() != expected {
            return Err(format!("lfsr113 is not what it says at draw {draw}"));
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_does_the_work_that_it_says() {
        let all = PrngNoise.cases(2);
        for case in &all {
            PrngNoise.work_check(case).unwrap_or_else(|difference| panic!("{difference}"));
        }
        for case in all.iter().filter(|case| case.operation == "draw") {
            let said = PrngNoise.work_check(case).unwrap_or_default();
            // 720 draws: every 8th, every 9th.
            for words in
                ["720 by every-draw, buffered", "90 by count-up, ", "80 by count-down, count-down-uns"]
            {
                assert!(said.contains(words), "{said}");
            }
        }
    }

    #[test]
    fn the_plain_generator_is_the_baseline_and_every_gate_is_there() {
        for case in PrngNoise.cases(1).iter().filter(|case| case.operation == "draw") {
            let names: Vec<&str> = case.variants.iter().map(|variant| variant.name.as_str()).collect();
            assert_eq!(names[..3], ["plain", "lfsr113", "every-draw"]);
            assert_eq!(names.len(), Gate::ALL.len() + 1);
        }
    }

    #[test]
    fn the_claim_names_a_case_and_variants_that_exist() {
        let claim = PrngNoise.claim();
        let mechanism = &claim.mechanism;
        let cases = PrngNoise.cases(1);
        let case = cases.iter().find(|case| case.name == mechanism.case).unwrap();
        for name in [&mechanism.baseline, &mechanism.candidate] {
            assert!(case.variants.iter().any(|variant| variant.name == *name), "{name}");
        }
        assert!(claim.claim.test.is_none());
    }

    #[test]
    fn every_variant_does_the_draws_it_counts() {
        for case in PrngNoise.cases(1) {
            for variant in 0..case.variants.len() {
                if case.variants[variant].unavailable.is_some() {
                    continue;
                }
                let mut workload = PrngNoise.prepare(&case, variant, 1);
                workload.reset();
                let expected = match &*case.name {
                    COLD => GENERATORS,
                    ACCEPT => accept::CONNECTIONS,
                    PACKET => packet::PACKETS,
                    _ => DRAWS,
                };
                assert_eq!(workload.run(0), expected, "{}", case.variants[variant].name);
            }
        }
    }
}
