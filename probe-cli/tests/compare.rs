//! Two runs compared: no alarm between two runs of one build, an injected slowdown found, and what cannot be compared
//! told apart. The machine of these runs is simulated, with placement, correlated blocks, steps of the frequency and
//! spoiled batches.

#[allow(dead_code, reason = "another test uses the rest of it")]
mod synthetic;

use std::{fs, path::Path, process::Command};

use assert_cmd::cargo::cargo_bin;
use probe_cli::{
    compare::{self, Comparison, Verdict},
    report::{
        json,
        model::{CaseReport, Report, VariantRow},
        text::Style,
    },
    stats::{quantile::median, rng::Rng},
};

/// A machine and how often it measures.
#[derive(Clone, Copy)]
struct Machine {
    launches: usize,
    blocks: usize,
    /// Standard deviation between launches of a variant's log time.
    between: f64,
    /// That of a batch inside its launch, and its correlation with the one before.
    within: f64,
    correlation: f64,
    /// Share of blocks in which the whole machine runs at another frequency, and how much slower.
    steps: f64,
    step: f64,
    /// Standard deviation between runs of the log time of everything: another neighbour, another host.
    run: f64,
}

const FULL: Machine = Machine {
    launches: 10,
    blocks: 9,
    between: 0.02,
    within: 0.03,
    correlation: 0.5,
    steps: 0.1,
    step: 1.25,
    run: 0.01,
};
const QUICK: Machine = Machine { launches: 5, blocks: 5, ..FULL };

/// Standard normal, by Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

const CASES: usize = 8;
const VARIANTS: usize = 5;

impl Machine {
    /// A run of 40 rows, in which the variant `slow.0` of every case in `slow.1` takes `slow.2` times its time.
    fn run(&self, slow: Option<(usize, usize, f64)>, rng: &mut Rng) -> Report {
        let mut report = synthetic::full();
        report.quick = self.launches < 10;
        report.experiments.truncate(1);
        let experiment = &mut report.experiments[0];
        let (case_of, row_of) = (experiment.cases[0].clone(), experiment.variants[0].clone());
        (experiment.cases, experiment.variants) = (vec![], vec![]);
        experiment.live.clear();
        let whole_run = self.run * normal(rng);
        for case in 0..CASES {
            let name = format!("case-{case}");
            experiment.cases.push(CaseReport {
                name: name.clone(),
                baseline: "variant-0".into(),
                threads: 1,
                drop_rate: 0.02,
                ..case_of.clone()
            });
            let mut samples = vec![Vec::new(); VARIANTS];
            for _ in 0..self.launches {
                let mut blocks = vec![Vec::new(); VARIANTS];
                let placed: Vec<f64> = (0..VARIANTS).map(|_| self.between * normal(rng)).collect();
                let mut drift: Vec<f64> = (0..VARIANTS).map(|_| normal(rng)).collect();
                let fresh = (1.0 - self.correlation.powi(2)).sqrt();
                for _ in 0..self.blocks {
                    let frequency = if rng.unit() < self.steps { self.step } else { 1.0 };
                    for variant in 0..VARIANTS {
                        drift[variant] = self.correlation * drift[variant] + fresh * normal(rng);
                        let spoiled = if rng.unit() < 0.02 { 1.5 } else { 1.0 };
                        let noise = (whole_run + placed[variant] + self.within * drift[variant]).exp();
                        let slower = match slow {
                            Some((slow_variant, slow_case, factor))
                                if (slow_variant, slow_case) == (variant, case) =>
                            {
                                factor
                            }
                            _ => 1.0,
                        };
                        let time = 100.0 * (variant + 1) as f64 * slower * noise * frequency * spoiled;
                        blocks[variant].push(Some(time));
                    }
                }
                for (launches, launch) in samples.iter_mut().zip(blocks) {
                    launches.push(launch);
                }
            }
            for (variant, samples) in samples.into_iter().enumerate() {
                let times: Vec<f64> = samples.iter().flatten().flatten().copied().collect();
                experiment.variants.push(VariantRow {
                    case: name.clone(),
                    name: format!("variant-{variant}"),
                    median: median(&times),
                    samples,
                    ..row_of.clone()
                });
            }
        }
        report
    }
}

