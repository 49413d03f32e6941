//! Numbers as people read them.

use crate::report::model::{KernelTime, Ratio};

/// Between a number and what belongs to it: no line breaks here. The page turns it into a blank.
pub(crate) const GAP: char = '\u{a0}';

/// What stands where there is no number.
pub(crate) const NONE: &str = "-";

/// Three significant digits, more where the number is whole: `0.350`, `9.99`, `16.0`, `162`, `20 000`.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let size = value.abs();
    let decimals = match size {
        0.0 => 0,
        _ if size < 0.9995 => 3,
        _ if size < 9.995 => 2,
        _ if size < 99.95 => 1,
        // Past this a float no longer holds every whole number.
        _ if size < 9e15 => return grouped(value.round() as i64),
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// A whole number with its thousands apart: `20 000`.
pub(crate) fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = if value < 0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(GAP);
        }
        out.push(digit);
    }
    out
}

/// A count.
pub(crate) fn count(value: u64) -> String {
    grouped(i64::try_from(value).unwrap_or(i64::MAX))
}

/// A count with its noun.
pub(crate) fn counted(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// Nanoseconds, in the unit that keeps them short; other units as they are.
pub(crate) fn time(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if unit != "ns" {
        return format!("{}{GAP}{unit}", significant(value));
    }
    let (scaled, unit) = match value.abs() {
        size if size < 1e4 => (value, "ns"),
        size if size < 1e7 => (value / 1e3, "us"),
        size if size < 1e10 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    format!("{}{GAP}{unit}", significant(scaled))
}

/// Nanoseconds of a counter: whole as long as they are told as such.
pub(crate) fn whole_ns(ns: u64) -> String {
    if ns < 10_000 { format!("{}{GAP}ns", count(ns)) } else { time(ns as f64, "ns") }
}

/// The probe's median, and what it missed.
pub(crate) fn by_probe(kernel: Option<&KernelTime>, unit: &str) -> String {
    match kernel {
        None => NONE.to_owned(),
        Some(KernelTime { n: 0, lost, .. }) => format!("none of {}", count(*lost)),
        Some(KernelTime { median, lost: 0, .. }) => time(*median, unit),
        Some(KernelTime { median, lost, .. }) => format!("{}, {} lost", time(*median, unit), count(*lost)),
    }
}

/// Bytes, in the largest binary unit that leaves a whole number.
pub(crate) fn bytes(value: u64) -> String {
    match value {
        0 => "0 B".to_owned(),
        _ if value.is_multiple_of(1 << 30) => format!("{} GiB", value >> 30),
        _ if value.is_multiple_of(1 << 20) => format!("{} MiB", value >> 20),
        _ if value.is_multiple_of(1 << 10) => format!("{} KiB", value >> 10),
        _ => format!("{value} B"),
    }
}

/// A share of one in per cent.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1}{GAP}%", share * 100.0) } else { NONE.to_owned() }
}

/// A ratio of times in words: slower or faster only where the interval, as it is printed, does not hold 1.
pub(crate) fn ratio(ratio: &Ratio) -> (String, String) {
    let Ratio { value, ci95: [lo, hi] } = *ratio;
    if !(value.is_finite() && value > 0.0) {
        return (NONE.to_owned(), interval(lo, hi));
    }
    if value > 1.0 && prints_above_one(lo) {
        (format!("{}x slower", significant(value)), interval(lo, hi))
    } else if value < 1.0 && prints_above_one(1.0 / hi) {
        // The interval turns round with the number.
        (format!("{}x faster", significant(1.0 / value)), interval(1.0 / hi, 1.0 / lo))
    } else {
        (format!("{}x the time", short(value)), interval(lo, hi))
    }
}

/// Whether two decimals tell `value` from 1.
pub(crate) fn prints_above_one(value: f64) -> bool {
    (value * 100.0).round() > 100.0
}

/// A ratio of times and its interval, without words.
pub(crate) fn bare_ratio(ratio: &Ratio) -> String {
    let Ratio { value, ci95: [lo, hi] } = *ratio;
    format!("{} {}", short(value), interval(lo, hi))
}

/// `[lo, hi]`.
pub(crate) fn interval(lo: f64, hi: f64) -> String {
    format!("[{}, {}]", short(lo), short(hi))
}

/// A ratio, with two decimals below ten.
pub(crate) fn short(value: f64) -> String {
    if value.is_finite() && (0.0..0.9995).contains(&value) {
        format!("{value:.2}")
    } else {
        significant(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_are_three_or_whole() {
        let cases: &[(f64, &str)] = &[
            (0.0, "0"),
            (0.35, "0.350"),
            (0.9996, "1.00"),
            (9.99, "9.99"),
            (9.996, "10.0"),
            (16.04, "16.0"),
            (99.96, "100"),
            (162.4, "162"),
            (1234.0, "1 234"),
            (1_234_567.0, "1 234 567"),
            (-20_000.0, "-20 000"),
            (1e300, "1.00e300"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(*value).replace(GAP, " "), *text, "{value}");
        }
    }

    #[test]
    fn times_take_the_unit_that_keeps_them_short() {
        let time = |value, unit| super::time(value, unit).replace(GAP, " ");
        assert_eq!(time(10.1, "ns"), "10.1 ns");
        assert_eq!(time(9999.0, "ns"), "9 999 ns");
        assert_eq!(time(23_026.0, "ns"), "23.0 us");
        assert_eq!(time(2.5e7, "ns"), "25.0 ms");
        assert_eq!(time(3e10, "ns"), "30.0 s");
        assert_eq!(time(3e10, "instructions"), "30 000 000 000 instructions");
    }

    #[test]
    fn ratios_are_words_and_their_intervals_turn_with_them() {
        let words = |value, lo, hi| ratio(&Ratio { value, ci95: [lo, hi] });
        assert_eq!(words(16.04, 15.8, 16.3), ("16.0x slower".into(), "[15.8, 16.3]".into()));
        assert_eq!(words(0.5, 0.4, 0.625), ("2.00x faster".into(), "[1.60, 2.50]".into()));
        assert_eq!(words(1.02, 1.0, 1.031), ("1.02x the time".into(), "[1.00, 1.03]".into()));
        assert_eq!(words(0.97, 0.951, 1.0), ("0.97x the time".into(), "[0.95, 1.00]".into()));
        assert_eq!(words(0.0, 0.0, 0.0), ("-".into(), "[0.00, 0.00]".into()));
        assert_eq!(words(0.5, 0.0, 0.99), ("2.00x faster".into(), "[1.01, -]".into()));
        assert_eq!(words(1.03, 1.006, 1.09), ("1.03x slower".into(), "[1.01, 1.09]".into()));
        // An interval that holds 1, as it is printed, lets no word stand, however far the number is.
        assert_eq!(words(1.051, 0.96, 1.11), ("1.05x the time".into(), "[0.96, 1.11]".into()));
        assert_eq!(words(0.5, 0.33, 1.24), ("0.50x the time".into(), "[0.33, 1.24]".into()));
        assert_eq!(words(1.02, 1.0049, 1.04), ("1.02x the time".into(), "[1.00, 1.04]".into()));
        assert_eq!(words(0.98, 0.96, 0.996), ("0.98x the time".into(), "[0.96, 1.00]".into()));
        assert_eq!(words(f64::NAN, f64::NAN, 1.0), ("-".into(), "[-, 1.00]".into()));
    }

    #[test]
    fn sizes_and_shares() {
        assert_eq!(bytes(32 << 20), "32 MiB");
        assert_eq!(bytes(48 << 10), "48 KiB");
        assert_eq!(bytes(1000), "1000 B");
        assert_eq!(percent(0.0031).replace(GAP, " "), "0.3 %");
        assert_eq!(count(u64::MAX).replace(GAP, " "), "9 223 372 036 854 775 807");
    }

    proptest! {
        #[test]
        fn grouping_loses_no_digit(value in any::<i64>()) {
            prop_assert_eq!(grouped(value).replace(GAP, ""), value.to_string());
        }
    }
}
