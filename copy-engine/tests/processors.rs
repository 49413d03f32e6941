//! Made-up processors: what the engine would choose on machines that are not here.

use std::collections::HashMap;

use copy_engine::{
    Basis, Cache, Engine, Features, Leaf, Limits, NextUse, PAGE, Path, Policy, Routine, Selection, Topology,
    Vendor,
};
use proptest::prelude::*;

/// Register state of AVX, and of AVX-512 as well.
const YMM: u64 = 0b111;
const ZMM: u64 = 0b1110_0111;

const MIB: usize = 1 << 20;

/// A processor as a table of its answers.
#[derive(Clone, Default)]
struct Processor(HashMap<(u32, u32), Leaf>);

impl Processor {
    fn new(vendor: &[u8; 12], highest: u32) -> Self {
        let word = |at: usize| u32::from_le_bytes(vendor[at..][..4].try_into().unwrap());
        let (ebx, edx, ecx) = (word(0), word(4), word(8));
        let mut processor = Self::default();
        processor.put(0, 0, Leaf { eax: highest, ebx, ecx, edx });
        processor.put(1, 0, Leaf { eax: 0, ebx: 0, ecx: 0, edx: 1 << 26 });
        processor
    }

    fn intel() -> Self {
        Self::new(b"GenuineIntel", 0x20)
    }

    fn amd() -> Self {
        let mut amd = Self::new(b"AuthenticAMD", 0x10);
        amd.put(0x8000_0000, 0, Leaf { eax: 0x8000_0028, ..Leaf::default() });
        amd.put(0x8000_0001, 0, Leaf { ecx: 1 << 22, ..Leaf::default() });
        amd
    }

    fn put(&mut self, leaf: u32, subleaf: u32, answer: Leaf) -> &mut Self {
        self.0.insert((leaf, subleaf), answer);
        self
    }

    fn change(&mut self, leaf: u32, change: impl FnOnce(&mut Leaf)) -> &mut Self {
        change(self.0.entry((leaf, 0)).or_default());
        self
    }

    /// Adds a cache of `ways` ways, lines of 64 bytes and one partition to the list of `leaf`.
    fn cache(
        &mut self,
        leaf: u32,
        subleaf: u32,
        kind: u32,
        level: u32,
        sharers: u32,
        bytes: usize,
    ) -> &mut Self {
        const WAYS: usize = 16;
        let sets = (bytes / WAYS / 64) as u32;
        let answer = Leaf {
            eax: kind | level << 5 | (sharers - 1) << 14,
            ebx: 63 | (WAYS as u32 - 1) << 22,
            ecx: sets - 1,
            edx: 0,
        };
        self.put(leaf, subleaf, answer)
    }

    /// First, instruction, second and third level.
    fn caches(&mut self, leaf: u32, l2: usize, l3: usize, sharers: u32) -> &mut Self {
        self.cache(leaf, 0, 1, 1, 1, 32 << 10)
            .cache(leaf, 1, 2, 1, 1, 32 << 10)
            .cache(leaf, 2, 3, 2, 1, l2)
            .cache(leaf, 3, 3, 3, sharers, l3)
    }

    fn guest(&mut self) -> &mut Self {
        self.change(1, |leaf| leaf.ecx |= 1 << 31)
    }

    fn with_avx2(&mut self) -> &mut Self {
        self.change(1, |leaf| leaf.ecx |= 1 << 28).change(7, |leaf| leaf.ebx |= 1 << 5)
    }

    fn with_avx512(&mut self) -> &mut Self {
        self.with_avx2().change(7, |leaf| leaf.ebx |= 1 << 16)
    }

    fn topology(&self) -> Topology {
        Topology::read(&self.answers())
    }

    fn features(&self, xcr0: u64) -> Features {
        Features::read(&self.answers(), xcr0)
    }

    fn answers(&self) -> impl Fn(u32, u32) -> Leaf + '_ {
        |leaf, subleaf| self.0.get(&(leaf, subleaf)).copied().unwrap_or_default()
    }
}

#[test]
fn an_amd_server_is_read_from_the_leaf_that_knows_the_sharers() {
    let mut amd = Processor::amd();
    amd.caches(0x8000_001d, MIB, 32 * MIB, 2);
    let topology = amd.topology();
    assert_eq!(topology.vendor, Vendor::Amd);
    assert_eq!(topology.l3, Cache { bytes: 32 * MIB, sharers: 2 });
    assert_eq!(topology.l2, Cache { bytes: MIB, sharers: 1 });
    assert_eq!(topology.l1d.bytes, 32 << 10, "the instruction cache must not be taken for the data cache");
    let limits = Limits::from_topology(&topology);
    assert_eq!((limits.unknown, limits.read_soon, limits.basis), (16 * MIB, 16 * MIB, Basis::Topology));
}