fn compared(base: &Report, new: &Report) -> Comparison {
    compare::compare(("base", base), ("new", new), 0.05)
}

const RUNS: u64 = if cfg!(debug_assertions) { 100 } else { 500 };

fn share(seed: u64, holds: impl Fn(&mut Rng) -> bool) -> f64 {
    (0..RUNS).filter(|&run| holds(&mut Rng::derive(seed, &[run]))).count() as f64 / RUNS as f64
}

#[test]
fn two_runs_of_one_build_raise_no_alarm_in_19_of_20() {
    for (name, machine) in [("quick", QUICK), ("full", FULL)] {
        let quiet = share(1, |rng| {
            compared(&machine.run(None, rng), &machine.run(None, rng)).count(Verdict::Regression) == 0
        });
        println!("no alarm, {name}: {quiet}");
        assert!(quiet >= 0.95, "{name}: {quiet}");
    }
}

#[test]
fn a_machine_that_is_slower_as_a_whole_raises_no_alarm_among_the_variants() {
    let drifting = Machine { run: 0.15, ..FULL };
    let quiet = share(2, |rng| {
        let found = compared(&drifting.run(None, rng), &drifting.run(None, rng));
        found.rows.iter().all(|row| row.against.is_none() || row.verdict != Verdict::Regression)
    });
    println!("no alarm among the variants of a drifting machine: {quiet}");
    assert!(quiet >= 0.95, "{quiet}");
}

#[test]
fn a_slowdown_of_ten_percent_of_one_variant_is_found_and_no_other() {
    let mut found = 0;
    let mut others = 0;
    for run in 0..RUNS {
        let rng = &mut Rng::derive(3, &[run]);
        let result = compared(&FULL.run(None, rng), &FULL.run(Some((3, 4, 1.10)), rng));
        let slower: Vec<_> = result.rows.iter().filter(|row| row.verdict == Verdict::Regression).collect();
        let is_it = |row: &&&compare::Row| (&*row.case, &*row.name) == ("case-4", "variant-3");
        found += u64::from(slower.iter().any(|row| is_it(&row)));
        others += u64::from(slower.iter().any(|row| !is_it(&row)));
    }
    println!("10 % found in {found} of {RUNS}, another row in {others}");
    assert!(found * 10 >= RUNS * 9, "found in {found} of {RUNS}");
    assert!(others * 20 <= RUNS, "another row in {others} of {RUNS}");
}

#[test]
fn what_got_faster_and_what_stayed_is_told() {
    let quiet = Machine { between: 0.005, within: 0.005, steps: 0.0, ..FULL };
    let rng = &mut Rng::new(4);
    let found = compared(&quiet.run(None, rng), &quiet.run(Some((2, 1, 0.8)), rng));
    let row = found.rows.iter().find(|row| row.verdict == Verdict::Improvement).unwrap();
    assert_eq!((&*row.case, &*row.name), ("case-1", "variant-2"));
    let [lo, hi] = row.ratio.unwrap().ci95;
    assert!(lo < 0.8 && 0.8 < hi, "{lo} to {hi}");
    assert!(found.count(Verdict::NoDifference) > 30, "{}", found.count(Verdict::NoDifference));
}

#[test]
fn a_run_against_itself_differs_nowhere() {
    let report = FULL.run(None, &mut Rng::new(5));
    let found = compared(&report, &report);
    assert!(found.rows.iter().all(|row| row.ratio.unwrap().value == 1.0));
    assert_eq!(found.count(Verdict::Regression) + found.count(Verdict::Improvement), 0);
}

