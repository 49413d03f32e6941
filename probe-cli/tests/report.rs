//! The report as people and programs get it: pictures of the text, and documents that keep the schema.

mod synthetic;

use probe_cli::report::{
    json,
    model::{Report, SCHEMA},
    schema,
    text::{self, Style},
};

fn page(report: &Report, files: &[&str], style: Style) -> String {
    let files: Vec<_> = files.iter().map(Into::into).collect();
    let mut out = Vec::new();
    text::write(report, &files, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The pictures were drawn by hand; there is no command that redraws them.
#[track_caller]
fn assert_picture(actual: &str, picture: &str) {
    if actual != picture {
        let differs = actual.lines().zip(picture.lines()).position(|(a, b)| a != b);
        let at = differs.unwrap_or_else(|| actual.lines().count().min(picture.lines().count()));
        panic!(
            "line {} differs\n  picture: {:?}\n  printed: {:?}\nthe whole page:\n{actual}",
            at + 1,
            picture.lines().nth(at),
            actual.lines().nth(at),
        );
    }
}

#[test]
fn every_kind_of_row_and_warning() {
    let files = ["target/run/report.json"];
    assert_picture(&page(&synthetic::full(), &files, Style::PLAIN), include_str!("snapshots/full.txt"));
}

#[test]
fn nothing_known_and_nothing_measured() {
    assert_picture(&page(&synthetic::empty(), &[], Style::PLAIN), include_str!("snapshots/empty.txt"));
}

#[test]
fn names_from_outside_are_shown_safely() {
    let page = page(&synthetic::hostile(), &["a\n\x1b[31mb"], Style::PLAIN);
    assert_picture(&page, include_str!("snapshots/hostile.txt"));
    assert!(page.chars().all(|character| character == '\n' || !character.is_control()));
}

#[test]
fn colour_changes_no_character_and_no_column() {
    let plain = page(&synthetic::full(), &[], Style::PLAIN);
    let coloured = page(&synthetic::full(), &[], Style { colour: true, ..Style::PLAIN });
    assert_ne!(plain, coloured);
    let mut stripped = String::new();
    for (index, part) in coloured.split("\x1b[").enumerate() {
        stripped += if index == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(stripped, plain);
}

#[test]
fn lines_of_words_keep_to_the_width() {
    let narrow = page(&synthetic::full(), &[], Style { width: 60, colour: false });
    // Tables keep their columns whatever the width; words do not.
    for label in ["host", "live", "mechanism", "claim", "why"] {
        let lines = narrow.lines().filter(|line| line.trim_start().starts_with(label));
        assert!(lines.clone().count() > 0, "no line {label}");
        for line in lines {
            assert!(line.chars().count() <= 60, "{line:?}");
        }
    }
}

#[test]
fn cases_that_do_not_fit_side_by_side_stand_below_each_other() {
    let heads = |width| {
        let page = page(&synthetic::full(), &[], Style { width, colour: false });
        page.lines().filter(|line| line.starts_with("  one factor")).count()
    };
    assert_eq!([heads(100), heads(60)], [1, 2]);
}

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/report.schema.json");
    let current = schema::report();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == current,
        "schema/report.schema.json is not that of the types; \
         `UPDATE_SCHEMA=1 cargo test -p probe-cli --test report` writes it anew"
    );
}

#[test]
fn reports_keep_the_schema() {
    let schema = serde_json::from_str(&schema::report()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [synthetic::full(), synthetic::empty(), synthetic::hostile()] {
        let document = serde_json::from_str(&json::to_string(&report).unwrap()).unwrap();
        let faults: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(faults, [""; 0]);
        assert_eq!(serde_json::from_value::<Report>(document).unwrap(), report);
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema": SCHEMA })), "a schema that takes everything");
}

/// The contract by name, written out by hand: a renamed field fails here whatever the types say.
#[test]
fn every_field_of_the_contract_is_there() {
    let document: serde_json::Value =
        serde_json::from_str(&json::to_string(&synthetic::full()).unwrap()).unwrap();
    let has = |at: &str, fields: &[&str]| {
        let value = document.pointer(at).unwrap_or_else(|| panic!("nothing at {at}"));
        for field in fields {
            assert!(value.get(field).is_some(), "{at} has no `{field}`");
        }
    };
    assert_eq!(document["schema"], "probe-report/1");
    has(
        "",
        &[
            "schema",
            "host",
            "tool",
            "clock",
            "seed",
            "started",
            "quick",
            "interrupted",
            "calibration",
            "experiments",
            "warnings",
        ],
    );
    has(
        "/host",
        &[
            "kernel",
            "arch",
            "cpu_model",
            "cpus",
            "caches",
            "clocksource",
            "governor",
            "mitigations",
            "virtualization",
            "lockdown",
            "preempt",
            "thp",
            "numa_nodes",
            "cmdline",
        ],
    );
    has("/tool", &["version", "commit", "rustc"]);
    has("/calibration/uprobe", &["p50_ns", "p99_ns", "n"]);
    has(
        "/experiments/0",
        &["name", "mail", "question", "claim", "variants", "noise_floor", "live", "verdict"],
    );
    has("/experiments/0/claim", &["text", "metric", "level", "numbers", "smallest_effect", "min_cpus"]);
    has(
        "/experiments/0/variants/0",
        &[
            "name",
            "summary",
            "available",
            "threads",
            "oversubscribed",
            "unit",
            "median",
            "mad",
            "ci95",
            "ratio_to_baseline",
            "samples",
            "dropped_pairs",
            "work_check",
            "kernel",
        ],
    );
    has("/experiments/0/variants/1/ratio_to_baseline", &["value", "ci95"]);
    has("/experiments/0/variants/0/kernel", &["median", "n", "lost"]);
    has("/experiments/0/noise_floor", &["ratio_ci95"]);
    has(
        "/experiments/0/live/0",
        &[
            "target",
            "backend",
            "reason",
            "size_lo",
            "size_hi",
            "n",
            "p50_ns",
            "p90_ns",
            "p99_ns",
            "max_ns",
            "floor_ns",
            "added_ns",
            "bystander_ns",
            "in_flight",
            "unmatched",
            "dropped",
            "missed",
            "clock_regressions",
            "probe_bound",
        ],
    );
    has("/experiments/0/verdict", &["mechanism", "claim", "measured_ratio", "ci95", "implied_share", "why"]);
    has("/warnings/0", &["code", "text"]);
    let words = ["confirmed", "contradicted", "inconclusive"];
    assert!(words.contains(&document["experiments"][0]["verdict"]["mechanism"].as_str().unwrap()));
    assert_eq!(document["experiments"][0]["verdict"]["claim"], "not testable here");
    // samples[launch][block]
    assert!(document["experiments"][0]["variants"][0]["samples"][0][0].is_number());
}

#[test]
fn no_document_holds_a_number_that_json_cannot_say() {
    let mut report = synthetic::full();
    report.clock.floor_ns = f64::NAN;
    assert!(json::to_string(&report).is_err());
    let mut report = synthetic::full();
    report.experiments[0].variants[1].ratio_to_baseline.as_mut().unwrap().ci95[1] = f64::INFINITY;
    assert!(json::to_string(&report).is_err());
}
