//! Lists of numbers as the kernel writes them: `0-3,8`.

use std::{collections::BTreeSet, fmt, str::FromStr};

/// Numbers are below this; no kernel is built for more CPUs.
const LIMIT: u32 = 8192;

/// A set of CPUs, or of other small numbers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CpuList(BTreeSet<u32>);

/// Why a text is no list.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadList {
    /// Nothing in it.
    #[error("the list is empty; write it like 0-3,8")]
    Empty,
    /// A part is neither a number nor a range.
    #[error("`{0}` is neither a number nor a range; write a list like 0-3,8")]
    Part(String),
    /// A range runs backwards.
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
    /// A number is beyond what can be.
    #[error("{0} is too large: numbers are below {LIMIT}")]
    TooLarge(String),
}

impl CpuList {
    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// How many there are; never zero in a list that was parsed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `number` is among them.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.0.contains(&number)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        Self(numbers.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = BadList;

    fn from_str(text: &str) -> Result<Self, BadList> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadList::Empty);
        }
        let mut numbers = BTreeSet::new();
        for part in text.split(',').map(str::trim) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first, part)?, number(last, part)?);
            if first > last {
                return Err(BadList::Backwards(part.to_owned()));
            }
            numbers.extend(first..=last);
        }
        Ok(Self(numbers))
    }
}

fn number(text: &str, part: &str) -> Result<u32, BadList> {
    // `parse` alone would take "+3".
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadList::Part(part.to_owned()));
    }
    match text.parse() {
        Ok(number) if number < LIMIT => Ok(number),
        _ => Err(BadList::TooLarge(text.to_owned())),
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = numbers.next() {
            let mut last = first;
            while let Some(next) = numbers.next_if(|&next| next == last + 1) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                1 => write!(f, "{separator}{first},{last}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kernel_lists_are_read() {
        let list = |text: &str| text.parse::<CpuList>().unwrap().iter().collect::<Vec<_>>();
        assert_eq!(list("0"), [0]);
        assert_eq!(list("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(list("3,1,1-2"), [1, 2, 3]);
    }

    #[test]
    fn what_is_no_list_says_why() {
        let why = |text: &str| text.parse::<CpuList>().unwrap_err();
        assert_eq!(why(""), BadList::Empty);
        assert_eq!(why("3-1"), BadList::Backwards("3-1".into()));
        assert_eq!(why("0-99999999999999999999"), BadList::TooLarge("99999999999999999999".into()));
        assert_eq!(why("0-4294967295"), BadList::TooLarge("4294967295".into()));
        for part in ["a", "1-", "-1", "+1", "1-2-3", "0x1", "1.5", "١"] {
            assert_eq!(why(part), BadList::Part(part.into()));
        }
        assert_eq!(why("1,,2"), BadList::Part(String::new()));
    }

    proptest! {
        #[test]
        fn a_list_prints_as_it_is_read(numbers in prop::collection::btree_set(0..LIMIT, 1..40)) {
            let list: CpuList = numbers.iter().copied().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