/// The leaf that a C library misread: the sum over the package, here 320 MiB.
#[test]
fn the_package_sum_is_never_read() {
    let mut amd = Processor::amd();
    amd.caches(0x8000_001d, MIB, 32 * MIB, 2);
    let without = amd.topology();
    amd.put(0x8000_0006, 0, Leaf { edx: 640 << 18 | 0x9140, ..Leaf::default() });
    assert_eq!(amd.topology(), without);
    let asked = std::cell::RefCell::new(Vec::new());
    let _ = Topology::read(&|leaf, subleaf| {
        asked.borrow_mut().push(leaf);
        amd.answers()(leaf, subleaf)
    });
    assert!(!asked.borrow().contains(&0x8000_0006), "{asked:x?}");
}

#[test]
fn an_amd_processor_without_the_extension_falls_to_the_guess() {
    let mut amd = Processor::amd();
    amd.caches(0x8000_001d, MIB, 32 * MIB, 2).change(0x8000_0001, |leaf| leaf.ecx = 0);
    assert_eq!(Limits::from_topology(&amd.topology()).basis, Basis::Guess);
}

#[test]
fn an_intel_package_is_divided_by_its_sharers() {
    let mut intel = Processor::intel();
    intel.caches(4, 2 * MIB, 64 * MIB, 64);
    assert_eq!(intel.topology().l3.share(), MIB);
    // A slice of the third level that is smaller than the second level does not shrink what the core owns.
    assert_eq!(Limits::from_topology(&intel.topology()).read_soon, 2 * MIB);
}

#[test]
fn a_guest_that_claims_a_whole_package_is_not_believed() {
    let mut guest = Processor::intel();
    guest.caches(4, 2 * MIB, 320 * MIB, 2).guest();
    let limits = Limits::from_topology(&guest.topology());
    assert_eq!((limits.read_soon, limits.unknown, limits.basis), (32 * MIB, 32 * MIB, Basis::Distrusted));

    let mut metal = Processor::intel();
    metal.caches(4, 2 * MIB, 320 * MIB, 2);
    assert_eq!(Limits::from_topology(&metal.topology()).basis, Basis::Topology);
}

#[test]
fn a_processor_that_says_nothing_gets_a_guess() {
    for silent in [Processor::default(), Processor::new(b"????????????", 1), Processor::intel()] {
        let limits = Limits::from_topology(&silent.topology());
        assert_eq!((limits.unknown, limits.basis), (8 * MIB, Basis::Guess));
    }
}

#[test]
fn a_list_of_caches_without_an_end_is_left() {
    let topology = Topology::read(&|leaf, _| match leaf {
        0 => Processor::intel().answers()(0, 0),
        _ => Leaf { eax: u32::MAX, ebx: u32::MAX, ecx: u32::MAX, edx: u32::MAX },
    });
    assert_eq!(topology.l3, Cache::default(), "level 7 is no level we know");
}

#[test]
fn the_family_includes_its_extension() {
    let mut zen2 = Processor::amd();
    zen2.change(1, |leaf| leaf.eax = 0x0087_0f10);
    assert_eq!(zen2.topology().family, 0x17);
}

#[test]
fn avx_counts_only_where_the_system_saves_its_registers() {
    let mut intel = Processor::intel();
    intel.with_avx512();
    assert!(intel.features(ZMM).contains(Features::AVX512F));
    assert!(!intel.features(YMM).contains(Features::AVX512F));
    assert!(intel.features(YMM).contains(Features::AVX2));
    assert_eq!(intel.features(0), Features::X86_64);
    assert_eq!(Processor::default().features(u64::MAX), Features::NONE);
}

#[test]
fn the_string_instruction_takes_long_copies_alone() {
    let mut intel = Processor::intel();
    intel.change(7, |leaf| (leaf.ebx, leaf.edx) = (1 << 9, 1 << 4));
    let features = intel.features(0);
    assert!(features.contains(Features::FSRM));
    let chosen = Selection::for_processor(features, Vendor::Intel);
    assert_eq!((chosen.cached, chosen.long), (Routine::Sse2, Routine::RepMovsb));
    // Said to be fast for long copies, and not for short ones: an older processor, whose vectors are as good.
    let erms = Selection::for_processor(Features::ERMS, Vendor::Intel);
    assert_eq!((erms.cached, erms.long), (Routine::Sse2, Routine::Sse2));
}

/// The first processors with AVX-512 lower their clock for it; those with a fast `rep movsb` for short copies came later.
#[test]
fn the_widest_vectors_are_for_processors_that_do_not_pay_for_them() {
    let cached = |features| Selection::for_processor(features, Vendor::Intel).cached;
    assert_eq!(cached(Features::AVX512F), Routine::Avx2);
    assert_eq!(cached(Features::AVX512F | Features::FSRM), Routine::Avx512);
}

