//! Log-linear buckets: each power of two is split into eight, so that a value is known within 6.25 %.

/// log2 of the number of buckets that each power of two is split into.
pub const SUB_BUCKET_BITS: u32 = 3;

/// Buckets that cover every `u64`.
pub const BUCKETS: usize = ((64 - SUB_BUCKET_BITS as usize) + 1) << SUB_BUCKET_BITS;

/// One row of counts.
pub type Row = [u64; BUCKETS];

const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;

/// The bucket that counts `value`; always below [`BUCKETS`].
#[inline(always)]
#[must_use]
pub const fn bucket(value: u64) -> usize {
    if value < SUB_BUCKETS {
        return value as usize;
    }
    let exponent = value.ilog2();
    let sub_bucket = (value >> (exponent - SUB_BUCKET_BITS)) & (SUB_BUCKETS - 1);
    (((exponent - SUB_BUCKET_BITS + 1) as u64) << SUB_BUCKET_BITS | sub_bucket) as usize
}

/// The smallest value that `bucket` counts.
///
/// # Panics
///
/// If `bucket` is not below [`BUCKETS`].
#[must_use]
pub const fn lower(bucket: usize) -> u64 {
    assert!(bucket < BUCKETS, "no such bucket");
    let bucket = bucket as u64;
    if bucket < SUB_BUCKETS {
        return bucket;
    }
    let shift = (bucket >> SUB_BUCKET_BITS) - 1;
    (SUB_BUCKETS | (bucket & (SUB_BUCKETS - 1))) << shift
}

/// The smallest value that is too large for `bucket`.
///
/// The last bucket has no such value in a `u64`: it ends with, and includes, `u64::MAX`.
///
/// # Panics
///
/// If `bucket` is not below [`BUCKETS`].
#[must_use]
pub const fn upper(bucket: usize) -> u64 {
    assert!(bucket < BUCKETS, "no such bucket");
    if bucket + 1 == BUCKETS { u64::MAX } else { lower(bucket + 1) }
}

/// The value that stands for all of `bucket`: its middle, rounded down.
///
/// # Panics
///
/// If `bucket` is not below [`BUCKETS`].
#[must_use]
pub const fn middle(bucket: usize) -> u64 {
    let lower = lower(bucket);
    lower + (upper(bucket) - lower) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn covers_every_value_with_496_buckets() {
        assert_eq!(BUCKETS, 496);
        assert_eq!(bucket(u64::MAX), 495);
        assert_eq!(upper(495), u64::MAX);
    }

    #[test]
    fn zero_and_one_are_apart() {
        assert_eq!((bucket(0), bucket(1)), (0, 1));
        assert_eq!((lower(0), upper(0)), (0, 1));
    }

    #[test]
    fn powers_of_two_begin_a_bucket() {
        for exponent in 0..64 {
            let power = 1_u64 << exponent;
            assert_eq!(lower(bucket(power)), power);
            assert_eq!(bucket(power - 1) + 1, bucket(power), "2^{exponent}");
        }
    }

    #[test]
    fn buckets_meet_without_gap_or_overlap() {
        for bucket in 0..BUCKETS - 1 {
            assert!(lower(bucket) < upper(bucket));
            assert_eq!(upper(bucket), lower(bucket + 1));
        }
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let bucket = bucket(value);
            prop_assert!(lower(bucket) <= value);
            prop_assert!(value < upper(bucket) || bucket == BUCKETS - 1);
        }

        #[test]
        fn the_middle_is_within_a_sixteenth(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let error = middle(bucket(value)).abs_diff(value);
            prop_assert!(u128::from(error) * 16 <= u128::from(value));
        }
    }
}
