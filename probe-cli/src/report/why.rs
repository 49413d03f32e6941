//! The words of both verdicts, taken apart.

/// What the words say beyond the verdicts themselves and the measured ratio.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Why<'a> {
    /// Candidate; baseline and case.
    pub(super) compared: Option<(&'a str, &'a str)>,
    /// Reason of the verdict on the mechanism.
    pub(super) mechanism: &'a str,
    /// Reason of the verdict on the claim.
    pub(super) claim: &'a str,
}

impl<'a> Why<'a> {
    /// Takes `mechanism confirmed: a takes 2 times as long as b in c: reason. Claim inconclusive: reason.` apart;
    /// none where the words have another form, and are better shown whole.
    pub(super) fn of(why: &'a str) -> Option<Self> {
        let (mechanism, claim) = why.split_once(". Claim ")?;
        let (_, mechanism) = mechanism.strip_prefix("mechanism ")?.split_once(": ")?;
        let (_, claim) = claim.split_once(": ")?;
        let compared = mechanism.split_once(" takes ").and_then(|(candidate, rest)| {
            let (baseline, reason) = rest.split_once(" times as long as ")?.1.split_once(": ")?;
            Some(((candidate, baseline), reason))
        });
        let reason = compared.map_or(mechanism, |(_, reason)| reason);
        Some(Self { compared: compared.map(|(compared, _)| compared), mechanism: reason, claim })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_leave_out_what_the_verdicts_say() {
        let why = Why::of(
            "mechanism confirmed: new takes 0.5 [0.4, 0.6] times as long as old in cold: as expected (a: b). Claim \
             not testable here: missing: 4 CPUs. It asks for: more.",
        );
        let expected = Why {
            compared: Some(("new", "old in cold")),
            mechanism: "as expected (a: b)",
            claim: "missing: 4 CPUs. It asks for: more.",
        };
        assert_eq!(why, Some(expected));
        let why = Why::of("mechanism inconclusive: missing: the case x. Claim inconclusive: y.");
        assert_eq!(why, Some(Why { compared: None, mechanism: "missing: the case x", claim: "y." }));
        for text in ["", "other words", "mechanism x. Claim y", "a. Claim b: c"] {
            assert_eq!(Why::of(text), None);
        }
    }
}
