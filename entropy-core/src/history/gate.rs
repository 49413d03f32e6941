//! The gates by name, for those who compare them.

use strum::{Display, EnumString, VariantArray};

use super::noise::{Buffered, CountDown, CountUp, EveryDraw, NoNoise, NoiseGate, Statistical, Upstream};
use crate::siphash::Word;

/// A gate of the mail, or of the discussion around it.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Gate {
    /// [`NoNoise`].
    None,
    /// [`EveryDraw`].
    EveryDraw,
    /// [`CountUp`] with the `unsigned long` of the mail.
    CountUp,
    /// [`CountUp`] with a signed int.
    CountUpSigned,
    /// [`CountDown`] with a signed int, as suggested: every ninth draw.
    CountDown,
    /// [`CountDown`] with the mail's `unsigned long`.
    CountDownUnsigned,
    /// [`CountDown`] with a signed int, reloaded with 7: every eighth draw.
    CountDownMended,
    /// [`Statistical`].
    Statistical,
    /// [`Buffered`].
    Buffered,
    /// [`Upstream`].
    Upstream,
}

/// Somebody who can use a gate of any type; the compiler makes a copy of the use for each, as it does in the kernel.
pub trait GateUser<W: Word> {
    /// What comes of it.
    type Output;
    /// Uses a gate in its first state: no noise, no count.
    fn with<G: NoiseGate<W> + Clone + Default + Send + Sync + 'static>(self, gate: G) -> Self::Output;
}

impl Gate {
    /// Every gate, the plain generator first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Hands the gate's type to `user`.
    pub fn visit<W: Word + 'static, U: GateUser<W>>(self, user: U) -> U::Output {
        match self {
            Self::None => user.with(NoNoise),
            Self::EveryDraw => user.with(EveryDraw::default()),
            Self::CountUp => user.with(CountUp::<W, u64>::default()),
            Self::CountUpSigned => user.with(CountUp::<W, i32>::default()),
            Self::CountDown => user.with(CountDown::<W, i32, 8>::default()),
            Self::CountDownUnsigned => user.with(CountDown::<W, u64, 8>::default()),
            Self::CountDownMended => user.with(CountDown::<W, i32, 7>::default()),
            Self::Statistical => user.with(Statistical),
            Self::Buffered => user.with(Buffered::default()),
            Self::Upstream => user.with(Upstream::default()),
        }
    }

    /// Readings of the clock in the first `draws` draws; none where the gate leaves that to the numbers themselves.
    #[must_use]
    pub const fn readings(self, draws: u64) -> Option<u64> {
        match self {
            Self::None | Self::Upstream => Some(0),
            Self::EveryDraw | Self::Buffered => Some(draws),
            Self::CountUp | Self::CountUpSigned => Some(draws / 8),
            Self::CountDown | Self::CountDownUnsigned => Some(draws.div_ceil(9)),
            Self::CountDownMended => Some(draws.div_ceil(8)),
            Self::Statistical => None,
        }
    }
}
