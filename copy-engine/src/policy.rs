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

/// Which kind of routine a copy takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Path {
    /// Through the cache.
    Cached,
    /// Around it.
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
        let stream = match self {
            Self::CachedAlways => false,
            Self::StreamAlways => true,
            Self::PageUp => len >= PAGE,
            Self::ExactlyPage if len == PAGE => return Path::StreamPage,
            Self::PageDoor if len == PAGE && dst_addr.is_multiple_of(LINE) => return Path::StreamPage,
            Self::ExactlyPage | Self::PageDoor => false,
            Self::Automatic => len >= limits.threshold(next),
        };
        if stream { Path::Stream } else { Path::Cached }
    }
}

/// From which length on the automatic policy streams, in bytes, for each hint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// When the destination is read soon.
    pub read_soon: usize,
    /// When it is not.
    pub not_read: usize,
    /// When it is not, and the fence is shared with the rest of a batch.
    pub not_read_batched: usize,
    /// When nobody knows.
    pub unknown: usize,
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
    /// The shortest copy that streams on the word of the caller: sixteen lines, over which a fence is spread.
    const NOT_READ: usize = 1024;
    /// The same inside a batch, where the fence costs next to nothing: a few whole lines.
    const NOT_READ_BATCHED: usize = 256;
    /// The most that a guest's processor is believed to own of a last-level cache. What a hypervisor shows is often the
    /// whole package's cache with a made-up number of sharers, and the neighbours use it too.
    const MOST_BELIEVED: usize = 16 << 20;
    /// When nothing is known: more than most cores have to themselves, so that what is read soon is rarely sent away.
    const GUESS: usize = 8 << 20;

    /// From what the processor says about itself.
    ///
    /// A destination that is read soon is worth caching as long as it fits this processor's share of the last level. With
    /// nothing known, source and destination share that room: half of it.
    pub fn from_topology(topology: &Topology) -> Self {
        let claimed = topology.l3.share().max(topology.l2.share());
        let (share, basis) = match claimed {
            0 => (Self::GUESS, Basis::Guess),
            _ if topology.guest && claimed > Self::MOST_BELIEVED => (Self::MOST_BELIEVED, Basis::Distrusted),
            _ => (claimed, Basis::Topology),
        };
        Self::from_share(share, basis)
    }

    /// From the size up to which this processor's data stays cached.
    pub(crate) fn from_share(share: usize, basis: Basis) -> Self {
        let read_soon = share.max(2 * PAGE);
        Self {
            read_soon,
            not_read: Self::NOT_READ,
            not_read_batched: Self::NOT_READ_BATCHED,
            unknown: read_soon / 2,
            basis,
        }
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
