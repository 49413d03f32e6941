//! When should a copy go around the cache? (Linux, February 2009.)
//!
//! Blocks into a ring that is used again, as the mail's benchmark writes its file over and over; pages that are
//! filled and left alone; blocks that are read at once; and what each policy drives out of the cache. The policies of
//! 2009 run the routines of 2009, so that a row is a position of that thread; the library's own stand beside them.

pub mod blocks;
mod victim;

use std::sync::LazyLock;

use copy_engine::{Engine, NextUse, PAGE, Policy, Routine, Tally};

use self::blocks::{Blocks, Lines, Mover, Shape};
use self::victim::Victim;
use super::question::{Candidate, Load, Question};
use super::{Case, Comparison, Experiment, VariantInfo, Workload};
use crate::claim::Claim;
use crate::sys::arena::Home;

/// The mail of February 2009.
#[derive(Debug)]
pub struct PageCopy;

static CLAIM: LazyLock<Claim> =
    LazyLock::new(|| Claim::embedded(include_str!("../../claims/page-copy.toml")));

/// Blocks of the mail's benchmark before it begins anew.
const RING: usize = 2000;

/// Every offset of a source inside a line.
pub const OFFSETS_IN_A_LINE: &[usize] = &{
    let mut offsets = [0; 64];
    let mut at = 0;
    while at < offsets.len() {
        offsets[at] = at;
        at += 1;
    }
    offsets
};

/// What a case does with its blocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Use {
    /// Overwrites them soon.
    Ring,
    /// The same, in a file that is mapped.
    File(Home),
    /// Leaves them alone.
    Fill,
    /// The same, the source at every offset inside a line.
    FillOffsets,
    /// Reads them at once.
    Read,
    /// Leaves them alone; what is timed is the reading of something else.
    Victim,
}

impl Use {
    /// What a caller can truly say about the destination.
    const fn hint(self) -> NextUse {
        match self {
            Self::Ring | Self::File(_) | Self::Read => NextUse::ReadSoon,
            Self::Fill | Self::FillOffsets | Self::Victim => NextUse::NotRead,
        }
    }
}

/// A case, as data.
struct Situation {
    name: &'static str,
    title: &'static str,
    bytes: usize,
    blocks: usize,
    then: Use,
}

const SITUATIONS: [Situation; 14] = [
    Situation {
        name: "ring-256",
        title: "256 bytes into a ring of 2000 blocks that is used again",
        bytes: 256,
        blocks: RING,
        then: Use::Ring,
    },
    Situation {
        name: "ring-1024",
        title: "1024 bytes into a ring of 2000 blocks that is used again",
        bytes: 1024,
        blocks: RING,
        then: Use::Ring,
    },
    Situation {
        name: "ring-4096",
        title: "4096 bytes into a ring of 2000 blocks that is used again",
        bytes: PAGE,
        blocks: RING,
        then: Use::Ring,
    },
    Situation {
        name: "tmpfs-256",
        title: "256 bytes into a ring of 2000 blocks in a mapped file of a tmpfs",
        bytes: 256,
        blocks: RING,
        then: Use::File(Home::Memory),
    },
    Situation {
        name: "tmpfs-4096",
        title: "4096 bytes into a ring of 2000 blocks in a mapped file of a tmpfs",
        bytes: PAGE,
        blocks: RING,
        then: Use::File(Home::Memory),
    },
    Situation {
        name: "disk-256",
        title: "256 bytes into a ring of 2000 blocks in a mapped file in /var/tmp",
        bytes: 256,
        blocks: RING,
        then: Use::File(Home::Disk),
    },
    Situation {
        name: "disk-4096",
        title: "4096 bytes into a ring of 2000 blocks in a mapped file in /var/tmp",
        bytes: PAGE,
        blocks: RING,
        then: Use::File(Home::Disk),
    },
    Situation {
        name: "fill-256",
        title: "256 bytes that are in the cache into a block that is not, and is left alone",
        bytes: 256,
        blocks: 512,
        then: Use::Fill,
    },
    Situation {
        name: "fill-4096",
        title: "a page that is in the cache into one that is not, and is left alone",
        bytes: PAGE,
        blocks: 64,
        then: Use::Fill,
    },
    Situation {
        name: "fill-4096-offsets",
        title: "the same, the source 0 to 63 bytes past a line",
        bytes: PAGE,
        blocks: 64,
        then: Use::FillOffsets,
    },
    Situation {
        name: "fill-65536",
        title: "64 KiB that are in the cache into a place that is not, and is left alone",
        bytes: 16 * PAGE,
        blocks: 8,
        then: Use::Fill,
    },
    Situation {
        name: "read-256",
        title: "256 bytes into a block that is read at once",
        bytes: 256,
        blocks: 512,
        then: Use::Read,
    },
    Situation {
        name: "read-4096",
        title: "a page into one that is read at once",
        bytes: PAGE,
        blocks: 64,
        then: Use::Read,
    },
    Situation {
        name: "victim",
        title: "reading 512 KiB again after 4 MiB were copied page by page",
        bytes: PAGE,
        blocks: 1024,
        then: Use::Victim,
    },
];

