//! The policies: when a copy goes around the cache. The argument of February 2009, one variant for each position.

use crate::topology::Topology;

/// The page the mails speak of, in bytes.
pub const PAGE: usize = 4096;

/// What the caller knows about the destination's future.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, PartialEq, strum::Display, strum::EnumString, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum NextUse {
    /// It will be read soon, by this processor or one that shares its cache.
    ReadSoon,
    /// It will not be read before other data has had the cache: a page headed for a device, a cold cache block.
    NotRead,
    /// Nobody knows.
    #[default]
    Unknown,
}

impl NextUse {
    /// Every hint.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// Which kind of routine a copy takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Path {
    /// Through the cache.
    Cached,
    /// Through the cache, and long: more than the first level holds.
    CachedLong,
    /// Through the cache, the destination's lines asked for first, since they are elsewhere.
    Ahead,
    /// Around the cache.
    Stream,
    /// Around it, through the page door.
    StreamPage,
}

/// When a copy goes around the cache. The baseline first, then in the order in which the positions were taken.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Eq,
    Hash,
    PartialEq,
    strum::Display,
    strum::EnumIter,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Policy {
    /// Never: Linux 2.6.18.
    CachedAlways,
    /// Always: Linux 2.6.29-rc6, which made small writes slower.
    StreamAlways,
    /// From a page up: the first patch of the mail.
    PageUp,
    /// Exactly a page, any alignment: the second patch. Larger copies fall back to the cache, without a word.
    ExactlyPage,
    /// A page through a door that knows it to be aligned, and nothing else: where the mail wants to arrive.
    PageDoor,
    /// By the length, the caller's word on what comes next, and the caches of this machine.
    #[default]
    Automatic,
}

impl Policy {
    /// Every policy, the baseline first.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The path for `len` bytes to an address of which only `dst_addr` is known.
    ///
    /// The policies of 2009 listen to no hint: the kernel had none to give.
    #[inline]
    pub const fn path(self, len: usize, dst_addr: usize, next: NextUse, limits: &Limits) -> Path {
        const LINE: usize = 64;
        if matches!(self, Self::Automatic) {
            return limits.path(len, next);
        }
        let stream = match self {
            Self::CachedAlways | Self::Automatic => false,
            Self::StreamAlways => true,
            Self::PageUp => len >= PAGE,
            Self::ExactlyPage if len == PAGE => return Path::StreamPage,
            Self::PageDoor if len == PAGE && dst_addr.is_multiple_of(LINE) => return Path::StreamPage,
            Self::ExactlyPage | Self::PageDoor => false,
        };
        if stream { Path::Stream } else { Path::Cached }
    }

    /// The length below which every copy with this hint goes through the cache, wherever it leads: all that a short copy
    /// is asked.
    pub(crate) const fn cached_below(self, next: NextUse, limits: &Limits) -> usize {
        match self {
            Self::CachedAlways => usize::MAX,
            Self::StreamAlways => 0,
            Self::PageUp | Self::ExactlyPage | Self::PageDoor => PAGE,
            Self::Automatic => limits.cached_below(next),
        }
    }
}

/// From which length on the automatic policy leaves the plain way through the cache, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Streams, when the destination is read soon.
    pub read_soon: usize,
    /// Streams, when it is not.
    pub not_read: usize,
    /// Streams, when it is not, and the fence is shared with the rest of a batch.
    pub not_read_batched: usize,
    /// Streams, when nobody knows.
    pub unknown: usize,
    /// Goes through the cache, but asks for the destination's lines first, when it is not read and too short to stream.
    pub ahead: usize,
    /// Goes through the cache by the routine for long copies.
    pub long: usize,
    /// Where the numbers come from.
    pub basis: Basis,
}

/// Where limits come from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Basis {
    /// The processor said nothing about its caches: a cautious guess.
    Guess,
    /// The processor's description of its caches.
    Topology,
    /// The description of a guest's processor, which claimed more than is believed, so that the claim was cut.
    Distrusted,
    /// The run-time probe.
    Probe,
    /// The caller.
    Caller,
}

impl Limits {
    /// The shortest copy that streams on the word of the caller. A fence waits for what was streamed, which is the time
    /// of a copy of some kilobytes; below a page, asking for the lines first is cheaper.
    const NOT_READ: usize = PAGE;
    /// The same inside a batch, where the fence costs next to nothing: a few whole lines.
    const NOT_READ_BATCHED: usize = 256;
    /// The shortest copy that asks for lines first: fewer than eight are on their way together anyhow.
    const AHEAD: usize = 512;
    /// The most that a guest's processor is believed to own of a last-level cache. What a hypervisor shows is often the
    /// whole package's cache with a made-up number of sharers, and the neighbours use it too. On the guest where this was
    /// set, copying 16 MiB and reading them took 0.6 times as long through the cache, and from 32 to 64 MiB the two ways
    /// change places.
    const MOST_BELIEVED: usize = 32 << 20;
    /// When nothing is known: more than most cores have to themselves, so that what is read soon is rarely sent away.
    const GUESS: usize = 8 << 20;
    /// The first level of a processor that does not tell: as large as the smallest of the last twenty years.
    const FIRST_LEVEL: usize = 32 << 10;

    /// From what the processor says about itself.
    ///
    /// A destination is worth caching as long as it fits this processor's share of the last level.
    pub fn from_topology(topology: &Topology) -> Self {
        let claimed = topology.l3.share().max(topology.l2.share());
        let (share, basis) = match claimed {
            0 => (Self::GUESS, Basis::Guess),
            _ if topology.guest && claimed > Self::MOST_BELIEVED => (Self::MOST_BELIEVED, Basis::Distrusted),
            _ => (claimed, Basis::Topology),
        };
        let long = if topology.l1d.bytes == 0 { Self::FIRST_LEVEL } else { topology.l1d.bytes };
        Self { long, ..Self::from_share(share, basis) }
    }

    /// From the size up to which this processor's data stays cached.
    ///
    /// The same whether the destination is read soon or nobody knows: to read back from memory what was streamed costs
    /// more than streaming saves until neither side fits.
    pub(crate) fn from_share(share: usize, basis: Basis) -> Self {
        let read_soon = share.max(2 * PAGE);
        Self {
            read_soon,
            not_read: Self::NOT_READ,
            not_read_batched: Self::NOT_READ_BATCHED,
            unknown: read_soon,
            ahead: Self::AHEAD,
            long: Self::FIRST_LEVEL,
            basis,
        }
    }

    /// The path of the automatic policy.
    const fn path(&self, len: usize, next: NextUse) -> Path {
        if len >= self.threshold(next) {
            Path::Stream
        } else if matches!(next, NextUse::NotRead) && len >= self.ahead {
            Path::Ahead
        } else if len >= self.long {
            Path::CachedLong
        } else {
            Path::Cached
        }
    }

    const fn cached_below(&self, next: NextUse) -> usize {
        let asked = if matches!(next, NextUse::NotRead) { self.ahead } else { usize::MAX };
        let mut least = self.threshold(next);
        if asked < least {
            least = asked;
        }
        if self.long < least {
            least = self.long;
        }
        least
    }

    /// The limits inside a batch.
    pub(crate) const fn batched(self) -> Self {
        Self { not_read: self.not_read_batched, ..self }
    }

    /// The length from which a copy with this hint streams.
    #[inline]
    pub const fn threshold(&self, next: NextUse) -> usize {
        match next {
            NextUse::ReadSoon => self.read_soon,
            NextUse::NotRead => self.not_read,
            NextUse::Unknown => self.unknown,
        }
    }
}
