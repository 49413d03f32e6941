//! Reports that no machine made: every kind of row, nothing at all, and names that mean harm.

use std::collections::BTreeMap;

use probe_cli::report::model::{
    Cache, CaseReport, ClaimNumber, ClaimReport, ClaimVerdict, Clock, Effect, ExperimentReport, Host,
    KernelTime, LiveRow, LockRow, Mechanism, MechanismRow, NoiseFloor, OperationRow, ProbeCost, ProgramRow,
    ProgramValue, Quantiles, Ratio, Report, SCHEMA, Tool, VariantRow, VerdictReport, Warning,
};

const DENIED: &str =
    "EPERM: Operation not permitted; likely capabilities are held, so it is a policy of this kernel";

/// Nothing was measured, on a machine that tells nothing.
pub(crate) fn empty() -> Report {
    Report {
        schema: SCHEMA.into(),
        host: Host { arch: "x86_64".into(), ..Host::default() },
        tool: Tool { version: "0.0.0".into(), commit: None, rustc: "rustc 1.95.0".into() },
        clock: Clock { name: "monotonic".into(), ticks_per_second: 1e9, floor_ns: 0.0 },
        seed: 0,
        started: "2026-01-02T03:04:05Z".into(),
        quick: false,
        interrupted: false,
        mechanisms: vec![],
        calibration: BTreeMap::new(),
        experiments: vec![],
        warnings: vec![],
    }
}

/// Every kind of row and warning.
pub(crate) fn full() -> Report {
    let cost = ProbeCost { p50_ns: 690, p99_ns: 900, n: 1000 };
    Report {
        host: Host {
            kernel: "6.18.1".into(),
            cpu_model: Some("Test(R) CPU(TM) 3000 Processor".into()),
            cpus: 2,
            caches: vec![
                cache(1, "Data", 48 << 10),
                cache(2, "Unified", 2 << 20),
                cache(3, "Unified", 32 << 20),
            ],
            virtualization: Some("KVM guest, container (docker)".into()),
            unknown: BTreeMap::from([("governor".into(), "the file does not exist".into())]),
            ..empty().host
        },
        clock: Clock { name: "tsc".into(), ticks_per_second: 2.1e9, floor_ns: 11.5 },
        seed: 42,
        quick: true,
        interrupted: true,
        mechanisms: vec![
            mechanism("fentry", Err(DENIED)),
            mechanism("kprobe", Err("the verifier refused the program:\n  R1 is not\n  a pointer")),
            mechanism("tracepoint", Err(DENIED)),
            mechanism("raw-tracepoint", Ok(())),
            mechanism("uprobe", Ok(())),
            mechanism("call", Ok(())),
        ],
        calibration: BTreeMap::from([("uprobe".into(), cost)]),
        experiments: vec![pool_mix(), nothing_judged()],
        warnings: vec![
            warning("quick", "5 launches of 5 blocks: intervals are wider than those of a full run"),
            warning(
                "not-calibrated",
                "attaching fexit to a: EPERM: Operation not permitted (likely: capabilities are held, so it is a \
                 policy of this kernel; next: use another mechanism: this kernel does not give this one)",
            ),
            warning(
                "no-lockdown",
                "securityfs is not mounted, so whether this kernel is locked down could not be read; the mechanisms \
                 above were tried, not guessed",
            ),
        ],
        ..empty()
    }
}

