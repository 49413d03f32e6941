//! The generators of entropy-core against the kernel's and the ecosystem's, request by request.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use chacha20::ChaCha20Legacy;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use entropy_core::chacha::{Backend, ChaCha20};
use entropy_core::fast::{ErasingRng, FastRng, ThreadRng};
use entropy_core::system::SystemRng;
use entropy_core::vdso::{Function, State};
use probe_cli::experiment::{Case, Comparison, VariantInfo, Workload};
use rand::rand_core::UnwrapErr;
use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha20Rng;

use super::target::{Aim, Judge, Part, Sweep};

const NAME: &str = "generators";
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Sizes of a request, bytes.
const SIZES: [usize; 5] = [32, KIB, 4 * KIB, 64 * KIB, MIB];

/// Sizes from which the targets of long requests hold.
const LONG: [usize; 3] = [4 * KIB, 64 * KIB, MIB];

/// Bytes of a batch: long beside reading the clock.
const BATCH_BYTES: usize = MIB;
/// Requests of a batch where they are short.
const MOST_REQUESTS: usize = 8 * KIB;

const CALL: &str = "getrandom-call";
const VDSO: &str = "vdso-direct";
const RAND: &str = "rand-thread-rng";
const RAND_CHACHA: &str = "rand-chacha20";
const CRATE: &str = "chacha20-crate";
const SYSTEM: &str = "system";
const FAST: &str = "fast";
const FAST_AVX2: &str = "fast-avx2";
const THREAD: &str = "thread";
const ERASING: &str = "erasing";
const STREAM: &str = "key-stream";
const BOTH: &str = "two-threads";
const ALONE: &str = "one-of-two-threads";

/// A cipher's requests are whole blocks: ours throws away the rest of one, the crate goes on with it.
const FILLERS: [&str; 11] =
    [CALL, VDSO, SYSTEM, RAND, RAND_CHACHA, FAST, FAST_AVX2, THREAD, ERASING, CRATE, STREAM];
const SHORT_FILLERS: &[&str] = FILLERS.split_at(9).0;
const DRAWERS: [&str; 8] = [CALL, VDSO, RAND, RAND_CHACHA, FAST, FAST_AVX2, THREAD, ERASING];
const THREADS: [&str; 2] = [ALONE, BOTH];

/// What a batch consists of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Work {
    /// Requests of so many bytes.
    Fill(usize),
    /// Numbers of 32 bits.
    Number,
    /// Requests of so many bytes by two tasks, or by one of the two.
    Pair(usize),
}

impl Work {
    fn all() -> impl Iterator<Item = Self> {
        let fills = SIZES.into_iter().map(Self::Fill);
        fills.chain([Self::Number, Self::Pair(32), Self::Pair(4 * KIB)])
    }

    fn name(self) -> String {
        match self {
            Self::Fill(bytes) => sized("fill", bytes),
            Self::Number => "u32".to_owned(),
            Self::Pair(bytes) => sized("pair", bytes),
        }
    }

    fn title(self) -> String {
        match self {
            Self::Fill(bytes) => format!("requests of {bytes} bytes"),
            Self::Number => "numbers of 32 bits".to_owned(),
            Self::Pair(bytes) => format!("requests of {bytes} bytes by two tasks, or by one of two"),
        }
    }

    const fn tasks(self) -> usize {
        if matches!(self, Self::Pair(_)) { 2 } else { 1 }
    }

    const fn variants(self) -> &'static [&'static str] {
        match self {
            Self::Fill(bytes) if bytes < KIB => SHORT_FILLERS,
            Self::Fill(_) => &FILLERS,
            Self::Number => &DRAWERS,
            Self::Pair(_) => &THREADS,
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::Fill(bytes) | Self::Pair(bytes) => bytes,
            Self::Number => 4,
        }
    }

    fn requests(self) -> usize {
        (BATCH_BYTES / self.bytes()).clamp(1, MOST_REQUESTS)
    }
}

fn sized(name: &str, bytes: usize) -> String {
    match bytes {
        _ if bytes >= MIB => format!("{name}-{}M", bytes / MIB),
        _ if bytes >= KIB => format!("{name}-{}K", bytes / KIB),
        _ => format!("{name}-{bytes}"),
    }
}

fn find(case: &Case) -> Option<Work> {
    Work::all().find(|work| work.name() == case.name)
}

/// A source of random bytes, ours or a peer's, and the loops around it that the compiler sees through.
trait Draw {
    /// One request.
    fn draw(&mut self, out: &mut [u8]);

