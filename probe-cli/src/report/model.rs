//! The report as data: what `report.json` holds (`"schema": "probe-report/1"`).
//!
//! Fields may be added; none may be renamed or change its meaning. Times of the live kernel are whole
//! nanoseconds; medians of the lab are fractions of them. What is not known is null, with its reason beside
//! it; there is no NaN.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stats::histogram::Bucket;

/// The value of [`Report::schema`].
pub const SCHEMA: &str = "probe-report/1";

/// One run of the lab.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The machine that was measured.
    pub host: Host,
    /// The program that measured it.
    pub tool: Tool,
    /// The clock behind the samples of the lab, and its calibration.
    pub clock: Clock,
    /// Seed of every random choice of the run.
    pub seed: u64,
    /// When the run began, RFC 3339, UTC.
    pub started: String,
    /// Whether the short replication was used.
    pub quick: bool,
    /// Whether the run was stopped before its end; what had been measured is here.
    pub interrupted: bool,
    /// Ways to watch the kernel, in the order they are tried, each with what it answered here.
    #[serde(default)]
    pub mechanisms: Vec<MechanismRow>,
    /// What one hit of each kind of probe costs here.
    pub calibration: BTreeMap<String, ProbeCost>,
    /// One entry an experiment.
    pub experiments: Vec<ExperimentReport>,
    /// What a reader should know before believing a number.
    pub warnings: Vec<Warning>,
}

/// The machine. What could not be read is null.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// Machine architecture.
    pub arch: String,
    /// The CPU's own name.
    pub cpu_model: Option<String>,
    /// Online CPUs.
    pub cpus: u32,
    /// Data and unified caches, nearest first.
    pub caches: Vec<Cache>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// Frequency governor; null where the guest has none.
    pub governor: Option<String>,
    /// Vulnerability -> state, as the kernel tells it.
    pub mitigations: BTreeMap<String, String>,
    /// Hypervisor or container, where one is seen.
    pub virtualization: Option<String>,
    /// `none`, `integrity` or `confidentiality`; null where the kernel does not tell.
    pub lockdown: Option<String>,
    /// Preemption model in force.
    pub preempt: Option<String>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp: Option<String>,
    /// Address-space randomisation level.
    pub aslr: Option<u32>,
    /// Whether sibling hardware threads are active.
    pub smt: Option<bool>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Microcode revision.
    pub microcode: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel command line.
    pub cmdline: Option<String>,
    /// Field -> why it is null.
    #[serde(default)]
    pub unknown: BTreeMap<String, String>,
}

/// One way to watch the kernel, tried on this machine by this user.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct MechanismRow {
    /// `fentry`, `kprobe`, `tracepoint`, `raw-tracepoint`, `uprobe` or `call`.
    pub name: String,
    /// What it gives, in a line.
    pub what: String,
    /// Whether it did what was asked of it.
    pub works: bool,
    /// What was tried; null where it works.
    pub tried: Option<String>,
    /// What was seen, or what the kernel answered and what is likely behind it.
    pub reason: String,
    /// The next step; null where it works.
    pub remedy: Option<String>,
}

/// One cache of the first CPU.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data` or `Unified`.
    pub kind: String,
    /// Capacity in bytes.
    pub size_bytes: u64,
    /// Line in bytes.
    pub line_bytes: u32,
    /// How many CPUs share it.
    pub shared_by: u32,
}

/// The program.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Tool {
    /// Package version.
    pub version: String,
    /// Commit it was built from; null outside a checkout.
    pub commit: Option<String>,
    /// Compiler.
    pub rustc: String,
}

/// The clock of the samples.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Clock {
    /// `tsc` or `monotonic`.
    pub name: String,
    /// Ticks of it in a second.
    pub ticks_per_second: f64,
    /// What an empty timed interval reads, in ns.
    pub floor_ns: f64,
}

/// What one kind of probe costs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ProbeCost {
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Samples behind both.
    pub n: u64,
}

/// One experiment.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ExperimentReport {
    /// Name, as typed.
    pub name: String,
    /// The mail: author, month, subject.
    pub mail: String,
    /// What is asked.
    pub question: String,
    /// What the mail claims.
    pub claim: ClaimReport,
    /// The situations measured; each variant row names its own.
    pub cases: Vec<CaseReport>,
    /// One row a case and variant.
    pub variants: Vec<VariantRow>,
    /// The noise floor of the case that the mechanism is judged by.
    pub noise_floor: Option<NoiseFloor>,
    /// What each factor of a factorial does on its own.
    pub effects: Vec<Effect>,
    /// Lock waits and holds by number of tasks.
    pub locks: Vec<LockRow>,
    /// Times of single operations.
    #[serde(default)]
    pub operations: Vec<OperationRow>,
    /// Programs of others that measure what the mail measured.
    #[serde(default)]
    pub programs: Vec<ProgramRow>,
    /// The live kernel beside it.
    pub live: Vec<LiveRow>,
    /// The two verdicts.
    pub verdict: VerdictReport,
}

