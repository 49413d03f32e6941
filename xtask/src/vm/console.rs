//! Judges a guest by what it left on its console.

use crate::tally::Tally;

/// What the kernel prints when something is broken that a passing test may not notice.
const FAULTS: [&str; 4] = ["BUG:", "Oops", "kernel BUG", "Kernel panic"];
/// Stands before the guest's own closing line: the tests' closing line is not enough, as the guest may die after it.
const CLOSING: &str = "guest: ";

/// What a console says of its guest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// The guest's closing line, if it came that far.
    pub(crate) tally: Option<Tally>,
    /// Why the guest failed, whatever its tests say.
    pub(crate) faults: Vec<String>,
}

impl Judgement {
    /// The tests as counted, and one more failure for what went wrong around them.
    pub(crate) fn counted(&self) -> Tally {
        let mut tally = self.tally.unwrap_or_default();
        tally.failed += u64::from(!self.faults.is_empty());
        tally
    }
}

/// Reads a whole console.
pub(crate) fn judge(console: &str) -> Judgement {
    let mut judgement = Judgement::default();
    for line in console.lines().map(str::trim) {
        if FAULTS.iter().any(|fault| line.contains(fault)) {
            judgement.faults.push(format!("the kernel says: {line}"));
        }
        if line.starts_with(CLOSING) {
            judgement.tally = Tally::from_plain(line).or(judgement.tally);
        }
    }
    match judgement.tally {
        None => judgement.faults.push("the guest did not reach its closing line".to_owned()),
        Some(Tally { passed: 0, failed: 0, skipped: 0 }) => {
            judgement.faults.push("the guest ran no test".to_owned());
        }
        Some(_) => {}
    }
    judgement
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[    0.000000] Linux version 6.12\r\n\
        running 2 tests\r\ntest markers ... ok\r\ntest fentry ... ok\r\n\
        test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\r\n\
        2 passed, 0 failed, 1 skipped\r\n\
        guest: 2 passed, 0 failed, 1 skipped\r\n\
        [    7.100000] reboot: Power down\r\n";

    #[test]
    fn a_guest_that_closes_is_believed() {
        let judgement = judge(GOOD);
        assert_eq!(judgement.faults, [""; 0]);
        assert_eq!(judgement.counted(), Tally { passed: 2, failed: 0, skipped: 1 });
    }

    #[test]
    fn a_broken_kernel_fails_the_guest_whatever_its_tests_say() {
        for fault in [
            "[    5.1] BUG: unable to handle page fault for address: 0000000000000010",
            "[    5.1] Oops: 0002 [#1] PREEMPT SMP NOPTI",
            "[    5.1] kernel BUG at fs/inode.c:1763!",
            "[    8.2] Kernel panic - not syncing: Attempted to kill init!",
        ] {
            let judgement = judge(&format!("{GOOD}{fault}\r\n"));
            assert_eq!(judgement.faults, [format!("the kernel says: {fault}")]);
            assert_eq!(judgement.counted(), Tally { passed: 2, failed: 1, skipped: 1 });
        }
    }

    #[test]
    fn the_closing_line_of_the_tests_is_not_that_of_the_guest() {
        let cut: String = GOOD.split("guest: ").next().unwrap().to_owned();
        let judgement = judge(&cut);
        assert_eq!(judgement.tally, None);
        assert_eq!(judgement.counted(), Tally { passed: 0, failed: 1, skipped: 0 });
        assert_eq!(judge("").counted().failed, 1);
    }

    #[test]
    fn a_guest_that_ran_nothing_has_failed() {
        assert_eq!(judge("guest: 0 passed, 0 failed, 0 skipped").counted().failed, 1);
    }

    #[test]
    fn failed_tests_are_no_fault_of_the_guest() {
        let judgement = judge("guest: 1 passed, 3 failed, 0 skipped\n");
        assert!(judgement.faults.is_empty());
        assert_eq!(judgement.counted().failed, 3);
    }
}