    /// A number of 32 bits.
    #[inline]
    fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.draw(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn draws(&mut self, out: &mut [u8], requests: usize) {
        for _ in 0..requests {
            self.draw(out);
            black_box(&mut *out);
        }
    }

    fn numbers(&mut self, numbers: usize) {
        for _ in 0..numbers {
            black_box(self.number());
        }
    }
}

/// The system call and nothing else.
struct Call;

impl Draw for Call {
    fn draw(&mut self, out: &mut [u8]) {
        SystemRng.fill_by_call(out).expect("the kernel gives numbers");
    }
}

impl Draw for State {
    #[inline]
    fn draw(&mut self, out: &mut [u8]) {
        assert_eq!(self.fill(out, 0), Ok(out.len()), "the kernel gives numbers");
    }
}

/// Whatever has the traits that everybody uses.
struct Generator<R>(R);

impl<R: Rng> Draw for Generator<R> {
    #[inline]
    fn draw(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }

    #[inline]
    fn number(&mut self) -> u32 {
        self.0.next_u32()
    }
}

/// rand's handle is of one thread, and is had at the beginning of a batch.
struct RandThread;

impl Draw for RandThread {
    fn draw(&mut self, out: &mut [u8]) {
        rand::rng().fill_bytes(out);
    }

    fn draws(&mut self, out: &mut [u8], requests: usize) {
        Generator(rand::rng()).draws(out, requests);
    }

    fn numbers(&mut self, numbers: usize) {
        Generator(rand::rng()).numbers(numbers);
    }
}

impl Draw for ChaCha20 {
    #[inline]
    fn draw(&mut self, out: &mut [u8]) {
        self.fill(out);
    }
}

impl Draw for ChaCha20Legacy {
    #[inline]
    fn draw(&mut self, out: &mut [u8]) {
        self.write_keystream(out);
    }
}

const KEY: [u8; 32] = [7; 32];

fn avx2() -> Option<Backend> {
    Backend::all().into_iter().find_map(|(name, backend)| backend.filter(|_| name == "avx2"))
}

/// A source by its name, or why it cannot be had here.
fn source(variant: &str) -> Result<Box<dyn Draw + Send>, String> {
    let fast = |builder: entropy_core::fast::Builder| builder.build().map_err(|error| error.to_string());
    Ok(match variant {
        CALL => Box::new(Call),
        VDSO => {
            let function = Function::find().ok_or("this kernel has no getrandom in its vDSO")?;
            Box::new(State::borrow(function).ok_or("the kernel maps no memory for a state")?)
        }
        SYSTEM => Box::new(Generator(UnwrapErr(SystemRng))),
        RAND => Box::new(RandThread),
        RAND_CHACHA => Box::new(Generator(ChaCha20Rng::from_seed(KEY))),
        FAST | BOTH | ALONE => Box::new(Generator(fast(FastRng::builder())?)),
        FAST_AVX2 => {
            let backend = avx2().ok_or("this processor has no AVX2")?;
            Box::new(Generator(fast(FastRng::builder().backend(backend))?))
        }
        THREAD => Box::new(Generator(ThreadRng)),
        ERASING => Box::new(Generator(ErasingRng::new(&KEY))),
        CRATE => Box::new(ChaCha20Legacy::new(&KEY.into(), &[0; 8].into())),
        STREAM => Box::new(ChaCha20::new(&KEY, 0, 0)),
        other => return Err(format!("there is no variant {other}")),
    })
}

/// The sources, ours and theirs.
#[derive(Debug)]
pub(crate) struct Generators;

impl Comparison for Generators {
    fn name(&self) -> &str {
        NAME
    }

    fn cases(&self, cpus: usize) -> Vec<Case> {
        let variant = |name: &&str| VariantInfo {
            name: (*name).to_owned(),
            summary: name.replace('-', " "),
            named: true,
            unavailable: source(name).err(),
        };
        let case = |work: Work| Case {
            name: work.name(),
            title: work.title(),
            tasks: work.tasks(),
            operation: "request",
            variants: work.variants().iter().map(variant).collect(),
        };
        Work::all().filter(|work| work.tasks() <= cpus).map(case).collect()
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        let work = find(case).ok_or_else(|| format!("there is no case {}", case.name))?;
        let mut streams = Vec::new();
        for VariantInfo { name, .. } in case.variants.iter().filter(|known| known.unavailable.is_none()) {
            let mut source = source(name)?;
            let mut first = vec![0; work.bytes()];
            let mut second = first.clone();
            source.draws(&mut first, 1);
            source.draws(&mut second, 1);
            // Sixteen zeros are chance once in 2^128; so is the same request twice.
            if work.bytes() >= 16 && first.windows(16).any(|window| window == [0; 16]) {
                return Err(format!("{name} leaves a part of a request as it was"));
            }
            if work.bytes() >= 16 && first == second {
                return Err(format!("{name} gives the same bytes twice"));
            }
            if [CRATE, STREAM].contains(&name.as_str()) {
                streams.push((first, second));
            }
        }
        if streams.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("the key streams differ".to_owned());
        }
        Ok("each request is filled to its end with new bytes, and the key streams of one key are the same"
            .to_owned())
    }

