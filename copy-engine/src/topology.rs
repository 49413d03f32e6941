//! The caches as the processor describes them, read from data that a test can make up.
//!
//! Leaf 4 (Intel) and leaf 0x8000001D (AMD) say for each cache how large it is and how many logical processors share
//! it. Leaf 0x80000006 says how large all the last-level caches of a package are together: a C library that divides
//! nothing from it streams some thirty times too late. It is never read here.

/// The four registers of one CPUID answer.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Leaf {
    /// Register EAX.
    pub eax: u32,
    /// Register EBX.
    pub ebx: u32,
    /// Register ECX.
    pub ecx: u32,
    /// Register EDX.
    pub edx: u32,
}

/// Somebody who answers CPUID: the processor, or a table in a test.
pub trait Cpuid {
    /// The answer for `leaf` and `subleaf`; all zero where there is none.
    fn leaf(&self, leaf: u32, subleaf: u32) -> Leaf;
}

impl<F: Fn(u32, u32) -> Leaf> Cpuid for F {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Leaf {
        self(leaf, subleaf)
    }
}

/// Who made the processor.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Vendor {
    /// GenuineIntel.
    Intel,
    /// AuthenticAMD or HygonGenuine.
    Amd,
    /// Anybody else, or no answer.
    #[default]
    Other,
}

/// One cache: its size, and how many logical processors share it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Cache {
    /// Bytes.
    pub bytes: usize,
    /// Logical processors that may share it, at least 1. A power of two above the truth on many Intel parts.
    pub sharers: usize,
}

impl Cache {
    /// Bytes for each logical processor.
    pub const fn share(self) -> usize {
        match self.bytes.checked_div(self.sharers) {
            Some(share) => share,
            None => 0,
        }
    }
}

/// The data caches of one processor.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Topology {
    /// Who made it.
    pub vendor: Vendor,
    /// Its family, extended family included.
    pub family: u32,
    /// Whether it says that a hypervisor runs below it.
    pub guest: bool,
    /// First level.
    pub l1d: Cache,
    /// Second level.
    pub l2: Cache,
    /// Third level; 0 bytes where there is none or nothing is said.
    pub l3: Cache,
}

impl Topology {
    /// What `cpuid` says. Whatever it answers, this ends and does not panic.
    pub fn read(cpuid: &impl Cpuid) -> Self {
        let first = cpuid.leaf(0, 0);
        let vendor = match (first.ebx, first.edx, first.ecx) {
            (0x756e_6547, 0x4965_6e69, 0x6c65_746e) => Vendor::Intel,
            (0x6874_7541, 0x6974_6e65, 0x444d_4163) | (0x6f67_7948, 0x6e65_476e, 0x656e_6975) => Vendor::Amd,
            _ => Vendor::Other,
        };
        let mut found = Self { vendor, ..Self::default() };
        if first.eax < 1 {
            return found;
        }
        let signature = cpuid.leaf(1, 0);
        found.family = match signature.eax >> 8 & 0xf {
            0xf => 0xf + (signature.eax >> 20 & 0xff),
            family => family,
        };
        found.guest = signature.ecx & 1 << 31 != 0;
        let Some(leaf) = deterministic_leaf(cpuid, vendor, first.eax) else { return found };
        // The list ends with a cache of type 0; a made-up one may not end, and no processor has 16.
        for answer in
            (0..16).map(|subleaf| cpuid.leaf(leaf, subleaf)).take_while(|answer| answer.eax & 0x1f != 0)
        {
            let (kind, level) = (answer.eax & 0x1f, answer.eax >> 5 & 7);
            const INSTRUCTION: u32 = 2;
            if kind == INSTRUCTION {
                continue;
            }
            let cache =
                Cache { bytes: cache_bytes(answer), sharers: (answer.eax >> 14 & 0xfff) as usize + 1 };
            match level {
                1 => found.l1d = cache,
                2 => found.l2 = cache,
                3 => found.l3 = cache,
                _ => {}
            }
        }
        found
    }

    /// What the processor that runs this says.
    pub fn native() -> Self {
        Self::read(&crate::arch::native_cpuid)
    }
}

/// The leaf in which this vendor describes its caches, if this processor has it.
fn deterministic_leaf(cpuid: &impl Cpuid, vendor: Vendor, highest: u32) -> Option<u32> {
    const AMD_LEAF: u32 = 0x8000_001d;
    const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;
    match vendor {
        Vendor::Amd => {
            let extended = cpuid.leaf(0x8000_0000, 0).eax;
            let has = extended >= AMD_LEAF && cpuid.leaf(0x8000_0001, 0).ecx & TOPOLOGY_EXTENSIONS != 0;
            has.then_some(AMD_LEAF)
        }
        Vendor::Intel | Vendor::Other => (highest >= 4).then_some(4),
    }
}

/// Ways, partitions, line size and sets, each stored less one.
fn cache_bytes(answer: Leaf) -> usize {
    let ways = (answer.ebx >> 22) as usize + 1;
    let partitions = (answer.ebx >> 12 & 0x3ff) as usize + 1;
    let line = (answer.ebx & 0xfff) as usize + 1;
    let sets = (answer.ecx as usize).saturating_add(1);
    ways.saturating_mul(partitions).saturating_mul(line).saturating_mul(sets)
}