/// Names with quotes, line ends, escape sequences and other scripts.
pub(crate) fn hostile() -> Report {
    let mut case = case("c\n1", "日本 \u{202e}title", 1, "基準");
    case.noise_floor = None;
    let row = VariantRow {
        unit: "n\ns a\tb".into(),
        median: Some(0.0),
        work_check: "a\tb".into(),
        samples: vec![],
        ..variant("c\n1", "基準", 1.0, None)
    };
    let other = VariantRow { name: "\x1b[31mred\"'".into(), ..row.clone() };
    Report {
        host: Host {
            cpu_model: Some("CPU\x1b]0;title\x07".into()),
            kernel: "6\r1".into(),
            cpus: 1,
            ..empty().host
        },
        mechanisms: vec![mechanism("m\n", Err("\x1b[2J"))],
        experiments: vec![ExperimentReport {
            name: "naïve\u{200b}".into(),
            mail: "\"A\nB\"".into(),
            question: "quote \" back\\slash".into(),
            cases: vec![case],
            variants: vec![row, other],
            live: vec![LiveRow {
                target: "t\u{9b}".into(),
                question: String::new(),
                reason: String::new(),
                ..live("x")
            }],
            noise_floor: None,
            effects: vec![],
            locks: vec![],
            operations: vec![],
            programs: vec![ProgramRow {
                command: "=\"p\"\u{1b}[2J".into(),
                what: "|<i>\n".into(),
                values: vec![ProgramValue { name: "@\u{7}".into(), value: 5.0, unit: "<u>".into() }],
                reason: None,
            }],
            ..nothing_judged()
        }],
        warnings: vec![warning("c\x08", "w\u{2028}")],
        ..empty()
    }
}

fn pool_mix() -> ExperimentReport {
    let dirtied = CaseReport {
        witness_ns: Some([1.43, 1.45]),
        line_transfer_ns: Some([31.0, 140.0]),
        huge_page_bytes: Some(4 << 20),
        drop_rate: 0.04,
        drops: BTreeMap::from([("preempted".into(), 3), ("page fault".into(), 1)]),
        ..case("mix-dirtied", "one call, the pool dirtied by another CPU", 2, "as-it-was")
    };
    let shared = CaseReport {
        oversubscribed: true,
        witness_ns: Some([1.0, 1.2]),
        drop_rate: 0.25,
        drops: BTreeMap::from([("preempted".into(), 25)]),
        ..case("read-shared-4", "1024 bytes at a time from one pool by 4 tasks", 4, "as-it-was")
    };
    let d = "mix-dirtied";
    let kernel = |median, n, lost| Some(KernelTime { median, n, lost });
    ExperimentReport {
        name: "pool-mix".into(),
        mail: "A. Author, March 2004, \"a subject\"".into(),
        question: "Does laying out the pool for sharing make reading scale?".into(),
        claim: ClaimReport {
            text: "the patched driver scales".into(),
            metric: "throughput".into(),
            level: "system call".into(),
            numbers: vec![
                ClaimNumber { what: "3 tasks".into(), ratio: 1.045, interval: [1.0, 1.093] },
                ClaimNumber { what: "4 tasks".into(), ratio: 4.75, interval: [4.11, 5.57] },
            ],
            smallest_effect: 0.05,
            min_cpus: 4,
        },
        cases: vec![dirtied, shared],
        variants: vec![
            VariantRow { kernel: kernel(163.0, 25, 0), ..variant(d, "as-it-was", 162.4, None) },
            VariantRow { kernel: kernel(102.0, 24, 1), ..variant(d, "as-posted", 101.5, Some([0.625, 0.61, 0.64])) },
            VariantRow { kernel: kernel(0.0, 0, 25), ..variant(d, "best", 10.1, Some([0.0625, 0.06, 0.065])) },
            VariantRow { kernel: None, ..variant(d, "split-only", 165.6, Some([1.02, 0.99, 1.05])) },
            VariantRow { kernel: None, ..variant(d, "hoisted", 170.6, Some([1.051, 0.96, 1.11])) },
            VariantRow { kernel: None, ..variant(d, "lock-alone", 2598.4, Some([16.0, 15.8, 16.3])) },
            VariantRow {
                available: false,
                unavailable: Some("this CPU has no prefetch for writing".into()),
                median: None,
                ..variant(d, "for-writing", 0.0, None)
            },
            VariantRow {
                median: None,
                work_check: "state differs after 3 words: 1 against 2".into(),
                ..variant(d, "broken", 0.0, None)
            },
            VariantRow { named: false, ..variant(d, "split+hoisted", 1.0, Some([1.0, 1.0, 1.0])) },
            VariantRow { kernel: None, ..variant("read-shared-4", "as-it-was", 23_026.0, None) },
            VariantRow {
                kernel: None,
                reason: Some("too few pairs were left for an interval".into()),
                ..variant("read-shared-4", "as-posted", 23_100.0, None)
            },
        ],
        noise_floor: Some(NoiseFloor { ratio_ci95: [0.991, 1.012] }),
        effects: vec![
            effect("layout", "split", "packed", [0.5, 0.4, 0.625]),
            effect("prefetch", "as posted", "none", [1.0, 0.98, 1.02]),
            effect("prefetch", "for writing", "none", [1.052, 1.04, 1.071]),
            Effect {
                case: "read-shared-4".into(),
                ..effect("prefetch", "as posted", "none", [16.0, 15.8, 16.3])
            },
        ],
        locks: vec![
            lock("as-it-was", 1, 250, [30, 45, 61, 900]),
            lock("as-posted", 2, 1_250_000, [30, 45, 1061, 1_900_000]),
        ],
        programs: vec![ProgramRow {
            command: "other -x".into(),
            what: "the same by somebody else".into(),
            values: vec![ProgramValue { name: "messages of 4096 bytes".into(), value: 2318.0, unit: "ns".into() }],
            reason: None,
        }],
        operations: vec![
            operation("as-it-was", [21, 40, 61, 900], 0.0),
            operation("as-posted", [22, 40, 6_100, 1_900_000], 976.5),
        ],
        live: vec![
            LiveRow {
                calls: Some(20_000),
                n: 20_000,
                p50_ns: Some(412),
                p90_ns: Some(600),
                p99_ns: Some(690),
                max_ns: Some(20_479),
                floor_ns: Some(60),
                added_ns: Some(310),
                bystander_ns: Some(160),
                ..live("syscall:read")
            },
            LiveRow {
                threads: 4,
                oversubscribed: true,
                calls: Some(20_004),
                n: 20_000,
                p50_ns: Some(150),
                p90_ns: Some(600),
                p99_ns: Some(690),
                max_ns: Some(20_479),
                floor_ns: Some(60),
                added_ns: Some(-3),
                dropped: 2,
                missed: Some(1),
                in_flight: 1,
                unmatched: 1,
                clock_regressions: 1,
                probe_bound: true,
                ..live("syscall:read")
            },
            LiveRow {
                size_lo: None,
                size_hi: None,
                threads: 0,
                backend: "none".into(),
                question: "what one draw of the kernel's own generator costs".into(),
                reason: "the kernel refused the program".into(),
                missed: None,
                ..live("call:bpf_get_prandom_u32")
            },
        ],
        verdict: VerdictReport {
            mechanism: Mechanism::Confirmed,
            claim: ClaimVerdict::NotTestableHere,
            measured_ratio: Some(0.625),
            ci95: Some([0.61, 0.64]),
            implied_share: Some(0.125),
            why: "mechanism confirmed: as-posted takes 0.625 [0.610, 0.640] times as long as as-it-was in \
                  mix-dirtied: beyond the smallest effect (5 %) and the noise floor. Claim not testable here: \
                  missing: 4 CPUs (this run uses 2)."
                .into(),
        },
    }
}

