//! Which names are meant: one name, a pattern with `*` and `?`, or a regular expression.

use regex_lite::Regex;

/// What names are compared with.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// This name alone.
    Exact(String),
    /// `*` for any part, `?` for any character, as a whole.
    Glob(String),
    /// A regular expression that matches anywhere.
    Regex(Regex),
}

impl Pattern {
    /// A name, or a glob where it has a star or a question mark.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.contains(['*', '?']) { Self::Glob(text.to_owned()) } else { Self::Exact(text.to_owned()) }
    }

    /// A regular expression.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn regex(text: &str) -> Result<Self, String> {
        Regex::new(text).map(Self::Regex).map_err(|error| error.to_string())
    }

    /// Whether `name` is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Glob(pattern) => glob(pattern.as_bytes(), name.as_bytes()),
            Self::Regex(regex) => regex.is_match(name),
        }
    }

    /// Whether it names one thing, so that nothing found is an error about that name.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    /// As it was typed.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Glob(text) => text,
            Self::Regex(regex) => regex.as_str(),
        }
    }
}

/// Linear in the product of both lengths: only the last star is ever tried again.
#[must_use]
pub fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match &mut star {
                None => return false,
                Some((at, taken)) => {
                    *taken += 1;
                    (p, n) = (*at + 1, *taken);
                }
            },
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, exponential and obvious.
    fn naive(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, _) => name.is_empty(),
            (Some((b'*', rest)), None) => naive(rest, name),
            (Some((b'*', rest)), Some((_, shorter))) => naive(rest, name) || naive(pattern, shorter),
            (Some((b'?', rest)), Some((_, shorter))) => naive(rest, shorter),
            (Some((byte, rest)), Some((first, shorter))) => byte == first && naive(rest, shorter),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn globs_match_as_defined(pattern in "[ab*?]{0,7}", name in "[ab]{0,8}") {
            prop_assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), naive(pattern.as_bytes(), name.as_bytes()));
        }
    }

    #[test]
    fn each_kind_matches_in_its_way() {
        assert!(Pattern::of("vfs_read").matches("vfs_read") && !Pattern::of("vfs_read").matches("vfs_readv"));
        assert!(Pattern::of("vfs_*").matches("vfs_read") && !Pattern::of("vfs_*").is_exact());
        assert!(Pattern::regex("^vfs_(read|write)$").unwrap().matches("vfs_write"));
        assert!(Pattern::regex("(").is_err());
    }
}
