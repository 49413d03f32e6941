//! The counter in a gate: the same C on a signed and on an unsigned type, with arithmetic that wraps.

/// A counter of a C type.
///
/// It matters where the counter starts from garbage, as the kernel's may. Counting *up* to a limit, an unsigned
/// garbage is nearly always past it and fires at once, while half of the signed ones are below zero and far from it.
/// Counting *down* to zero, half of the signed ones are there and fire at once, while an unsigned one is there only
/// when it is exactly zero.
pub trait Counter: Copy {
    /// `++count >= limit`
    fn increment_reaches(&mut self, limit: u8) -> bool;
    /// `count-- <= 0`
    fn decrement_was_spent(&mut self) -> bool;
    /// `count = value`
    fn set(&mut self, value: u8);
}

macro_rules! counter {
    ($($type:ty),*) => {$(
        impl Counter for $type {
            #[inline]
            fn increment_reaches(&mut self, limit: u8) -> bool {
                *self = self.wrapping_add(1);
                *self >= Self::from(limit)
            }
            #[inline]
            #[allow(clippy::absurd_extreme_comparisons, reason = "for the unsigned types this is the trap of the mail")]
            fn decrement_was_spent(&mut self) -> bool {
                let spent = *self <= 0;
                *self = self.wrapping_sub(1);
                spent
            }
            #[inline]
            fn set(&mut self, value: u8) {
                *self = value.into();
            }
        }
    )*};
}

counter!(i32, u32, u64);
