//! `probe-cli compare`: two saved reports or sessions, and what got slower between them.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::{ArgAction, Args};

use super::{
    Words,
    form::Form,
    output::{Output, document},
};
use crate::{
    compare::{self, Verdict},
    error::{Error, Result},
    report::read::{self, Saved},
};

/// Compare two saved reports or sessions: what got slower, what faster, and what cannot be said
///
/// A variant of a report is compared by its ratio to the baseline of its case, so that a slower machine is not taken for
/// a slower variant; the baseline by its time. Rows of sessions that were traced with -i are compared by p50 and p99.
/// What differs between any two runs is estimated from all rows and widens every interval; false discoveries are held
/// at 5 % over all rows. Runs on another CPU, with other mitigations, or quick against full are not comparable, and the
/// page says why.
///
/// Exits with 10 if a row regressed, and with 1 if no row could be compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  probe-cli compare before.json after.json
  probe-cli compare before.json after.json --threshold 10% -f md
  probe-cli compare before.json after.json -f html -o change.html
  probe-cli trace vfs_read -i 1 -d 30 --save monday.json; probe-cli compare monday.json tuesday.json")]
pub(super) struct Compare {
    /// The report or session to compare with
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// The report or session to judge
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Smallest change of interest
    #[arg(long, value_name = "PCT", default_value = "5%", value_parser = percent)]
    threshold: f64,
    /// Exit with 10 if a row regressed, and with 1 if none could be compared; `=false` only tells
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    fail_on_regression: bool,
    #[command(flatten)]
    output: Output<Form>,
}

/// `5%` or `5` as 0.05.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let value: f64 = number.parse().map_err(|_| "a percentage such as 5% is wanted".to_owned())?;
    if value > 0.0 && value <= 1000.0 {
        Ok(value / 100.0)
    } else {
        Err("it must lie above 0% and not above 1000%".to_owned())
    }
}

impl Compare {
    pub(super) fn run(self, words: Words, out: &mut dyn Write) -> Result<()> {
        self.output.check()?;
        let name = |path: &Path| path.to_string_lossy().into_owned();
        let (base, new) = (name(&self.base), name(&self.new));
        let found = match (read::saved(&self.base)?, read::saved(&self.new)?) {
            (Saved::Report(before), Saved::Report(after)) => {
                compare::reports((&base, &before), (&new, &after), self.threshold)
            }
            (Saved::Session(before), Saved::Session(after)) => {
                compare::sessions((&base, &before), (&new, &after), self.threshold)
            }
            (Saved::Report(_), Saved::Session(_)) => return Err(two_kinds(&base, &new)),
            (Saved::Session(_), Saved::Report(_)) => return Err(two_kinds(&new, &base)),
        };
        let page = match self.output.format {
            Form::Text => compare::text(&found, self.output.style(words)).into_bytes(),
            Form::Json => document(&found)?,
            Form::Csv => compare::csv(&found).into_bytes(),
            Form::Md => compare::markdown(&found).into_bytes(),
            Form::Html => compare::html(&found).into_bytes(),
        };
        self.output.deliver(&page, out)?;
        out.flush().map_err(Error::Stdout)?;
        let regressions = found.count(Verdict::Regression);
        if regressions > 0 && self.fail_on_regression {
            return Err(Error::Regression { rows: regressions });
        }
        if found.nothing_comparable() && self.fail_on_regression {
            let why = found.not_comparable.first().map_or("they have no row in common", String::as_str);
            return Err(Error::NothingComparable(why.to_owned()));
        }
        Ok(())
    }
}

fn two_kinds(report: &str, session: &str) -> Error {
    Error::Usage(format!(
        "{report} is a report of the lab and {session} a traced session; compare two of one kind"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_with_and_without_their_sign() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("12.5"), Ok(0.125));
        for wrong in ["", "%", "0", "-5%", "nan", "inf", "x"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
