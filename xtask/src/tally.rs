//! Counting tests by the closing lines of the programs that run them.

use std::{fmt, ops::AddAssign};

/// How many tests passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    /// `N passed, M failed, K skipped`: skipped may be left out, and one word with a colon may stand before it.
    pub(crate) fn from_plain(line: &str) -> Option<Self> {
        let line = line.trim();
        let counts = match line.split_once(": ") {
            Some((word, rest)) if !word.contains(' ') => rest,
            _ => line,
        };
        let mut counts = counts.split(", ");
        let passed = counted(counts.next()?, "passed")?;
        let failed = counted(counts.next()?, "failed")?;
        let skipped = counts.next().map_or(Some(0), |count| counted(count, "skipped"))?;
        counts.next().is_none().then_some(Self { passed, failed, skipped })
    }

    /// `test result: ok. 1 passed; 0 failed; 2 ignored; ...`, as Rust's own harness and its likes close.
    fn from_libtest(line: &str) -> Option<Self> {
        let (_, counts) = line.trim().strip_prefix("test result: ")?.split_once(". ")?;
        let mut counts = counts.split("; ");
        Some(Self {
            passed: counted(counts.next()?, "passed")?,
            failed: counted(counts.next()?, "failed")?,
            skipped: counted(counts.next()?, "ignored")?,
        })
    }
}

fn counted(text: &str, what: &str) -> Option<u64> {
    text.strip_suffix(what)?.strip_suffix(' ')?.parse().ok()
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Libtest,
}

/// Adds up the closing lines of many test programs as their output streams by.
///
/// A program may close in both forms: that is one set of tests, and the later line is believed.
#[derive(Debug, Default)]
pub(crate) struct Tallier {
    sum: Tally,
    open: Option<(Form, Tally)>,
}

impl Tallier {
    /// Takes one line of output.
    pub(crate) fn line(&mut self, line: &str) {
        let closing = Tally::from_libtest(line)
            .map(|tally| (Form::Libtest, tally))
            .or_else(|| Tally::from_plain(line).map(|tally| (Form::Plain, tally)));
        match closing {
            Some((form, tally)) => {
                if self.open.is_some_and(|(earlier, _)| earlier == form) {
                    self.settle();
                }
                self.open = Some((form, tally));
            }
            None if starts_a_program(line) => self.settle(),
            None => {}
        }
    }

    /// The sum over all programs.
    pub(crate) fn finish(mut self) -> Tally {
        self.settle();
        self.sum
    }

    fn settle(&mut self) {
        if let Some((_, tally)) = self.open.take() {
            self.sum += tally;
        }
    }
}

/// `running 3 tests`
fn starts_a_program(line: &str) -> bool {
    line.strip_prefix("running ")
        .and_then(|rest| rest.split_once(' '))
        .is_some_and(|(count, word)| count.parse::<u64>().is_ok() && word.starts_with("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    fn sum(output: &str) -> Tally {
        let mut tallier = Tallier::default();
        output.lines().for_each(|line| tallier.line(line));
        tallier.finish()
    }

    #[test]
    fn a_plain_line_is_read_with_and_without_its_extras() {
        assert_eq!(Tally::from_plain("3 passed, 1 failed"), Some(tally(3, 1, 0)));
        assert_eq!(Tally::from_plain("3 passed, 1 failed, 2 skipped\r"), Some(tally(3, 1, 2)));
        assert_eq!(Tally::from_plain("guest: 3 passed, 1 failed, 2 skipped"), Some(tally(3, 1, 2)));
    }

    #[test]
    fn what_only_looks_like_a_closing_line_is_not_one() {
        for line in [
            "",
            "3 passed",
            "3 passed, 1 failed, 2 skipped, 9 more",
            "so 3 passed, 1 failed",
            "two words: 3 passed, 1 failed",
            "-3 passed, 1 failed",
            "3 passed, 1 failed, 2 ignored",
            "3passed, 1failed",
        ] {
            assert_eq!(Tally::from_plain(line), None, "{line}");
        }
        assert_eq!(Tally::from_libtest("test result: 3 passed"), None);
        assert_eq!(Tally::from_libtest("test reads_the_result ... ok"), None);
    }

    #[test]
    fn what_is_printed_is_read_back() {
        assert_eq!(Tally::from_plain(&tally(7, 0, 2).to_string()), Some(tally(7, 0, 2)));
    }

    #[test]
    fn the_results_of_several_programs_are_added_up() {
        let output = "\nrunning 2 tests\ntest a ... ok\ntest b ... ignored\n\n\
            test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
            running 1 test\ntest c ... FAILED\n\n\
            test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(sum(output), tally(1, 1, 1));
    }

    #[test]
    fn a_program_that_closes_twice_counts_once() {
        let output = "running 3 tests\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.00s\n\
            2 passed, 0 failed, 1 skipped\n\
            running 1 test\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(sum(output), tally(3, 0, 1));
    }

    #[test]
    fn programs_that_announce_nothing_are_kept_apart() {
        assert_eq!(sum("1 passed, 0 failed\n2 passed, 0 failed, 1 skipped\n"), tally(3, 0, 1));
    }
}
