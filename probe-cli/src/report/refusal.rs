//! A refusal in a few words. The whole of it, with the next step, is for `doctor` and the JSON.

use super::text::words::{brief, safe};

/// Longest text that is shown whole where it is no refusal in the form that [`parse`] knows.
const LONGEST: usize = 120;

/// What a refusal says, in the form that the probes write it.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Parts<'a> {
    /// Empty where it is not said.
    pub(super) tried: &'a str,
    /// Whether it was a matter of permission.
    pub(super) denied: bool,
    /// Error and cause.
    pub(super) why: String,
}

/// Takes `what by mechanism: refusal` apart: mechanism and why it did not answer, and what it was asked for.
pub(super) fn reason(part: &str) -> Option<(String, String)> {
    let (what, refused) = part.split_once(" by ")?;
    let (backend, why) = refused.split_once(": ")?;
    Some((format!("{}: {}", safe(backend), parse(why)?.why), safe(what)))
}

/// All refusals in a row's reason.
pub(crate) fn reasons(text: &str) -> Vec<(String, String)> {
    parts(text).into_iter().filter_map(reason).collect()
}

/// Splits at semicolons outside parentheses.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ';' && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

/// Takes `tried: answer (likely: cause; next: step)` and `answer; likely cause` apart.
pub(super) fn parse(text: &str) -> Option<Parts<'_>> {
    let (tried, answer, cause) = match text.split_once(" (likely: ") {
        Some((said, guessed)) => {
            let (tried, answer) = split(said);
            (tried, answer, guessed.rsplit_once("; next: ")?.0)
        }
        None => {
            let (answer, cause) = text.split_once("; likely ")?;
            ("", answer, cause)
        }
    };
    let errno = answer.split(": ").next().filter(|word| is_errno(word));
    let denied = errno.filter(|errno| matches!(*errno, "EPERM" | "EACCES"));
    // That capabilities are held is how a policy was inferred, and a verifier's log is long.
    let cause = cause.strip_prefix("capabilities are held, so it is ").unwrap_or(cause);
    let cause =
        cause.split_once("the verifier refused the program: ").map_or(cause, |_| "refused by the verifier");
    let why = match denied {
        _ if cause == "unknown" => brief(answer, LONGEST),
        Some(errno) => format!("{errno}, {}", brief(cause, LONGEST)),
        None => brief(cause, LONGEST),
    };
    Some(Parts { tried, denied: denied.is_some(), why })
}

/// What was tried may hold a colon itself; the answer begins at the name of an error, if it has one.
fn split(said: &str) -> (&str, &str) {
    let at_errno =
        said.match_indices(": ").find(|(at, _)| said[at + 2..].split(": ").next().is_some_and(is_errno));
    match at_errno {
        Some((at, _)) => (&said[..at], &said[at + 2..]),
        None => said.split_once(": ").unwrap_or(("", said)),
    }
}

fn is_errno(word: &str) -> bool {
    word.len() > 1
        && word.starts_with('E')
        && word.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
}

/// A refusal that says what was tried, in short; other words as they are.
pub(super) fn short(text: &str) -> String {
    match parse(text) {
        Some(Parts { tried, why, .. }) if !tried.is_empty() => format!("{}: {why}", brief(tried, LONGEST)),
        _ => safe(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::refusal::{Cause, Refusal};

    /// The form is that of the probes: what they write is what is read here.
    #[test]
    fn refusals_of_the_probes_are_short() {
        let text = |answer: &str, cause| Refusal::new("attaching a: b", answer, cause).to_string();
        let short = |answer: &str, cause| super::short(&text(answer, cause));
        let denied = "EPERM: Operation not permitted";
        assert_eq!(short(denied, Cause::Policy), "attaching a: b: EPERM, a policy of this kernel");
        assert_eq!(short(denied, Cause::Capability("CAP_BPF")), "attaching a: b: EPERM, CAP_BPF is not held");
        assert_eq!(short("ENOENT: No such file", Cause::NotBuiltIn), "attaching a: b: not in this kernel");
        assert_eq!(short("ENOMEM: no memory", Cause::Unknown), "attaching a: b: ENOMEM: no memory");
        assert_eq!(
            short("EINVAL: Invalid argument", Cause::Verifier("R1 is not (a pointer)\n; next: x".into())),
            "attaching a: b: refused by the verifier"
        );
        assert!(parse(&text(denied, Cause::Policy)).unwrap().denied);
        assert!(!parse(&text("ENOENT: No such file", Cause::NotBuiltIn)).unwrap().denied);
    }

    #[test]
    fn rows_of_mechanisms_are_short() {
        let row =
            "EPERM: Operation not permitted; likely capabilities are held, so it is a policy of this kernel";
        assert_eq!(
            parse(row),
            Some(Parts { tried: "", denied: true, why: "EPERM, a policy of this kernel".into() })
        );
        let row = "ENOENT: No such file or directory; likely not in this kernel";
        assert_eq!(parse(row), Some(Parts { tried: "", denied: false, why: "not in this kernel".into() }));
    }

    #[test]
    fn other_words_stay() {
        for text in ["", "the kernel refused the program", "x (likely: y)", "E: x", "dropped; likely noise"] {
            assert_eq!(short(text), text);
        }
        assert_eq!(short("a\x1b: b (likely: \x1b; next: )"), "a\\u{1b}: \\u{1b}");
    }
}