/// The claim, as it stands in its file.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ClaimReport {
    /// In a sentence.
    pub text: String,
    /// What was measured by the mail.
    pub metric: String,
    /// At which level: a routine, a system call, a whole operation.
    pub level: String,
    /// The mail's figures as ratios after / before, with the interval its rounding leaves.
    pub numbers: Vec<ClaimNumber>,
    /// Smallest effect of interest, as a share of one.
    pub smallest_effect: f64,
    /// Fewest CPUs.
    pub min_cpus: u32,
}

/// One figure of a mail.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ClaimNumber {
    /// The condition.
    pub what: String,
    /// After / before.
    pub ratio: f64,
    /// What rounding leaves open.
    pub interval: [f64; 2],
}

/// One situation in which all variants of it were measured in turn.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct CaseReport {
    /// Name, kebab-case.
    pub name: String,
    /// One line.
    pub title: String,
    /// Tasks at work at a time.
    pub threads: u32,
    /// More tasks than CPUs: such a case feeds no verdict.
    pub oversubscribed: bool,
    /// Variant the ratios refer to.
    pub baseline: String,
    /// The baseline against itself, in the same blocks.
    pub noise_floor: Option<NoiseFloor>,
    /// Frequency witness: fastest and slowest median of a launch, in ns for one step of the chain.
    pub witness_ns: Option<[f64; 2]>,
    /// Neighbourhood witness: shortest and longest time of a launch, in ns, that a cache line takes from the first CPU
    /// to the second; null with one CPU.
    #[serde(default)]
    pub line_transfer_ns: Option<[f64; 2]>,
    /// Pairs dropped by the rules, as a share of all pairs.
    pub drop_rate: f64,
    /// Dropped pairs by reason; a pair counts for the first rule it broke.
    pub drops: BTreeMap<String, u64>,
    /// Memory in huge pages while the case ran, in bytes, the least of all launches; null where not told.
    #[serde(default)]
    pub huge_page_bytes: Option<u64>,
}

/// The A/A pair.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct NoiseFloor {
    /// Interval of the ratio of the baseline to itself.
    pub ratio_ci95: [f64; 2],
}

/// A variant in a case.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct VariantRow {
    /// Name of the [`CaseReport`].
    pub case: String,
    /// Name of the variant.
    pub name: String,
    /// One line on what it does.
    pub summary: String,
    /// Whether this machine runs it.
    pub available: bool,
    /// Why not.
    pub unavailable: Option<String>,
    /// Whether the text report shows it; the rest of a factorial stands in the file alone.
    pub named: bool,
    /// Tasks at work.
    pub threads: u32,
    /// More tasks than CPUs.
    pub oversubscribed: bool,
    /// Unit of `median`, `mad`, `ci95` and `samples`.
    pub unit: String,
    /// Median over launches of the medians over blocks.
    pub median: Option<f64>,
    /// Median absolute deviation of the same.
    pub mad: Option<f64>,
    /// Interval of the median, bootstrapped by launch.
    pub ci95: Option<[f64; 2]>,
    /// Time of this variant over time of the baseline, paired by block.
    pub ratio_to_baseline: Option<Ratio>,
    /// `[launch][block]`; null where the rules dropped the batch.
    pub samples: Vec<Vec<Option<f64>>>,
    /// How many were.
    pub dropped_pairs: u64,
    /// What was compared before timing, and the outcome.
    pub work_check: String,
    /// The same batches, as the probe timed them.
    pub kernel: Option<KernelTime>,
    /// Why a median, an interval or a ratio of this row is null.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Ratio {
    /// Point estimate.
    pub value: f64,
    /// 95 % interval.
    pub ci95: [f64; 2],
}

/// The probe's view of the batches of one variant.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct KernelTime {
    /// Median, in the variant's unit.
    pub median: f64,
    /// Batches that arrived.
    pub n: u64,
    /// Batches that did not.
    pub lost: u64,
}

/// The effect of one factor, all others averaged over.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Effect {
    /// Name of the [`CaseReport`].
    pub case: String,
    /// The factor.
    pub factor: String,
    /// The level compared.
    pub level: String,
    /// The level it is compared with.
    pub reference: String,
    /// Time at the level over time at the reference.
    pub ratio: Ratio,
}

