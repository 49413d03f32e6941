//! What the table holds: a key, what is known of the route, and how valuable that makes it.

use core::net::Ipv4Addr;

use crate::jhash::address_word;

/// What a route was looked up by.
///
/// Addresses are as the hash takes them, see [`address_word`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RouteKey {
    /// Destination.
    pub daddr: u32,
    /// Source.
    pub saddr: u32,
    /// Index of the interface the packet came in by; 0 for a packet of our own.
    pub iif: u32,
    /// Index of the interface asked for; 0 for any.
    pub oif: u32,
    /// Type of service.
    pub tos: u8,
    /// Firewall mark.
    pub mark: u32,
}

impl RouteKey {
    /// The key of a packet of our own, out by any interface.
    #[must_use]
    pub const fn output(daddr: Ipv4Addr, saddr: Ipv4Addr) -> Self {
        Self { daddr: address_word(daddr), saddr: address_word(saddr), iif: 0, oif: 0, tos: 0, mark: 0 }
    }

    /// The interface that enters the hash: the incoming one where there is one.
    #[must_use]
    pub const fn interface(&self) -> u32 {
        if self.iif == 0 { self.oif } else { self.iif }
    }
}

/// What decides how long a route is kept.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Traits {
    /// Learned from a redirect.
    pub redirected: bool,
    /// Somebody asked to be told of changes.
    pub notify: bool,
    /// Goes to a broadcast address.
    pub broadcast: bool,
    /// Goes to a multicast address.
    pub multicast: bool,
    /// Ends on this host.
    pub local: bool,
    /// Time of the table's clock after which it is void, even while in use.
    pub expires_ms: Option<u64>,
}

impl Traits {
    /// Whether it cost something to learn.
    pub(crate) const fn is_valuable(&self) -> bool {
        self.redirected || self.notify || self.expires_ms.is_some()
    }

    /// Whether its time has come.
    pub(crate) fn is_past(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| now_ms >= expires_ms)
    }
}

/// How much an entry deserves its place: the lowest in a long chain goes.
///
/// Bit 31 for one that cost something, bit 30 for one of our own packets or to a single host, and below them
/// the more the younger its last use. Ages wrap at 2^30 ms, as they did.
pub(crate) const fn score(key: &RouteKey, traits: &Traits, age_ms: u64) -> u32 {
    let mut score = !(age_ms as u32) & (u32::MAX >> 2);
    if traits.is_valuable() {
        score |= 1 << 31;
    }
    if key.iif == 0 || !(traits.broadcast || traits.multicast || traits.local) {
        score |= 1 << 30;
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_rank_value_then_destination_then_age() {
        let incoming = RouteKey { iif: 1, ..RouteKey::default() };
        let plain = Traits::default();
        let broadcast = Traits { broadcast: true, ..plain };
        let redirected = Traits { redirected: true, ..broadcast };
        let order = [
            score(&incoming, &broadcast, 5),
            score(&incoming, &broadcast, 4),
            score(&incoming, &plain, 1_000),
            score(&RouteKey::default(), &broadcast, 0),
            score(&incoming, &redirected, 1_000_000),
            score(&incoming, &Traits { redirected: true, ..plain }, 9),
        ];
        assert!(order.is_sorted() && order.windows(2).all(|pair| pair[0] != pair[1]), "{order:x?}");
        assert_eq!(score(&incoming, &broadcast, 0), 0x3fff_ffff);
        assert_eq!(score(&incoming, &broadcast, 1 << 30), 0x3fff_ffff, "ages wrap at 30 bits");
    }
}
