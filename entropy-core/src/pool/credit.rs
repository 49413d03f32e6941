//! What a pool is believed to hold: credit for what goes in, and the account of what goes out.

use super::Pool;
use crate::sync::Ordering;

/// `count` bits and `bits` more (or fewer), kept between nothing and all that the pool can hold.
#[must_use]
pub fn credited(count: i32, bits: i32, pool_bits: i32) -> i32 {
    count.saturating_add(bits).clamp(0, pool_bits)
}

/// What an extraction was allowed, and what it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Bytes that may be extracted.
    pub granted_bytes: usize,
    /// Bits that the pool is believed to hold after that.
    pub left_bits: i32,
}

impl Account {
    /// The account of `asked_bytes` from a pool of `count` bits. With `limit`, no more is granted than the count
    /// covers, in whole bytes; without it all is granted, and the count ends at nothing.
    #[must_use]
    pub fn of(count: i32, asked_bytes: usize, limit: bool) -> Self {
        let held_bytes = count.max(0) as usize / 8;
        let granted_bytes = if limit { asked_bytes.min(held_bytes) } else { asked_bytes };
        let left_bits = if held_bytes >= granted_bytes { count - granted_bytes as i32 * 8 } else { 0 };
        Self { granted_bytes, left_bits }
    }
}

impl Pool {
    /// Bits of entropy that the pool is believed to hold.
    #[must_use]
    pub fn entropy_bits(&self) -> i32 {
        self.with_store(|store| store.counters().entropy_count.load(Ordering::Relaxed))
    }

    /// Credits `bits` (or takes them off, if negative) under the lock; returns the new count.
    pub fn credit(&self, bits: i32) -> i32 {
        self.update_count(|count| {
            let count = credited(count, bits, self.size().bits());
            (count, count)
        })
    }

    /// Takes `asked_bytes` off the count under the lock, and says how many of them may be extracted.
    pub fn account(&self, asked_bytes: usize, limit: bool) -> Account {
        self.update_count(|count| {
            let account = Account::of(count, asked_bytes, limit);
            (account.left_bits, account)
        })
    }

    fn update_count<R>(&self, update: impl FnOnce(i32) -> (i32, R)) -> R {
        self.with_store(|store| {
            store.lock().with(&mut (), || {
                let (count, result) = update(store.counters().entropy_count.load(Ordering::Relaxed));
                store.counters().entropy_count.store(count, Ordering::Relaxed);
                result
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_stays_between_nothing_and_the_pool() {
        assert_eq!(credited(100, 500, 1024), 600);
        assert_eq!(credited(600, 500, 1024), 1024);
        assert_eq!(credited(5, -6, 1024), 0);
        assert_eq!(credited(1024, i32::MAX, 1024), 1024);
        assert_eq!(credited(0, i32::MIN, 1024), 0);
    }

    #[test]
    fn an_unlimited_extraction_empties_what_it_cannot_pay() {
        assert_eq!(Account::of(80, 10, false), Account { granted_bytes: 10, left_bits: 0 });
        assert_eq!(Account::of(79, 10, false), Account { granted_bytes: 10, left_bits: 0 });
        assert_eq!(Account::of(87, 10, false), Account { granted_bytes: 10, left_bits: 7 });
        assert_eq!(Account::of(0, usize::MAX, false), Account { granted_bytes: usize::MAX, left_bits: 0 });
    }

    #[test]
    fn a_limited_extraction_gets_whole_bytes_only() {
        assert_eq!(Account::of(79, 10, true), Account { granted_bytes: 9, left_bits: 7 });
        assert_eq!(Account::of(7, 10, true), Account { granted_bytes: 0, left_bits: 7 });
        assert_eq!(Account::of(4096, 10, true), Account { granted_bytes: 10, left_bits: 4016 });
    }
}