impl Situation {
    fn of(case: &Case) -> Option<&'static Self> {
        SITUATIONS.iter().find(|situation| situation.name == case.name)
    }

    fn shape(&self) -> Shape {
        let lines = match self.then {
            Use::Ring | Use::File(_) | Use::Read => Lines::Hot,
            Use::Fill | Use::FillOffsets | Use::Victim => Lines::DestinationCold,
        };
        Shape {
            shuffled: !matches!(self.then, Use::Ring | Use::File(_)),
            file: match self.then {
                Use::File(home) => Some(home),
                _ => None,
            },
            read_at_once: self.then == Use::Read,
            source_at: if self.then == Use::FillOffsets { OFFSETS_IN_A_LINE } else { &[0] },
            ..Shape::new(self.bytes, self.blocks, lines)
        }
    }

    fn variants(&self) -> impl Iterator<Item = &'static Variant> {
        // A block of a batch may not be read before the batch has been fenced.
        let batches = self.then != Use::Read;
        let file = matches!(self.then, Use::File(_));
        let apart = move |variant: &&Variant| {
            (batches || variant.fence == Fence::EachCopy) && (file || variant.fence != Fence::OfTheKernel)
        };
        VARIANTS.iter().filter(apart)
    }
}

/// Where the fence is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fence {
    EachCopy,
    /// One for all blocks of the case.
    OnceABatch,
    /// Wherever the kernel has one: it copies.
    OfTheKernel,
}

/// A policy with the routines that it runs.
struct Variant {
    name: &'static str,
    summary: &'static str,
    policy: Policy,
    /// The streaming routines of the kernel of 2009, not the library's.
    movnti: bool,
    hinted: bool,
    fence: Fence,
}

const VARIANTS: [Variant; 11] = [
    Variant {
        name: "cached-always",
        summary: "never around the cache, as in Linux 2.6.18",
        policy: Policy::CachedAlways,
        movnti: true,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "stream-always",
        summary: "always around it, as in 2.6.29-rc6; the kernel's routine, a fence each",
        policy: Policy::StreamAlways,
        movnti: true,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "page-up",
        summary: "around it from 4096 bytes up: the mail's first patch",
        policy: Policy::PageUp,
        movnti: true,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "exactly-page",
        summary: "4096 bytes through the page routine, longer ones through the cache: the second patch",
        policy: Policy::ExactlyPage,
        movnti: true,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "page-door",
        summary: "the page routine for aligned pages, nothing else around it: where the mail wants to arrive",
        policy: Policy::PageDoor,
        movnti: true,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "stream-vector",
        summary: "always around it by the library's vector routine, a fence each",
        policy: Policy::StreamAlways,
        movnti: false,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "stream-batched",
        summary: "the same with one fence for all blocks",
        policy: Policy::StreamAlways,
        movnti: false,
        hinted: false,
        fence: Fence::OnceABatch,
    },
    Variant {
        name: "automatic",
        summary: "by length and this machine's caches, without a hint",
        policy: Policy::Automatic,
        movnti: false,
        hinted: false,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "automatic-hinted",
        summary: "the same, told what comes next",
        policy: Policy::Automatic,
        movnti: false,
        hinted: true,
        fence: Fence::EachCopy,
    },
    Variant {
        name: "automatic-batched",
        summary: "the same, told, with one fence for all blocks",
        policy: Policy::Automatic,
        movnti: false,
        hinted: true,
        fence: Fence::OnceABatch,
    },
    Variant {
        name: "pwrite",
        summary: "pwrite(2) of each block: today's kernel, with entry, look-up and locks, and its copy never streams",
        policy: Policy::CachedAlways,
        movnti: false,
        hinted: false,
        fence: Fence::OfTheKernel,
    },
];

