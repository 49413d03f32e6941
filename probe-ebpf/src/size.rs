//! Size classes: a size argument to the power of two it lies below.

/// Whether sizes are told apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Classes {
    /// One row a target.
    One,
    /// One row a target and size class.
    BySize,
}

/// Classes when sizes are told apart: none at all, each power of two up to 16 MiB, and what is larger.
pub const SIZE_CLASSES: u32 = 26;

/// The class of `size`: 0 for 0, else one more than the rounded-down logarithm, and at most the last class.
#[inline(always)]
#[must_use]
pub const fn class(size: u64) -> u32 {
    if size == 0 {
        return 0;
    }
    let class = size.ilog2() + 1;
    if class < SIZE_CLASSES { class } else { SIZE_CLASSES - 1 }
}

/// The sizes of a class, half-open; `None` above means without limit.
///
/// # Panics
///
/// If there is no such class.
#[must_use]
pub const fn bounds(class: u32) -> (u64, Option<u64>) {
    assert!(class < SIZE_CLASSES, "no such size class");
    if class == 0 {
        return (0, Some(1));
    }
    let upper = if class + 1 == SIZE_CLASSES { None } else { Some(1 << class) };
    (1 << (class - 1), upper)
}

/// How many classes a layout has.
#[must_use]
pub const fn count(classes: Classes) -> u32 {
    match classes {
        Classes::One => 1,
        Classes::BySize => SIZE_CLASSES,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edges_are_exact() {
        for (size, expected) in
            [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11), (1 << 24, 25), (u64::MAX, 25)]
        {
            assert_eq!(class(size), expected, "{size}");
        }
    }

    #[test]
    fn classes_meet() {
        for class in 0..SIZE_CLASSES - 1 {
            assert_eq!(bounds(class).1, Some(bounds(class + 1).0));
        }
        assert_eq!(bounds(SIZE_CLASSES - 1).1, None);
    }

    proptest! {
        #[test]
        fn a_size_lies_in_its_class(size: u64, shift in 0_u32..64) {
            let size = size >> shift;
            let (lower, upper) = bounds(class(size));
            prop_assert!(lower <= size && upper.is_none_or(|upper| size < upper));
        }
    }
}
