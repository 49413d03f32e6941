//! Secrets are overwritten where they are no longer needed.

/// Fills `memory` with zeros.
///
/// With the feature `zeroize` in a way that no compiler leaves out; without it in one that today's do not.
#[cfg(feature = "zeroize")]
pub(crate) fn wipe<T: zeroize::DefaultIsZeroes>(memory: &mut [T]) {
    zeroize::Zeroize::zeroize(memory);
}

/// Fills `memory` with zeros.
#[cfg(not(feature = "zeroize"))]
pub(crate) fn wipe<T: Copy + Default>(memory: &mut [T]) {
    memory.fill(T::default());
    core::hint::black_box(memory);
}