fn nothing_judged() -> ExperimentReport {
    ExperimentReport {
        name: "route-flush".into(),
        mail: "B. Author, May 2007, \"another\"".into(),
        question: "Does a flush that takes each lock once pay?".into(),
        cases: vec![],
        variants: vec![],
        noise_floor: None,
        effects: vec![],
        locks: vec![],
        programs: vec![ProgramRow {
            command: "other -x".into(),
            what: "the same by somebody else".into(),
            values: vec![],
            reason: Some("it is not installed".into()),
        }],
        operations: vec![],
        live: vec![],
        claim: ClaimReport {
            text: "it is faster".into(),
            metric: "time".into(),
            level: "routine".into(),
            numbers: vec![],
            smallest_effect: 0.05,
            min_cpus: 2,
        },
        verdict: VerdictReport {
            mechanism: Mechanism::Inconclusive,
            claim: ClaimVerdict::Inconclusive,
            measured_ratio: None,
            ci95: None,
            implied_share: None,
            why: String::new(),
        },
    }
}

fn cache(level: u32, kind: &str, size_bytes: u64) -> Cache {
    Cache { level, kind: kind.into(), size_bytes, line_bytes: 64, shared_by: 2 }
}

fn mechanism(name: &str, outcome: Result<(), &str>) -> MechanismRow {
    let reason = outcome.err().unwrap_or("attached").into();
    MechanismRow {
        name: name.into(),
        what: "what it gives".into(),
        works: outcome.is_ok(),
        tried: outcome.err().map(|_| "loading a program".into()),
        reason,
        remedy: outcome.err().map(|_| "use another".into()),
    }
}