/// Lock waits and holds of one variant at one number of tasks.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LockRow {
    /// Name of the [`CaseReport`].
    pub case: String,
    /// Name of the variant.
    pub variant: String,
    /// Tasks at work.
    pub threads: u32,
    /// Times the lock was taken.
    pub n: u64,
    /// Time from asking to holding.
    pub wait: Quantiles,
    /// Time from holding to releasing.
    pub hold: Quantiles,
    /// The waits as `[lo, hi, count]` in ns, half-open, sparse.
    #[serde(default)]
    pub wait_buckets: Vec<[u64; 3]>,
    /// The holds, likewise.
    #[serde(default)]
    pub hold_buckets: Vec<[u64; 3]>,
}

/// Times of single operations of one variant, from a pass of its own: what a mean of many hides. The reading of the
/// clock before and after each is in them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct OperationRow {
    /// Name of the [`CaseReport`].
    pub case: String,
    /// Name of the variant.
    pub variant: String,
    /// What one operation is.
    pub operation: String,
    /// Tasks at work.
    pub threads: u32,
    /// Operations.
    pub n: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// The time that one operation in a thousand takes longer than.
    pub p99_9_ns: u64,
    /// Upper edge of the highest bucket hit.
    pub max_ns: u64,
    /// Threads woken for a million operations.
    pub wakeups_per_million: f64,
    /// The times as `[lo, hi, count]` in ns, half-open, sparse.
    #[serde(default)]
    pub buckets: Vec<[u64; 3]>,
}

/// What somebody else's program printed.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ProgramRow {
    /// The command, as it was started.
    pub command: String,
    /// What it measures, and what is other than in the mail.
    pub what: String,
    /// What it printed, in its order.
    pub values: Vec<ProgramValue>,
    /// Why there is nothing.
    pub reason: Option<String>,
}

/// One number of a program.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ProgramValue {
    /// What it is of.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// A distribution in five numbers, ns.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Quantiles {
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Upper edge of the highest bucket hit.
    pub max_ns: u64,
}

/// One question put to the live kernel. Also a row of a traced session.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LiveRow {
    /// What was traced, as a TARGET.
    pub target: String,
    /// What the row answers, and what it includes that the Rust row does not.
    pub question: String,
    /// `fentry`, `kprobe`, `tracepoint`, `raw-tracepoint`, `uprobe`, `call` or `none`.
    pub backend: String,
    /// Why this one, and why the earlier candidates did not answer.
    pub reason: String,
    /// Tasks that made the calls.
    pub threads: u32,
    /// More tasks than CPUs.
    pub oversubscribed: bool,
    /// Smallest size, inclusive; null where sizes are not told apart.
    pub size_lo: Option<u64>,
    /// Largest size, exclusive.
    pub size_hi: Option<u64>,
    /// Calls made by the load, where it counts them.
    pub calls: Option<u64>,
    /// Calls measured.
    pub n: u64,
    /// Median; null with `n` = 0.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Upper edge of the highest bucket hit.
    pub max_ns: Option<u64>,
    /// What the instrument adds to the number.
    pub floor_ns: Option<u64>,
    /// What it adds to the traced call; negative where noise hides it.
    pub added_ns: Option<i64>,
    /// What it adds to calls that are not traced.
    pub bystander_ns: Option<i64>,
    /// Calls under way at the end.
    pub in_flight: u64,
    /// Exits without an entry.
    pub unmatched: u64,
    /// Calls dropped: a map was full, or the recursion too deep.
    pub dropped: u64,
    /// Runs of the program that the kernel itself skipped; null where it does not tell.
    pub missed: Option<u64>,
    /// Intervals not stored since the clock went back.
    pub clock_regressions: u64,
    /// The median is under three times the floor.
    pub probe_bound: bool,
    /// The distribution behind the quantiles, sparse and in order; empty where there is none.
    #[serde(default)]
    pub buckets: Vec<Bucket>,
}

/// The two verdicts, and the numbers behind them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct VerdictReport {
    /// At the routine's own level.
    pub mechanism: Mechanism,
    /// At the mail's level.
    pub claim: ClaimVerdict,
    /// The ratio the mechanism was judged by.
    pub measured_ratio: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// Share of the whole the component must have had for the claim to follow from the mechanism.
    pub implied_share: Option<f64>,
    /// Both verdicts in words.
    pub why: String,
}

/// Does the changed routine do what the mail says, on equal work?
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// It does.
    Confirmed,
    /// It does the opposite, or nothing of interest: the interval is wholly inside the smallest effect.
    Contradicted,
    /// The interval does not say.
    Inconclusive,
}

/// Was the mail's figure seen, at its own level?
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ClaimVerdict {
    /// Beyond the smallest effect and the noise floor.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Wholly inside the smallest effect.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// Neither.
    #[serde(rename = "inconclusive")]
    Inconclusive,
    /// Something is missing here; `why` names it.
    #[serde(rename = "not testable here")]
    NotTestableHere,
}

/// Something to know before believing a number.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Warning {
    /// Stable, kebab-case.
    pub code: String,
    /// For people.
    pub text: String,
}
