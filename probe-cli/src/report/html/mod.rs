//! The report as one page for a browser: nothing to fetch, nothing to run, readable in light, dark and on paper.
//!
//! Every chart is a strip of SVG in the row of the table that has its numbers. Text from outside goes through [`safe`]
//! for what moves a cursor, and through the template for what would be markup.

mod case;
mod effect;
mod head;
mod heat;
mod live;
mod machine;
mod operation;
mod program;
mod quality;
mod verdict;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    model::{ExperimentReport, Report},
    number,
    text::safe,
};

const STYLE: &str = include_str!("style.css");
/// What the page may load: nothing. Its own style is inside it, and there is no script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// `report` as a whole document.
#[must_use]
pub fn page(report: &Report) -> String {
    let title = format!("Hot-path lab, {}", safe(&report.started));
    document(
        &title,
        &html! {
            (head::write(report))
            @for experiment in &report.experiments { (self::experiment(experiment)) }
            (machine::write(report))
        },
    )
}

/// A document around `body`, with the style of all pages.
pub(crate) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    };
    page.into_string()
}

fn experiment(report: &ExperimentReport) -> Markup {
    html! {
        section.experiment id=(anchor(&report.name)) {
            h2 { (safe(&report.name)) }
            p.question { (safe(&report.question)) }
            p.mail { "Mail: " (safe(&report.mail)) }
            (verdict::write(report))
            (case::write(report))
            (operation::write(report))
            (program::write(report))
            (live::write(report))
            (heat::write(report))
            (effect::write(report))
            (quality::write(report))
        }
    }
}

/// The place of an experiment in the page; names that a link could not hold are spelled in numbers.
fn anchor(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let spell = |letter: char| {
        if plain(letter) { letter.to_string() } else { format!("_{:x}", letter as u32) }
    };
    format!("x-{}", name.chars().map(spell).collect::<String>())
}

/// A ratio of times: `1.05×`.
pub(crate) fn times(value: f64) -> String {
    format!("{}×", number::short(value))
}

/// A mark on an axis of ratios: as many decimals as it needs.
pub(crate) fn mark(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    if rounded == 0.0 { format!("{value:.0e}×") } else { format!("{rounded}×") }
}

/// A mark on an axis of times in ns.
pub(crate) fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{}\u{a0}{unit}", (value * 1e3).round() / 1e3)
}

/// A table that may be wider than the page scrolls by itself.
fn wide(table: &Markup) -> Markup {
    html! { div.wide tabindex="0" { (table) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_the_decimals_they_need() {
        assert_eq!([0.05, 0.9, 1.0, 20.0].map(mark), ["0.05×", "0.9×", "1×", "20×"]);
        assert_eq!(
            [0.5, 10.0, 2e3, 5e7].map(duration).map(|d| d.replace('\u{a0}', " ")),
            ["0.5 ns", "10 ns", "2 µs", "50 ms"]
        );
    }

    #[test]
    fn no_name_leaves_its_anchor() {
        assert_eq!(anchor("page-copy"), "x-page-copy");
        assert_eq!(anchor("\"> <b"), "x-_22_3e_20_3cb");
    }
}