fn warning(code: &str, text: &str) -> Warning {
    Warning { code: code.into(), text: text.into() }
}

fn case(name: &str, title: &str, threads: u32, baseline: &str) -> CaseReport {
    CaseReport {
        name: name.into(),
        title: title.into(),
        threads,
        oversubscribed: false,
        baseline: baseline.into(),
        noise_floor: Some(NoiseFloor { ratio_ci95: [0.991, 1.012] }),
        witness_ns: None,
        drop_rate: 0.0,
        drops: BTreeMap::new(),
        line_transfer_ns: None,
        huge_page_bytes: None,
    }
}

fn variant(case: &str, name: &str, median: f64, ratio: Option<[f64; 3]>) -> VariantRow {
    VariantRow {
        case: case.into(),
        name: name.into(),
        summary: "what it does".into(),
        available: true,
        unavailable: None,
        named: true,
        threads: 1,
        oversubscribed: false,
        unit: "ns per call".into(),
        median: Some(median),
        mad: Some(0.5),
        ci95: Some([median, median]),
        ratio_to_baseline: ratio.map(|[value, lo, hi]| Ratio { value, ci95: [lo, hi] }),
        samples: vec![vec![Some(median), None, Some(median)]; 5],
        dropped_pairs: 5,
        work_check: "64 states and outputs equal".into(),
        kernel: None,
        reason: None,
    }
}

fn effect(factor: &str, level: &str, reference: &str, [value, lo, hi]: [f64; 3]) -> Effect {
    Effect {
        case: "mix-dirtied".into(),
        factor: factor.into(),
        level: level.into(),
        reference: reference.into(),
        ratio: Ratio { value, ci95: [lo, hi] },
    }
}

fn lock(variant: &str, threads: u32, n: u64, [p50_ns, p90_ns, p99_ns, max_ns]: [u64; 4]) -> LockRow {
    let wait = Quantiles { p50_ns, p90_ns, p99_ns, max_ns };
    LockRow {
        case: "mix-dirtied".into(),
        variant: variant.into(),
        threads,
        n,
        wait,
        hold: wait,
        wait_buckets: vec![[30, 32, n]],
        hold_buckets: vec![],
    }
}

fn operation(variant: &str, [p50_ns, p99_ns, p99_9_ns, max_ns]: [u64; 4], woken: f64) -> OperationRow {
    OperationRow {
        case: "mix-dirtied".into(),
        variant: variant.into(),
        operation: "call".into(),
        threads: 1,
        n: 38_400,
        p50_ns,
        p99_ns,
        p99_9_ns,
        max_ns,
        wakeups_per_million: woken,
        buckets: vec![[20, 22, 38_400]],
    }
}

fn live(target: &str) -> LiveRow {
    LiveRow {
        target: target.into(),
        question:
            "a read of 1024 B from /dev/urandom: entry, file lookup and page faults too, which the Rust rows \
                   leave out"
                .into(),
        backend: "raw-tracepoint".into(),
        reason: "syscall:read by raw-tracepoint; vfs_read by fentry: attaching fexit to vfs_read: EPERM: Operation \
                 not permitted (likely: capabilities are held, so it is a policy of this kernel; next: use another \
                 mechanism: this kernel does not give this one)"
            .into(),
        threads: 1,
        oversubscribed: false,
        size_lo: Some(1024),
        size_hi: Some(1025),
        calls: None,
        n: 0,
        p50_ns: None,
        p90_ns: None,
        p99_ns: None,
        max_ns: None,
        floor_ns: None,
        added_ns: None,
        bystander_ns: None,
        in_flight: 0,
        unmatched: 0,
        dropped: 0,
        missed: Some(0),
        clock_regressions: 0,
        probe_bound: false,
        buckets: vec![],
    }
}
