//! The page for a browser: whole, safe, silent, and drawn by a real one.

#[allow(dead_code, reason = "another test uses the rest of it")]
mod synthetic;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use probe_cli::{
    report::{
        html,
        model::{LiveRow, Report},
    },
    stats::histogram::Bucket,
};

fn reports() -> [(&'static str, Report); 4] {
    [
        ("full", synthetic::full()),
        ("empty", synthetic::empty()),
        ("hostile", hostile()),
        ("degenerate", degenerate()),
    ]
}

/// Names that are markup, scripts and entities.
fn hostile() -> Report {
    let mut report = synthetic::hostile();
    let attack = "</style><script>alert(1)</script><img src=\"https://evil.example/x\" onerror='x()'>&amp;";
    report.host.cmdline = Some(attack.to_owned());
    let experiment = &mut report.experiments[0];
    experiment.name = attack.to_owned();
    experiment.claim.text = attack.to_owned();
    experiment.verdict.why = attack.to_owned();
    experiment.variants[1].name = attack.to_owned();
    experiment.live[0].target = attack.to_owned();
    report
}

/// Medians of zero, histograms of nothing, of one call and of the largest numbers there are.
fn degenerate() -> Report {
    let mut report = synthetic::full();
    let experiment = &mut report.experiments[0];
    for row in &mut experiment.variants {
        row.median = Some(0.0);
        row.ci95 = Some([0.0, 0.0]);
        if let Some(ratio) = &mut row.ratio_to_baseline {
            (ratio.value, ratio.ci95) = (0.0, [0.0, f64::MAX]);
        }
    }
    let model = experiment.live[0].clone();
    let rows = [
        vec![],
        vec![Bucket { lo: 0, hi: 1, count: 1 }],
        vec![Bucket { lo: 0, hi: 1, count: u64::MAX }, Bucket { lo: 1 << 63, hi: u64::MAX, count: u64::MAX }],
    ];
    experiment.live.extend(rows.map(|buckets| LiveRow {
        buckets,
        p50_ns: Some(0),
        floor_ns: Some(0),
        ..model.clone()
    }));
    experiment.locks[0].wait_buckets = vec![[u64::MAX, 0, 0]];
    report
}

#[test]
fn a_page_loads_and_runs_nothing() {
    for (name, report) in reports() {
        let page = html::page(&report);
        let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">";
        assert!(page.contains(policy), "{name}");
        for tag in ["<script", "<img", "<link", "<iframe", "<object", "<embed", "<form", "@import", "url("] {
            assert!(!page.contains(tag), "{name}: {tag}");
        }
        for link in page.split("href=\"").skip(1) {
            assert!(link.starts_with('#'), "{name}: a link leaves the page: {}", &link[..40.min(link.len())]);
        }
    }
}

#[test]
fn names_from_outside_stay_text() {
    let page = html::page(&hostile());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.chars().all(|letter| letter == '\n' || !letter.is_control()));
    // The one style sheet is ours, so nothing closed it early.
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(page.contains("日本") && page.contains("基準"));
}

#[test]
fn every_chart_has_words_for_who_does_not_see_it() {
    for (name, report) in reports() {
        let page = html::page(&report);
        for chart in page.split("<svg").skip(1) {
            let (head, body) = chart.split_once('>').unwrap();
            let silent = head.contains("aria-hidden=\"true\"");
            assert!(silent || head.contains("role=\"img\"") && body.starts_with("<title>"), "{name}: {head}");
        }
        assert!(!page.contains("NaN"), "{name}");
    }
}

#[test]
fn elements_are_closed_in_order() {
    for (name, report) in reports() {
        let page = html::page(&report);
        let mut open = Vec::new();
        for tag in page.split('<').skip(1).map(|tag| tag.split('>').next().unwrap()) {
            let element = tag.split(' ').next().unwrap();
            match element.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}"),
                None if element.starts_with('!') || element == "meta" => {}
                None => open.push(element),
            }
        }
        assert_eq!(open, [""; 0], "{name}");
    }
}

#[test]
fn what_the_report_must_tell_is_on_the_page() {
    let page = html::page(&synthetic::full()).replace('\u{a0}', " ");
    for words in [
        // Question, claim, verdicts with their reasons.
        "Does laying out the pool for sharing make reading scale?",
        "the patched driver scales",
        "✓ confirmed",
        "– not testable here",
        "missing: 4 CPUs (this run uses 2).",
        // Intervals, noise, oversubscription, drops.
        "1.60x faster",
        "[1.56, 1.64]",
        "[0.99, 1.01] A/A",
        "oversubscribed: feeds no verdict",
        "25.0 % of the pairs dropped: inconclusive",
        "not measured: this CPU has no prefetch for writing",
        // The live kernel and its instrument.
        "syscall:read, 1024 B",
        "probe-bound: no verdict",
        "class=\"floor\"",
        "class=\"noise\"",
        // The machine.
        "Test(R) CPU(TM) 3000 Processor",
        "not told: the file does not exist",
    ] {
        assert!(page.contains(words), "the page does not say: {words}");
    }
}

/// A browser, if there is one.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|p| p.is_file());
    if found.is_none() {
        println!("skipped: no chromium on this machine (Debian's package is called chromium)");
    }
    found
}

/// Loads `page`; the browser's log, and the picture if it could be taken.
fn look(browser: &Path, folder: &Path, page: &str, dark: bool, width: u32) -> (String, Vec<u8>) {
    let (document, picture) = (folder.join("page.html"), folder.join("picture.png"));
    fs::write(&document, page).unwrap();
    let _ = fs::remove_file(&picture);
    let output = Command::new("timeout")
        .args(["--kill-after=5", "90"])
        .arg(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args(["--enable-logging=stderr", "--log-level=0"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)))
        .arg(format!("--window-size={width},2000"))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", document.display()))
        .output()
        .unwrap();
    (String::from_utf8_lossy(&output.stderr).into_owned(), fs::read(&picture).unwrap_or_default())
}

fn complaints(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("CONSOLE") || line.contains("Content Security Policy")).collect()
}

#[test]
fn a_browser_draws_the_page_without_a_complaint() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    // First that a complaint would be seen: the policy stops a picture from outside.
    let spoiled = html::page(&synthetic::empty())
        .replace("</main>", "<img src='https://example.invalid/x.png'></main>");
    let (log, _) = look(&browser, folder.path(), &spoiled, false, 1200);
    assert!(!complaints(&log).is_empty(), "a request outside went unnoticed:\n{log}");

    let mut pictures = Vec::new();
    for (report, dark, width) in [
        (synthetic::full(), false, 1200),
        (synthetic::full(), true, 1200),
        (synthetic::full(), false, 500),
        (hostile(), false, 1200),
        (degenerate(), true, 500),
    ] {
        let (log, picture) = look(&browser, folder.path(), &html::page(&report), dark, width);
        assert_eq!(complaints(&log), [""; 0]);
        assert!(
            picture.starts_with(b"\x89PNG") && picture.len() > 20_000,
            "no picture, or an empty one:\n{log}"
        );
        pictures.push(picture);
    }
    assert_ne!(pictures[0], pictures[1], "light and dark look the same");
}
