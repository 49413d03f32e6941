//! Two runs compared: no alarm between two runs of one build, an injected slowdown found, and what cannot be compared
//! told apart. The machine of these runs is simulated, with placement, correlated blocks, steps of the frequency,
//! spoiled batches, and what changes between runs.

#[allow(dead_code, reason = "another test uses the rest of it")]
mod synthetic;

use std::{fs, path::Path, process::Command};

use assert_cmd::cargo::cargo_bin;
use probe_cli::{
    compare::{self, Comparison, Quantity, Verdict},
    report::{
        json,
        model::{CaseReport, NoiseFloor, Report, VariantRow},
        text::Style,
    },
    stats::{
        histogram::Histogram,
        quantile::median,
        ratio::{paired_logs, ratio},
        rng::Rng,
    },
    trace::document::{Interval, Key, SCHEMA as SESSION, Session, SessionClock, SessionRow},
};
use proptest::prelude::*;

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
    /// Standard deviation between runs of the log time of each variant: what no launch of one run samples.
    rerun: f64,
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
    rerun: 0.0,
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
            // The last one is the baseline once more, for the noise floor.
            let timed = VARIANTS + 1;
            let mut samples = vec![Vec::new(); timed];
            let mut rerun: Vec<f64> = (0..timed).map(|_| self.rerun * normal(rng)).collect();
            rerun[VARIANTS] = rerun[0];
            for _ in 0..self.launches {
                let mut blocks = vec![Vec::new(); timed];
                let mut placed: Vec<f64> = (0..timed).map(|_| self.between * normal(rng)).collect();
                placed[VARIANTS] = placed[0];
                let mut drift: Vec<f64> = (0..timed).map(|_| normal(rng)).collect();
                let fresh = (1.0 - self.correlation.powi(2)).sqrt();
                for _ in 0..self.blocks {
                    let frequency = if rng.unit() < self.steps { self.step } else { 1.0 };
                    for variant in 0..timed {
                        drift[variant] = self.correlation * drift[variant] + fresh * normal(rng);
                        let spoiled = if rng.unit() < 0.02 { 1.5 } else { 1.0 };
                        let launch = whole_run + rerun[variant] + placed[variant];
                        let noise = (launch + self.within * drift[variant]).exp();
                        let slower = match slow {
                            Some((slow_variant, slow_case, factor))
                                if (slow_variant, slow_case) == (variant % VARIANTS, case) =>
                            {
                                factor
                            }
                            _ => 1.0,
                        };
                        let time =
                            100.0 * (variant % VARIANTS + 1) as f64 * slower * noise * frequency * spoiled;
                        blocks[variant].push(Some(time));
                    }
                }
                for (launches, launch) in samples.iter_mut().zip(blocks) {
                    launches.push(launch);
                }
            }
            let again = samples.pop().unwrap();
            let floor = ratio(&paired_logs(&again, &samples[0]), rng).unwrap();
            experiment.cases[case].noise_floor = Some(NoiseFloor { ratio_ci95: floor.ci95 });
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
    compare::reports(("base", base), ("new", new), 0.05)
}

/// An optimised build simulates as many as a rate of one in twenty needs, a debug build as many as there is time for.
const RUNS: u64 = if cfg!(debug_assertions) { 24 } else { 400 };

/// Holds that two runs of one build end with 0 in at least 19 of 20, give or take two standard errors of the rate, and
/// find no improvement either more often than that.
fn raises_no_alarm(name: &str, machine: Machine, seed: u64) {
    let mut alarms = [0; 2];
    for run in 0..RUNS {
        let rng = &mut Rng::derive(seed, &[run]);
        let found = compared(&machine.run(None, rng), &machine.run(None, rng));
        for (count, verdict) in alarms.iter_mut().zip([Verdict::Regression, Verdict::Improvement]) {
            *count += u64::from(found.count(verdict) > 0);
        }
    }
    println!("{name}: of {RUNS} pairs {} with a regression, {} with an improvement", alarms[0], alarms[1]);
    let (runs, rate) = (RUNS as f64, 0.05);
    let most = runs * rate + 2.0 * (runs * rate * (1.0 - rate)).sqrt();
    for count in alarms {
        assert!((count as f64) < most, "{name}: {alarms:?} of {RUNS}");
    }
}

