//! Kernel primitives, timed by calling them from a program that is run by request: no probe, no system call.

use aya::Ebpf;
use aya::programs::{RawTracePoint, RawTracePointRunOptions, TestRun as _, TestRunOptions, Xdp};
use probe_abi::maps::{CALL_FAILED, CALLS_PER_RUN, program};

use super::object::{self, Sizes};
use super::refusal::{Cause, Refusal};
use super::scope::Scope;
use crate::sys::forwarding;

/// A primitive that can be called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Primitive {
    /// As in `call:NAME`.
    pub name: &'static str,
    /// What one call does.
    pub what: &'static str,
    program: Program,
}

/// What calls it, and what it needs around it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Program {
    /// Runs anywhere.
    Plain(&'static str),
    /// Sees a packet, in a network namespace that forwards packets.
    Forwarding(&'static str),
}

/// Those that there are.
pub const PRIMITIVES: &[Primitive] = &[
    Primitive {
        name: "bpf_get_prandom_u32",
        what: "LFSR113, the generator that the mail of August 2020 is about, as it lives on in the kernel: one 32-bit number",
        program: Program::Plain(program::CALL_PRANDOM),
    },
    Primitive {
        name: "bpf_ktime_get_ns",
        what: "the kernel's monotonic clock, one reading",
        program: Program::Plain(program::CALL_KTIME),
    },
    Primitive {
        name: "bpf_probe_read_user:64",
        what: "a copy of 64 bytes from user space that cannot fault",
        program: Program::Plain(program::CALL_READ_USER_64),
    },
    Primitive {
        name: "bpf_probe_read_user:4096",
        what: "a copy of 4096 bytes from user space that cannot fault",
        program: Program::Plain(program::CALL_READ_USER_4096),
    },
    Primitive {
        name: "bpf_probe_read_kernel:64",
        what: "a copy of 64 bytes inside the kernel that cannot fault",
        program: Program::Plain(program::CALL_READ_KERNEL_64),
    },
    Primitive {
        name: "bpf_probe_read_kernel:4096",
        what: "a copy of 4096 bytes inside the kernel that cannot fault",
        program: Program::Plain(program::CALL_READ_KERNEL_4096),
    },
    Primitive {
        name: "bpf_fib_lookup",
        what: "the route of a forwarded packet, in a namespace with one route beside the local ones: the lookup in the \
               table, and a look for the neighbour, who is not known",
        program: Program::Forwarding(program::CALL_FIB_LOOKUP),
    },
];

impl Primitive {
    /// The one called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        PRIMITIVES.iter().copied().find(|primitive| primitive.name == name)
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct CallTimes {
    /// Calls behind each sample.
    pub calls_per_sample: u32,
    /// Time of one call, ns, the floor of the same repetition subtracted; never below 0.
    pub net_ns: Vec<f64>,
    /// Time of one turn of the loop without a call, ns.
    pub floor_ns: Vec<f64>,
}

/// Calls `primitive` in `repetitions` loops, each beside a loop without a call.
///
/// # Errors
///
/// A program is refused, its surroundings cannot be made, or the calls fail.
pub fn measure(primitive: Primitive, repetitions: u32) -> Result<CallTimes, Refusal> {
    let tried = format!("timing call:{}", primitive.name);
    match primitive.program {
        Program::Plain(_) => measure_here(primitive, repetitions),
        // The namespace is that of one thread, and ends with it.
        Program::Forwarding(_) => std::thread::scope(|scope| {
            let inside = || {
                forwarding::enter().map_err(|error| Refusal::from_error(tried, &error))?;
                measure_here(primitive, repetitions)
            };
            scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }),
    }
}

fn measure_here(primitive: Primitive, repetitions: u32) -> Result<CallTimes, Refusal> {
    let mut ebpf = object::load(Sizes::SMALLEST, &Scope::default())?;
    const FLOOR: Program = Program::Plain(program::CALL_FLOOR);
    for program in [FLOOR, primitive.program] {
        program.load(&mut ebpf)?;
    }
    // Present, since the helper does not fault pages in.
    let source = vec![1_u8; 4096];
    let source = std::hint::black_box(source.as_slice());
    let mut times = CallTimes { calls_per_sample: CALLS_PER_RUN, net_ns: Vec::new(), floor_ns: Vec::new() };
    for repetition in 0..repetitions {
        // Each goes first in turn, so that neither always has the warmer processor.
        let (floor, gross) = if repetition % 2 == 0 {
            let floor = FLOOR.run(&mut ebpf, source)?;
            (floor, primitive.program.run(&mut ebpf, source)?)
        } else {
            let gross = primitive.program.run(&mut ebpf, source)?;
            (FLOOR.run(&mut ebpf, source)?, gross)
        };
        let per_call = |ns: u32| f64::from(ns) / f64::from(CALLS_PER_RUN);
        times.net_ns.push(per_call(gross.saturating_sub(floor)));
        times.floor_ns.push(per_call(floor));
    }
    Ok(times)
}

impl Program {
    const fn name(self) -> &'static str {
        match self {
            Self::Plain(name) | Self::Forwarding(name) => name,
        }
    }

    fn load(self, ebpf: &mut Ebpf) -> Result<(), Refusal> {
        let name = self.name();
        match self {
            Self::Plain(_) => object::program::<RawTracePoint>(ebpf, name).load(),
            Self::Forwarding(_) => object::program::<Xdp>(ebpf, name).load(),
        }
        .map_err(|error| Refusal::from_error(format!("loading {name}"), &error))
    }

    /// One run, in ns.
    fn run(self, ebpf: &mut Ebpf, source: &[u8]) -> Result<u32, Refusal> {
        let name = self.name();
        let tried = || format!("running {name}");
        let elapsed_ns = match self {
            Self::Plain(_) => {
                let mut options = RawTracePointRunOptions::new();
                options.args[0] = source.as_ptr().addr() as u64;
                let program = object::program::<RawTracePoint>(ebpf, name);
                program.test_run(options).map(|result| result.return_value)
            }
            Self::Forwarding(_) => {
                // The packet is not looked at; the kernel wants one as long as its shortest.
                let options = TestRunOptions { data_in: Some(&[0; 64]), ..TestRunOptions::new() };
                let program = object::program::<Xdp>(ebpf, name);
                program.test_run(options).map(|result| result.return_value)
            }
        }
        .map_err(|error| Refusal::from_error(tried(), &error))?;
        if elapsed_ns == CALL_FAILED {
            return Err(Refusal::new(tried(), "the primitive itself failed", Cause::Unknown));
        }
        Ok(elapsed_ns)
    }
}
