//! What the CPU says of itself (CPUID).

use crate::report::model::Cache;

/// Facts that need no file. All empty on other architectures, and by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Its own name.
    pub model: Option<String>,
    /// Data and unified caches, nearest first.
    pub caches: Vec<Cache>,
    /// The hypervisor that answers the hypervisor leaf.
    pub hypervisor: Option<String>,
    /// Whether the time-stamp counter keeps its rate in every power state.
    pub invariant_tsc: Option<bool>,
    /// Features that the libraries can use, by the names /proc/cpuinfo gives them.
    pub features: Vec<Feature>,
}

/// An instruction-set extension that some variant needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Feature {
    /// Name.
    pub name: &'static str,
    /// Whether this CPU has it and the kernel lets programs use it.
    pub present: bool,
}

impl Cpu {
    /// Asks the CPU this runs on.
    #[must_use]
    pub fn of_this_machine() -> Self {
        imp::ask()
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use raw_cpuid::{CacheType, CpuId, Hypervisor};

    use super::{Cache, Cpu, Feature};

    pub(super) fn ask() -> Cpu {
        let id = CpuId::new();
        Cpu {
            model: id
                .get_processor_brand_string()
                .map(|name| name.as_str().split_whitespace().collect::<Vec<_>>().join(" "))
                .filter(|name| !name.is_empty()),
            caches: caches(&id),
            hypervisor: id.get_hypervisor_info().map(|info| name(info.identify())),
            invariant_tsc: id.get_advanced_power_mgmt_info().map(|info| info.has_invariant_tsc()),
            features: features(),
        }
    }

    // Leaf 4, or 0x8000001d on AMD.
    fn caches(id: &CpuId<impl raw_cpuid::CpuIdReader>) -> Vec<Cache> {
        let leaves = id.get_cache_parameters().into_iter().flatten();
        let data = leaves.filter_map(|leaf| {
            let kind = match leaf.cache_type() {
                CacheType::Data => "Data",
                CacheType::Unified => "Unified",
                _ => return None,
            };
            let [ways, partitions, line, sets] = [
                leaf.associativity(),
                leaf.physical_line_partitions(),
                leaf.coherency_line_size(),
                leaf.sets(),
            ];
            Some(Cache {
                level: u32::from(leaf.level()),
                kind: kind.to_owned(),
                size_bytes: [ways, partitions, line, sets].iter().map(|&part| part as u64).product(),
                line_bytes: u32::try_from(line).unwrap_or(0),
                // An upper bound: the leaf counts identifiers set aside, not CPUs that exist.
                shared_by: u32::try_from(leaf.max_cores_for_cache()).unwrap_or(0),
            })
        });
        data.collect()
    }

    fn name(hypervisor: Hypervisor) -> String {
        match hypervisor {
            Hypervisor::Xen => "Xen".to_owned(),
            Hypervisor::VMware => "VMware".to_owned(),
            Hypervisor::HyperV => "Hyper-V".to_owned(),
            Hypervisor::KVM => "KVM".to_owned(),
            Hypervisor::QEMU => "QEMU without an accelerator".to_owned(),
            Hypervisor::Bhyve => "bhyve".to_owned(),
            Hypervisor::QNX => "QNX".to_owned(),
            Hypervisor::ACRN => "ACRN".to_owned(),
            Hypervisor::Unknown(b, c, d) => {
                let bytes: Vec<u8> = [b, c, d].iter().flat_map(|word| word.to_le_bytes()).collect();
                let name = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
                if name.is_empty() { "unnamed hypervisor".to_owned() } else { name }
            }
        }
    }

    // The standard library also asks whether the kernel saves the registers.
    fn features() -> Vec<Feature> {
        macro_rules! detect {
            ($($name:tt),*) => {
                vec![$(Feature { name: $name, present: std::arch::is_x86_feature_detected!($name) }),*]
            };
        }
        detect!(
            "sse2", "ssse3", "avx", "avx2", "avx512f", "avx512vl", "avx512bw", "sha", "rdrand", "rdseed",
            "ermsb"
        )
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    pub(super) fn ask() -> super::Cpu {
        super::Cpu::default()
    }
}