#[test]
fn two_full_runs_of_one_build_raise_no_alarm() {
    raises_no_alarm("full", FULL, 1);
}

#[test]
fn two_quick_runs_of_one_build_raise_no_alarm() {
    raises_no_alarm("quick", QUICK, 2);
}

#[test]
fn what_changes_between_runs_alone_raises_no_alarm() {
    // Twice the spread of the launches, which no launch shows.
    raises_no_alarm("restless", Machine { rerun: 0.04, ..FULL }, 9);
}

#[test]
fn a_machine_that_is_slower_as_a_whole_raises_no_alarm() {
    raises_no_alarm("drifting", Machine { run: 0.15, ..FULL }, 3);
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
    assert!(found * 10 >= RUNS * 8, "found in {found} of {RUNS}");
    assert!(others * 10 <= RUNS, "another row in {others} of {RUNS}");
}

/// Three full runs of one experiment, of one build, one after the other on one machine (December 2026).
fn recorded() -> [Report; 3] {
    [
        include_str!("recorded/first.json"),
        include_str!("recorded/second.json"),
        include_str!("recorded/third.json"),
    ]
    .map(|text| serde_json::from_str(text).unwrap())
}

#[test]
fn recorded_runs_of_one_build_raise_no_alarm() {
    let runs = recorded();
    for (at, base) in runs.iter().enumerate() {
        for new in runs.iter().skip(at + 1) {
            for found in [compared(base, new), compared(new, base)] {
                let moved = found.count(Verdict::Regression) + found.count(Verdict::Improvement);
                assert_eq!(moved, 0, "{:?}", found.rows);
                assert!(found.count(Verdict::NoDifference) >= 10);
            }
        }
    }
}

