//! Draws what `cargo xtask bench C1 C2 C4 --json FILE` measured: how many times as fast as the C library a copy is, by its
//! size, in three situations.
//!
//! `cargo run --release --example speed_chart -- rows.json > chart.svg`

use std::fmt::Write as _;

use serde_json::Value;

/// The rows that are drawn: id, what its cases begin with, colour, what is said of it.
const SERIES: [(&str, &str, &str, &str); 3] = [
    ("C1", "hot-", "#1b6ca8", "in the cache, no hint"),
    ("C4", "read-", "#2e7d32", "read at once, no hint"),
    ("C2", "cold-", "#c0392b", "in no cache, told that it is not read"),
];
const PEER: &str = ", against the C library";
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 24.0;
/// Sizes as powers of two, and ratios, from edge to edge.
const SIZES: [f64; 2] = [5.5, 26.5];
const RATIOS: [f64; 2] = [0.5, 4.0];

struct Point {
    bytes: u64,
    value: f64,
    lo: f64,
    hi: f64,
}

/// The size at the end of a case's name, where nothing else is.
fn size(end: &str) -> Option<u64> {
    let digits = end.trim_end_matches(['K', 'M']);
    let unit = match &end[digits.len()..] {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => 1,
    };
    Some(digits.parse::<u64>().ok()? * unit)
}

/// The measured cases of a row, without those that lost too many pairs to be judged.
fn points(rows: &[Value], id: &str, beginning: &str) -> Vec<Point> {
    let ours =
        |row: &&Value| row["id"] == id && row["work"].as_str().is_some_and(|work| work.ends_with(PEER));
    let parts = rows.iter().find(ours).and_then(|row| row["parts"].as_array());
    let point = |part: &Value| {
        Some(Point {
            bytes: size(part["case"].as_str()?.strip_prefix(beginning)?)?,
            value: part["missing"].is_null().then(|| part["measured"].as_f64()).flatten()?,
            lo: part["lo"].as_f64()?,
            hi: part["hi"].as_f64()?,
        })
    };
    parts.into_iter().flatten().filter_map(point).collect()
}

fn x(bytes: f64) -> f64 {
    LEFT + (bytes.log2() - SIZES[0]) / (SIZES[1] - SIZES[0]) * WIDTH
}

fn y(ratio: f64) -> f64 {
    let [low, high] = RATIOS.map(f64::log2);
    TOP + (high - ratio.clamp(RATIOS[0], RATIOS[1]).log2()) / (high - low) * HEIGHT
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: speed_chart ROWS.json > CHART.svg")?;
    let rows: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let mut svg = String::new();
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{LEFT}" y="15">times as fast as the C library, by bytes copied; bars: 95 %</text>"#,
        right + 20.0,
        bottom + 100.0
    )?;
    for ratio in [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0] {
        let (at, stroke) = (y(ratio), if ratio == 1.0 { "#333" } else { "#ddd" });
        writeln!(
            svg,
            r#"<path d="M{LEFT} {at:.1}H{right}" stroke="{stroke}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{ratio}x</text>"#,
            LEFT - 6.0,
            at + 4.0
        )?;
    }
    for (power, words) in
        [(6, "64"), (8, "256"), (10, "1K"), (12, "4K"), (14, "16K"), (16, "64K"), (18, "256K")]
            .into_iter()
            .chain([(20, "1M"), (22, "4M"), (24, "16M"), (26, "64M")])
    {
        let at = x(f64::from(1 << power));
        writeln!(svg, r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{words}</text>"#, bottom + 16.0)?;
    }
    for (index, (id, beginning, colour, words)) in SERIES.into_iter().enumerate() {
        let points = points(&rows, id, beginning);
        if points.is_empty() {
            return Err(
                format!("the file has no row {id} against the C library with cases {beginning}*").into()
            );
        }
        let mut line = String::new();
        for Point { bytes, value, lo, hi } in points {
            // Side by side, so that intervals at one size do not cover each other.
            let at = x(bytes as f64) + (index as f64 - 1.0) * 4.0;
            write!(line, "{}{at:.1} {:.1}", if line.is_empty() { "M" } else { "L" }, y(value))?;
            writeln!(
                svg,
                r#"<path d="M{at:.1} {:.1}V{:.1}" stroke="{colour}"/><circle cx="{at:.1}" cy="{:.1}" r="3" fill="{colour}"><title>{bytes} bytes: {value:.2} [{lo:.2}, {hi:.2}]</title></circle>"#,
                y(lo),
                y(hi),
                y(value)
            )?;
        }
        let legend = bottom + 40.0 + 18.0 * index as f64;
        writeln!(
            svg,
            r#"<path d="{line}" fill="none" stroke="{colour}" stroke-opacity="0.5"/><circle cx="{:.1}" cy="{legend:.1}" r="4" fill="{colour}"/><text x="{:.1}" y="{:.1}">{words}</text>"#,
            LEFT + 6.0,
            LEFT + 18.0,
            legend + 4.0
        )?;
    }
    println!("{svg}</svg>");
    Ok(())
}