#[test]
fn runs_that_measure_something_else_are_not_compared() {
    let base = QUICK.run(None, &mut Rng::new(6));
    let worse = QUICK.run(Some((1, 0, 5.0)), &mut Rng::new(7));
    let with = |change: fn(&mut Report)| {
        let mut new = worse.clone();
        change(&mut new);
        compared(&base, &new)
    };
    assert!(with(|_| ()).count(Verdict::Regression) > 0);
    for (words, change) in [
        ("another CPU", (|new| new.host.cpu_model = Some("other".into())) as fn(&mut Report)),
        ("quick against full", |new| new.quick = false),
        ("another clock", |new| new.clock.name = "monotonic".into()),
        ("other mitigations: meltdown", |new| {
            new.host.mitigations.insert("meltdown".into(), "PTI".into());
        }),
    ] {
        let found = with(change);
        assert!(found.not_comparable.iter().any(|why| why.starts_with(words)), "{:?}", found.not_comparable);
        assert_eq!(found.count(Verdict::NotComparable), found.rows.len());
    }
    // One row alone.
    let found = with(|new| new.experiments[0].cases[0].threads = 7);
    assert_eq!(found.count(Verdict::NotComparable), VARIANTS);
    // Another kernel is what a comparison is for.
    let found = with(|new| new.host.kernel = "7.0".into());
    assert_eq!((found.not_comparable.len(), found.differences.len()), (0, 1));
}

#[test]
fn live_rows_need_the_same_mechanism() {
    let base = synthetic::full();
    let mut new = base.clone();
    new.experiments[0].live[0].backend = "fentry".into();
    let found = compared(&base, &new);
    let row = found.rows.iter().find(|row| row.name == "syscall:read").unwrap();
    assert_eq!(row.why, "another mechanism: raw-tracepoint, then fentry");
}

#[test]
fn rows_without_samples_or_names_of_harm_come_through_every_form() {
    for report in [synthetic::full(), synthetic::empty(), synthetic::hostile()] {
        let found = compared(&report, &report);
        let forms = [
            compare::text(&found, Style::PLAIN),
            compare::markdown(&found),
            compare::csv(&found).replace("\r\n", "\n"),
            compare::html(&found),
        ];
        for form in forms {
            assert!(form.chars().all(|letter| letter == '\n' || !letter.is_control()), "{form:?}");
            assert!(!form.contains("<script"), "{form}");
        }
    }
}

fn saved(folder: &Path, name: &str, report: &Report) -> String {
    let path = folder.join(name);
    fs::write(&path, json::to_string(report).unwrap()).unwrap();
    path.display().to_string()
}

#[test]
fn the_exit_code_is_for_machines() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::new(8);
    let base = saved(folder.path(), "base.json", &FULL.run(None, rng));
    let same = saved(folder.path(), "same.json", &FULL.run(None, rng));
    let worse = saved(folder.path(), "worse.json", &FULL.run(Some((3, 4, 1.3)), rng));
    let run = |arguments: &[&str]| {
        let output = Command::new(cargo_bin("probe-cli")).arg("compare").args(arguments).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(run(&[&base, &same]).0, Some(0));
    let (code, page, words) = run(&[&base, &worse]);
    assert_eq!((code, &*words), (Some(10), "probe-cli: 1 row is slower than before\n"));
    let line = page.lines().find(|line| line.contains("case-4: variant-3")).unwrap();
    assert!(line.ends_with("regression"), "{line}");
    assert_eq!(run(&[&base, &worse, "--fail-on-regression=false"]).0, Some(0));
    assert_eq!(run(&[&base, &worse, "--threshold", "200%"]).0, Some(0));
    let document: Comparison = serde_json::from_str(&run(&[&base, &worse, "-f", "json"]).1).unwrap();
    assert_eq!(document.schema, compare::SCHEMA);
    assert_eq!(run(&[&base, "/nonexistent"]).0, Some(1));
    assert_eq!(run(&[&base]).0, Some(2));
}
