//! What is launched, how often, and in which order.

use std::{ffi::OsString, time::Duration};

use crate::error::{Error, Result};

/// One of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// The one compared with.
    A,
    /// The one judged.
    B,
}

/// Everything that was asked for.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What is launched, A then B; none where both launch the load.
    pub commands: Option<[String; 2]>,
    /// What puts the machine into the state of each side, before each launch of it.
    pub setups: [Option<String>; 2],
    /// What puts it back, once, when all is over.
    pub undo: Option<String>,
    /// What runs beside the commands, or is launched itself.
    pub load: Vec<OsString>,
    /// How long the load goes on, if neither it nor the command ends later or earlier by itself.
    pub load_for: Duration,
    /// How long a set-up or an undo may take.
    pub patience: Duration,
    /// Launches of each side.
    pub launches: usize,
    /// Whether what the commands print is shown.
    pub shown: bool,
    /// Whether a launch may end with another status than 0.
    pub may_fail: bool,
}

impl Side {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// As it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// Its place in a pair.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A B B A, A B B A, and so on: `pairs` of each. Launches 2n and 2n + 1 are neighbours and of both sides.
pub fn order(pairs: usize) -> impl Iterator<Item = Side> {
    (0..2 * pairs).map(|at| if matches!(at % 4, 0 | 3) { Side::A } else { Side::B })
}

impl Plan {
    /// What a launch of `side` starts and times, as words.
    ///
    /// # Errors
    ///
    /// The command is no command: quotes that do not end, or nothing at all.
    pub fn subject(&self, side: Side) -> Result<Vec<OsString>> {
        match &self.commands {
            Some(commands) => words(&commands[side.index()]),
            None => Ok(self.load.clone()),
        }
    }

    /// What runs beside it.
    #[must_use]
    pub fn beside(&self) -> Option<&[OsString]> {
        (self.commands.is_some() && !self.load.is_empty()).then_some(&self.load)
    }
}

/// Signs that only a shell acts on; an assignment before the command is another.
const FOR_A_SHELL: [char; 15] = ['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', '#', '~', '\n'];

/// A command as a shell would read it. The shell itself is started only for what it alone can do, since starting it
/// would be in every time.
fn words(text: &str) -> Result<Vec<OsString>> {
    let assigns = text.split_whitespace().next().is_some_and(|word| word.contains('='));
    if assigns || text.contains(FOR_A_SHELL) {
        return Ok(["/bin/sh", "-c", text].map(OsString::from).to_vec());
    }
    let wrong = |why: &str| Error::Usage(format!("`{text}` is no command: {why}"));
    let words = shell_words::split(text).map_err(|_| wrong("a quote does not end"))?;
    if words.is_empty() {
        return Err(wrong("it is empty"));
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_of_both_sides_and_either_comes_first_as_often() {
        let found: String = order(5).map(Side::name).collect();
        assert_eq!(found, "ABBAABBAAB");
    }

    #[test]
    fn a_shell_is_started_only_where_it_is_needed() {
        assert_eq!(words("dd if=/dev/zero 'b c' \"d\"").unwrap(), ["dd", "if=/dev/zero", "b c", "d"]);
        assert_eq!(words("LANG=C sort").unwrap(), ["/bin/sh", "-c", "LANG=C sort"]);
        assert_eq!(words("a | b").unwrap(), ["/bin/sh", "-c", "a | b"]);
        for wrong in ["", "  ", "a 'b"] {
            assert!(words(wrong).is_err(), "{wrong:?}");
        }
    }
}