#[test]
fn pages_go_side_by_side_where_that_was_faster() {
    let features = Features::AVX512F | Features::FSRM;
    assert_eq!(Selection::for_processor(features, Vendor::Intel).stream, Routine::StreamAvx512Pages);
    for vendor in [Vendor::Amd, Vendor::Other] {
        assert_eq!(Selection::for_processor(features, vendor).stream, Routine::StreamAvx512);
    }
}

/// Instructions that a processor lacks are never chosen for it, whatever it has.
#[test]
fn what_is_chosen_is_there() {
    let all = [
        Features::NONE,
        Features::X86_64,
        Features::AVX2,
        Features::AVX512F,
        Features::ERMS,
        Features::FSRM,
        Features::FSRM | Features::AVX2,
        Features::FSRM | Features::AVX512F,
    ];
    for features in all {
        for vendor in [Vendor::Intel, Vendor::Amd, Vendor::Other] {
            let chosen = Selection::for_processor(features, vendor);
            for routine in all_of(chosen) {
                assert!(features.contains(routine.needs()), "{routine} on {features:?}");
            }
            assert!(![chosen.cached, chosen.long, chosen.ahead].iter().any(|routine| routine.streams()));
            assert_eq!(chosen.stream.streams(), features.contains(Features::X86_64));
        }
    }
}

fn all_of(Selection { cached, long, ahead, stream, page }: Selection) -> [Routine; 5] {
    [cached, long, ahead, stream, page]
}

/// The answer on this very machine is consistent with what it can run.
#[test]
fn this_processor_runs_what_was_chosen_for_it() {
    for routine in all_of(Engine::detect().selection()) {
        assert!(routine.on_this_cpu().is_some(), "{routine}");
    }
}

proptest! {
    /// Whatever a processor answers, it is read to the end, and the limits are in order.
    #[test]
    fn no_answer_breaks_the_reader(seed in any::<u64>(), xcr0 in any::<u64>()) {
        let answers = |leaf: u32, subleaf: u32| {
            let mix = |salt: u64| {
                let mixed = (seed ^ u64::from(leaf) << 32 ^ u64::from(subleaf) ^ salt << 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed >> 29) as u32
            };
            Leaf { eax: mix(1), ebx: mix(2), ecx: mix(3), edx: mix(4) }
        };
        let _ = Features::read(&answers, xcr0);
        let limits = Limits::from_topology(&Topology::read(&answers));
        prop_assert!(limits.ahead <= limits.not_read);
        prop_assert!(limits.not_read <= limits.unknown && limits.unknown <= limits.read_soon);
    }

    /// The positions of 2009, spelled out again: the hint and the limits change nothing.
    #[test]
    fn the_policies_of_the_mail_look_at_length_and_alignment_alone(
        len in prop_oneof![0..3 * PAGE, Just(PAGE), Just(PAGE - 1), Just(2 * PAGE)],
        dst in any::<usize>(),
        read_soon in any::<usize>(),
        next in prop_oneof![Just(NextUse::ReadSoon), Just(NextUse::NotRead), Just(NextUse::Unknown)],
    ) {
        let limits = Limits {
            read_soon,
            not_read: read_soon / 3,
            not_read_batched: 1,
            unknown: read_soon / 2,
            ahead: read_soon / 5,
            long: read_soon / 4,
            basis: Basis::Caller,
        };
        for &policy in Policy::ALL {
            let expected = match policy {
                Policy::CachedAlways => Path::Cached,
                Policy::StreamAlways => Path::Stream,
                Policy::PageUp if len < 4096 => Path::Cached,
                Policy::PageUp => Path::Stream,
                Policy::ExactlyPage if len == 4096 => Path::StreamPage,
                Policy::ExactlyPage => Path::Cached,
                Policy::PageDoor if len == 4096 && dst % 64 == 0 => Path::StreamPage,
                Policy::PageDoor => Path::Cached,
                Policy::Automatic => {
                    let threshold = match next {
                        NextUse::ReadSoon => read_soon,
                        NextUse::NotRead => read_soon / 3,
                        NextUse::Unknown => read_soon / 2,
                    };
                    match len {
                        _ if len >= threshold => Path::Stream,
                        _ if next == NextUse::NotRead && len >= read_soon / 5 => Path::Ahead,
                        _ if len >= read_soon / 4 => Path::CachedLong,
                        _ => Path::Cached,
                    }
                }
            };
            prop_assert_eq!(policy.path(len, dst, next, &limits), expected, "{}", policy);
        }
    }
}