#[test]
fn ten_percent_more_is_found_in_every_recorded_row_that_is_known_to_five() {
    let [base, _, new] = recorded();
    let as_it_was = compared(&base, &new);
    let mut tried = 0;
    for (at, row) in new.experiments[0].variants.iter().enumerate() {
        let known = as_it_was.rows.iter().find(|known| (&known.case, &known.name) == (&row.case, &row.name));
        if known.is_none_or(|known| known.verdict != Verdict::NoDifference) {
            continue;
        }
        let mut worse = new.clone();
        for time in worse.experiments[0].variants[at].samples.iter_mut().flatten().flatten() {
            *time *= 1.10;
        }
        let found = compared(&base, &worse);
        let regressed: Vec<_> = found.rows.iter().filter(|row| row.verdict == Verdict::Regression).collect();
        assert!(
            matches!(&regressed[..], [one] if (&one.case, &one.name) == (&row.case, &row.name)),
            "{} in {}: {regressed:?}",
            row.name,
            row.case
        );
        tried += 1;
    }
    assert!(tried >= 10, "only {tried} rows were known so well");
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
fn a_verdict_never_contradicts_its_interval() {
    for run in 0..10 {
        let rng = &mut Rng::derive(10, &[run]);
        let found = compared(&QUICK.run(None, rng), &QUICK.run(Some((2, 1, 1.3)), rng));
        for row in &found.rows {
            let ratio = row.ratio.unwrap();
            let [lo, hi] = ratio.ci95;
            assert!(lo <= ratio.value && ratio.value <= hi);
            match row.verdict {
                Verdict::Regression => assert!(lo > 1.0 && ratio.value >= 1.05, "{row:?}"),
                Verdict::Improvement => assert!(hi < 1.0 && ratio.value <= 1.0 / 1.05, "{row:?}"),
                Verdict::NoDifference => assert!(lo > 1.0 / 1.05 && hi < 1.05, "{row:?}"),
                Verdict::Inconclusive | Verdict::NotComparable => {}
            }
        }
    }
}

#[test]
fn times_of_few_cases_are_not_judged() {
    let few = |report: &mut Report| {
        let experiment = &mut report.experiments[0];
        experiment.cases.truncate(4);
        experiment.variants.truncate(4 * VARIANTS);
    };
    let rng = &mut Rng::new(11);
    let (mut base, mut new) = (FULL.run(None, rng), FULL.run(Some((0, 0, 3.0)), rng));
    few(&mut base);
    few(&mut new);
    let found = compared(&base, &new);
    let baseline = found.rows.iter().find(|row| (&*row.case, &*row.name) == ("case-0", "variant-0")).unwrap();
    assert_eq!((baseline.quantity, baseline.verdict), (Quantity::Time, Verdict::Inconclusive));
    assert!(baseline.why.contains("cannot be told from a slower variant"), "{}", baseline.why);
    // Its case tells all the same: whatever is held against it got faster.
    assert!(
        found.rows.iter().filter(|row| row.case == "case-0").any(|row| row.verdict == Verdict::Improvement)
    );
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
    assert_eq!((code, &*words), (Some(10), "probe-cli: 1 row got slower\n"));
    let line = page.lines().find(|line| line.contains("case-4: variant-3")).unwrap();
    assert!(line.ends_with("regression"), "{line}");
    assert_eq!(run(&[&base, &worse, "--fail-on-regression=false"]).0, Some(0));
    assert_eq!(run(&[&base, &worse, "--threshold", "200%"]).0, Some(0));
    let document: Comparison = serde_json::from_str(&run(&[&base, &worse, "-f", "json"]).1).unwrap();
    assert_eq!(document.schema, compare::SCHEMA);
    assert_eq!(run(&[&base, "/nonexistent"]).0, Some(1));
    assert_eq!(run(&[&base]).0, Some(2));

    let mut elsewhere = FULL.run(None, rng);
    elsewhere.host.cpu_model = Some("other".into());
    let elsewhere = saved(folder.path(), "elsewhere.json", &elsewhere);
    let (code, page, words) = run(&[&base, &elsewhere]);
    assert_eq!(code, Some(1), "a job that compared nothing must not pass");
    assert!(words.starts_with("probe-cli: no row could be compared: another CPU"), "{words}");
    assert!(page.contains("not comparable"), "{page}");
    assert_eq!(run(&[&base, &elsewhere, "--fail-on-regression=false"]).0, Some(0));

    let session = folder.path().join("session.json");
    fs::write(&session, serde_json::to_string(&traced(100.0, 30, rng)).unwrap()).unwrap();
    let session = session.display().to_string();
    assert_eq!(run(&[&session, &session]).0, Some(0));
    let (code, _, words) = run(&[&base, &session]);
    assert_eq!(code, Some(2));
    assert!(words.contains("compare two of one kind"), "{words}");
}

#[test]
fn a_saved_session_is_printed_again_in_every_form_but_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.json");
    let session = traced(10_000.0, 3, &mut Rng::new(16));
    fs::write(&file, serde_json::to_string(&session).unwrap()).unwrap();
    let report = |form: &str| {
        let mut command = Command::new(cargo_bin("probe-cli"));
        let output = command.arg("report").arg(&file).args(["-f", form]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = report("text");
    assert_eq!(code, Some(0));
    // Three intervals and the whole, each with its count.
    assert_eq!(text.matches("n 2 000").count(), 3, "{text}");
    assert_eq!(text.matches("n 6 000").count(), 1, "{text}");
    assert_eq!(serde_json::from_str::<Session>(&report("json").1).unwrap(), session);
    assert_eq!(report("csv").1.lines().count(), 1 + 3 + 1);
    assert_eq!(report("md").1.matches("| target |").count(), 4);
    assert_eq!(report("html").0, Some(2));
}

/// A session of one target by `seconds` intervals, its calls around `middle` ns, give or take a fifth.
fn traced(middle: f64, seconds: u64, rng: &mut Rng) -> Session {
    let report = synthetic::full();
    let blank = report.experiments[0].live[0].clone();
    let row = |histogram: &Histogram| {
        let live = probe_cli::report::model::LiveRow { probe_bound: false, ..blank.clone() };
        SessionRow { row: live, key: Key::default(), total_ns: 0 }.with(histogram)
    };
    let second = 1_000_000_000;
    let mut whole = Histogram::default();
    let mut intervals = Vec::new();
    for at in 0..seconds {
        let mut histogram = Histogram::default();
        for _ in 0..2000 {
            histogram.record((middle * (0.2 * normal(rng)).exp()) as u64);
        }
        whole.merge(&histogram);
        intervals.push(Interval {
            from_ns: at * second,
            to_ns: (at + 1) * second,
            ended: String::new(),
            targets: vec![row(&histogram)],
        });
    }
    let mut whole = row(&whole);
    (whole.row.unmatched, whole.row.dropped, whole.row.missed, whole.row.clock_regressions) =
        (0, 0, Some(0), 0);
    whole.row.floor_ns = None;
    whole.row.probe_bound = false;
    Session {
        schema: SESSION.into(),
        host: report.host,
        tool: report.tool,
        clock: SessionClock { name: "monotonic".into(), ..SessionClock::default() },
        scope: "everything".into(),
        interrupted: false,
        calibration: std::collections::BTreeMap::new(),
        targets: vec![whole],
        intervals,
        slow: vec![],
        warnings: vec![],
    }
}

fn sessions(base: &Session, new: &Session) -> Vec<(String, Verdict, String)> {
    let found = compare::sessions(("base", base), ("new", new), 0.05);
    found.rows.into_iter().map(|row| (row.name, row.verdict, row.why)).collect()
}

#[test]
fn sessions_are_compared_by_their_intervals() {
    let rng = &mut Rng::new(12);
    let base = traced(10_000.0, 30, rng);
    for (factor, verdict) in
        [(1.0, Verdict::NoDifference), (1.3, Verdict::Regression), (0.7, Verdict::Improvement)]
    {
        let found = sessions(&base, &traced(10_000.0 * factor, 20, rng));
        assert_eq!(found.len(), 2);
        for (quantile, found, why) in found {
            assert_eq!(found, verdict, "{quantile} at {factor}: {why}");
        }
    }
    let found = sessions(&base, &traced(10_000.0, 4, rng));
    assert!(found.iter().all(|(_, verdict, why)| *verdict == Verdict::Inconclusive && why.contains("-i 1s")));

    let mut other = traced(10_000.0, 20, rng);
    other.targets[0].row.backend = "fentry".into();
    assert!(sessions(&base, &other).iter().all(|(_, verdict, _)| *verdict == Verdict::NotComparable));
    other.targets.clear();
    assert!(sessions(&base, &other).iter().all(|(_, _, why)| why == "only in the base run"));
    assert!(sessions(&other, &base).iter().all(|(_, _, why)| why == "only in the new run"));
}

#[test]
fn the_committed_schema_is_that_of_the_types_and_comparisons_keep_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/compare.schema.json");
    let current = compare::schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(path, &current).unwrap();
    }
    assert_eq!(
        fs::read_to_string(path).unwrap_or_default(),
        current,
        "schema/compare.schema.json is not that of the types; UPDATE_SCHEMA=1 cargo test -p probe-cli writes it"
    );
    let validator = jsonschema::validator_for(&serde_json::from_str(&current).unwrap()).unwrap();
    for report in [synthetic::full(), synthetic::empty(), synthetic::hostile()] {
        let document = serde_json::to_value(compared(&report, &report)).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

#[test]
fn reports_of_any_size_are_matched_in_a_moment() {
    // Rows by the ten thousand: matched pair by pair this would take hours.
    let mut report = FULL.run(None, &mut Rng::new(13));
    let experiment = &mut report.experiments[0];
    let row = VariantRow { samples: vec![], ..experiment.variants[1].clone() };
    experiment.variants.extend((0..50_000).map(|at| VariantRow { name: format!("row-{at}"), ..row.clone() }));
    assert_eq!(compared(&report, &report).rows.len(), CASES * VARIANTS + 50_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_samples_end_in_a_verdict_with_finite_numbers(
        samples in prop::collection::vec(
            prop::collection::vec(prop::option::of(prop_oneof![
                Just(0.0), Just(-1.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), 1e-9_f64..1e9,
            ]), 0..4),
            0..8,
        ),
        threshold in 0.001_f64..10.0,
    ) {
        let mut report = FULL.run(None, &mut Rng::new(14));
        report.experiments[0].variants[0].samples = samples.clone();
        report.experiments[0].variants[7].samples = samples;
        let base = FULL.run(None, &mut Rng::new(15));
        for (base, new) in [(&base, &report), (&report, &base), (&report, &report)] {
            let found = compare::reports(("base", base), ("new", new), threshold);
            prop_assert_eq!(found.rows.len(), CASES * VARIANTS);
            for ratio in found.rows.iter().filter_map(|row| row.ratio) {
                prop_assert!(ratio.value.is_finite() && ratio.ci95.iter().all(|end| end.is_finite()));
            }
        }
    }
}