impl Variant {
    fn info(&self) -> VariantInfo {
        let missing = self.movnti && self.routine_of_2009(Routine::Movnti).is_none();
        VariantInfo {
            name: self.name.to_owned(),
            summary: self.summary.to_owned(),
            named: true,
            unavailable: (missing && self.policy != Policy::CachedAlways)
                .then(|| "this processor has no movnti".to_owned()),
        }
    }

    fn routine_of_2009(&self, routine: Routine) -> Option<copy_engine::Available> {
        routine.on_this_cpu().filter(|_| self.movnti)
    }

    fn mover(&self, then: Use) -> Mover {
        let mut engine = Engine::detect().with_policy(self.policy);
        if let Some(routine) = self.routine_of_2009(Routine::Movnti) {
            engine = engine.with_stream(routine);
        }
        if let Some(routine) = self.routine_of_2009(Routine::MovntiPage) {
            engine = engine.with_page(routine);
        }
        let next = if self.hinted { then.hint() } else { NextUse::Unknown };
        match self.fence {
            Fence::EachCopy => Mover::Single(engine, next),
            Fence::OnceABatch => Mover::Batched(engine, next),
            Fence::OfTheKernel => Mover::Kernel,
        }
    }
}

impl Experiment for PageCopy {
    fn claim(&self) -> &'static Claim {
        &CLAIM
    }

    fn live(&self, tasks: usize) -> Vec<Question> {
        let write = |bytes, target| Question {
            target,
            question: "what a write to a file in memory costs today, and it never streams; includes entry, file \
                       lookup, the page cache's lookup and locks, and the copy; 2000 blocks over and over",
            load: Load::PwriteTmpfs { bytes },
            tasks,
            candidates: PWRITE,
        };
        let copy = |bytes, target, candidates| Question {
            target,
            question: "today's kernel copy from user space alone, called by a program; each sample is the mean of \
                       a loop of calls, the empty loop subtracted; includes the checks of the helper, and neither \
                       a system call nor a page fault",
            load: Load::InKernel { bytes: Some(bytes) },
            // A program that is run by request runs on one CPU.
            tasks: 1,
            candidates,
        };
        let mut questions = vec![
            write(256, "copy:write-256"),
            write(1024, "copy:write-1024"),
            write(PAGE, "copy:write-4096"),
        ];
        if tasks == 1 {
            questions.push(copy(64, "copy:from-user-64", READ_USER_64));
            questions.push(copy(PAGE, "copy:from-user-4096", READ_USER_4096));
        }
        questions
    }
}

/// Ways to trace a write to a file in memory, best first.
const PWRITE: &[Candidate] = &[
    Candidate::Function("generic_perform_write"),
    Candidate::Function("shmem_file_write_iter"),
    Candidate::Function("vfs_write"),
    Candidate::SyscallEvents("pwrite64"),
    Candidate::RawSyscall("pwrite64"),
];

const READ_USER_64: &[Candidate] = &[Candidate::Called("bpf_probe_read_user:64")];
const READ_USER_4096: &[Candidate] = &[Candidate::Called("bpf_probe_read_user:4096")];

impl Comparison for PageCopy {
    fn name(&self) -> &str {
        &CLAIM.experiment
    }

    fn cases(&self, _cpus: usize) -> Vec<Case> {
        let case = |situation: &Situation| Case {
            name: situation.name.to_owned(),
            title: situation.title.to_owned(),
            tasks: 1,
            operation: if situation.then == Use::Victim { "line read" } else { "block" },
            variants: situation.variants().map(Variant::info).collect(),
        };
        SITUATIONS.iter().map(case).collect()
    }