    fn prepare(&self, case: &Case, variant: usize, _seed: u64) -> Box<dyn Workload> {
        let work = find(case).expect("the cases are made from the works");
        let name = &case.variants[variant].name;
        let task = |task| {
            let source = source(name).unwrap_or_else(|missing| panic!("{missing}"));
            Mutex::new(Task { source, out: vec![0; work.bytes()], idle: name == ALONE && task > 0 })
        };
        Box::new(Batch { work, tasks: (0..work.tasks()).map(task).collect() })
    }
}

struct Batch {
    work: Work,
    tasks: Vec<Mutex<Task>>,
}

struct Task {
    source: Box<dyn Draw + Send>,
    out: Vec<u8>,
    /// There to be alone beside.
    idle: bool,
}

impl Workload for Batch {
    fn reset(&mut self) {}

    fn run(&self, task: usize) -> u64 {
        // Held by its own task only.
        let mut task = self.tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
        let Task { source, out, idle } = &mut *task;
        if *idle {
            return 0;
        }
        let requests = self.work.requests();
        match self.work {
            Work::Number => source.numbers(requests),
            Work::Fill(_) | Work::Pair(_) => source.draws(out, requests),
        }
        requests as u64
    }
}

/// A row's part for each size.
fn parts(sizes: &[usize], ours: &'static str, peer: &'static str, aim: impl Fn(usize) -> Aim) -> Vec<Part> {
    let part = |&bytes: &usize| Part { case: Work::Fill(bytes).name(), ours, peer, aim: aim(bytes) };
    sizes.iter().map(part).collect()
}

/// The targets of the generators.
pub(crate) fn sweeps() -> Vec<Sweep> {
    use Aim::{AtLeast, AtMost, NsMore};

    let sweep =
        |id, work, parts, note| Sweep { id, work, comparison: NAME, judged_by: Judge::Worst, parts, note };
    let from_4k = |short: f64, long: f64| move |bytes| AtLeast(if bytes < 4 * KIB { short } else { long });
    let listed = [32, LONG[0], LONG[1], LONG[2]];
    let numbers = |ours, peer, aim| vec![Part { case: Work::Number.name(), ours, peer, aim }];
    let pair = |bytes| Part { case: Work::Pair(bytes).name(), ours: BOTH, peer: ALONE, aim: AtLeast(1.8) };
    vec![
        sweep(
            "E1",
            "generator against the getrandom system call",
            parts(&SIZES, FAST, CALL, |_| AtLeast(1.0)),
            || "no target beyond being no slower: printed to compare with".to_owned(),
        ),
        sweep(
            "E2",
            "generator against the kernel's vDSO getrandom, called directly",
            parts(&listed, FAST, VDSO, from_4k(3.5, 5.0)),
            note,
        ),
        sweep(
            "E3",
            "generator against rand's thread generator, which has 12 rounds and erases nothing",
            parts(&listed, FAST, RAND, from_4k(1.0, 1.1)),
            note,
        ),
        sweep(
            "E3",
            "numbers of 32 bits by the generator, against rand's thread generator",
            numbers(FAST, RAND, AtMost(1.5)),
            note,
        ),
        sweep(
            "E3",
            "numbers of 32 bits by the generator of the thread, looked up at each draw, against rand's, held",
            numbers(THREAD, RAND, AtMost(1.5)),
            note,
        ),
        sweep(
            "E3",
            "generator without AVX-512 against rand_chacha's ChaCha20Rng",
            parts(&listed, FAST_AVX2, RAND_CHACHA, |_| AtLeast(0.95)),
            note_of_avx2,
        ),
        sweep(
            "E4",
            "ChaCha20 key stream against the chacha20 crate",
            parts(&LONG, STREAM, CRATE, |_| AtLeast(2.0)),
            note,
        ),
        sweep("E5", "generators of two threads against one", vec![pair(32), pair(4 * KIB)], note),
        sweep(
            "E5",
            "numbers of 32 bits with the fork check, against the same generator in memory that no fork empties",
            numbers(FAST, ERASING, NsMore(1.0)),
            note,
        ),
    ]
}

/// How both sides were built, where ours takes the best backend of this processor.
fn note() -> String {
    built(Backend::best().name())
}

/// The same where ours is held to AVX2.
fn note_of_avx2() -> String {
    built("avx2")
}

fn built(backend: &str) -> String {
    let switch = if cfg!(chacha20_avx512) {
        "the chacha20 crate, and so rand, is built with its AVX-512 switch (--cfg chacha20_avx512)"
    } else {
        "the chacha20 crate, and so rand, is built without its AVX-512 switch: not the peer that is meant; `cargo xtask \
         bench` builds it with RUSTFLAGS=\"--cfg chacha20_avx512\""
    };
    format!("ours: 20 rounds, {backend} backend; {switch}")
}
