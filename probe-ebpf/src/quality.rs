//! What is counted about calls that could not be timed.

/// Why a call or batch has no duration.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u32)]
pub enum Quality {
    /// An exit without an entry: the call was under way before the probe was.
    Unmatched,
    /// An entry found the thread's earlier call still open, and took its place.
    Replaced,
    /// The recursion was deeper than [`MAX_DEPTH`](crate::pairing::MAX_DEPTH).
    TooDeep,
    /// No room to remember another thread.
    Full,
    /// The clock read earlier at the exit than at the entry.
    ClockRegression,
    /// The ring buffer was full.
    Lost,
}

impl Quality {
    /// Every counter, in the order of their indices.
    pub const ALL: [Self; 6] =
        [Self::Unmatched, Self::Replaced, Self::TooDeep, Self::Full, Self::ClockRegression, Self::Lost];

    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Its place in a row of [`Counts`].
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in reports, kebab-case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unmatched => "unmatched",
            Self::Replaced => "replaced",
            Self::TooDeep => "too-deep",
            Self::Full => "full",
            Self::ClockRegression => "clock-regression",
            Self::Lost => "lost",
        }
    }
}

/// One count for each [`Quality`], by [`Quality::index`].
pub type Counts = [u64; Quality::COUNT];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_place_in_all() {
        for (place, quality) in Quality::ALL.into_iter().enumerate() {
            assert_eq!(quality.index(), place, "{}", quality.name());
        }
    }
}