    fn work_check(&self, case: &Case) -> Result<String, String> {
        let situation = Situation::of(case).ok_or_else(|| format!("there is no case {}", case.name))?;
        let mut words = Vec::new();
        let mut expected: Option<Vec<u8>> = None;
        for variant in situation.variants().filter(|variant| variant.info().unavailable.is_none()) {
            let mut blocks = Blocks::new(situation.shape(), variant.mover(situation.then), 1, 2009);
            let (bytes, tally) = blocks.outcome();
            if expected.get_or_insert_with(|| bytes.clone()) != &bytes {
                return Err(format!("{} leaves other bytes than {}", variant.name, VARIANTS[0].name));
            }
            let Tally { copies, streamed, cached, fences } = tally;
            let total = (situation.blocks * situation.bytes) as u64;
            if copies != situation.blocks as u64 || streamed + cached != total {
                return Err(format!(
                    "{} tells of {copies} copies and {} bytes, and {} copies of {total} bytes were asked for",
                    variant.name,
                    streamed + cached,
                    situation.blocks
                ));
            }
            let wanted = match variant.fence {
                Fence::OnceABatch => u64::from(streamed > 0),
                Fence::EachCopy if streamed > 0 => copies,
                Fence::EachCopy | Fence::OfTheKernel => 0,
            };
            if fences != wanted {
                return Err(format!("{} fenced {fences} times instead of {wanted}", variant.name));
            }
            if fences > 0 {
                words.push(format!("{} {fences}", variant.name));
            }
        }
        Ok(format!(
            "{} blocks, the same bytes by all; fences: {}, none by the others",
            situation.blocks,
            words.join(", ")
        ))
    }

    fn prepare(&self, case: &Case, variant: usize, seed: u64) -> Box<dyn Workload> {
        let name = &case.variants[variant].name;
        let situation = Situation::of(case).expect("the cases are made from the situations");
        let variant =
            VARIANTS.iter().find(|known| known.name == name).expect("and their variants from these");
        let blocks = Blocks::new(situation.shape(), variant.mover(situation.then), 1, seed);
        if situation.then == Use::Victim { Box::new(Victim::new(blocks)) } else { Box::new(blocks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_does_equal_work() {
        for case in PageCopy.cases(1) {
            PageCopy.work_check(&case).unwrap_or_else(|difference| panic!("{}: {difference}", case.name));
        }
    }

    /// The fences of the positions of 2009, by arithmetic.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn each_position_fences_as_its_mail_says() {
        let fences = |case: &str, name: &str| {
            let situation = SITUATIONS.iter().find(|situation| situation.name == case).unwrap();
            let variant = VARIANTS.iter().find(|variant| variant.name == name).unwrap();
            Blocks::new(situation.shape(), variant.mover(situation.then), 1, 1).outcome().1.fences
        };
        for (case, name, expected) in [
            ("ring-256", "cached-always", 0),
            ("ring-256", "stream-always", 2000),
            ("ring-256", "page-up", 0),
            ("ring-256", "stream-batched", 1),
            ("ring-256", "automatic", 0),
            ("ring-4096", "page-up", 2000),
            ("ring-4096", "exactly-page", 2000),
            ("fill-65536", "page-up", 8),
            ("fill-65536", "exactly-page", 0),
            ("fill-65536", "page-door", 0),
            ("fill-4096", "automatic-hinted", 64),
            ("fill-4096", "automatic-batched", 1),
            ("read-4096", "automatic-hinted", 0),
        ] {
            assert_eq!(fences(case, name), expected, "{case} {name}");
        }
    }

    #[test]
    fn every_variant_does_the_operations_it_counts() {
        for case in PageCopy.cases(1) {
            let situation = Situation::of(&case).unwrap();
            let expected =
                if situation.then == Use::Victim { 512 * 1024 / 64 } else { situation.blocks as u64 };
            for variant in 0..case.variants.len() {
                let mut workload = PageCopy.prepare(&case, variant, 1);
                workload.reset();
                assert_eq!(workload.run(0), expected, "{} {}", case.name, case.variants[variant].name);
            }
        }
    }

    #[test]
    fn the_claim_names_a_case_and_variants_that_exist() {
        let mechanism = &PageCopy.claim().mechanism;
        let cases = PageCopy.cases(1);
        let case = cases.iter().find(|case| case.name == mechanism.case).unwrap();
        for name in [&mechanism.baseline, &mechanism.candidate] {
            assert!(case.variants.iter().any(|variant| variant.name == *name), "{name}");
        }
        assert!(PageCopy.claim().claim.test.is_none(), "today's write() never streams");
    }

    #[test]
    fn what_cannot_be_batched_is_not() {
        let cases = PageCopy.cases(1);
        let read = cases.iter().find(|case| case.name == "read-4096").unwrap();
        assert!(read.variants.iter().all(|variant| !variant.name.ends_with("batched")));
    }
}
