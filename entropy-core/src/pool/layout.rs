//! Which of a pool's fields share a cache line: the mail's first idea, as three structures.
//!
//! Everything that mixing touches is a relaxed atomic. That costs nothing on its own, and it keeps the
//! compiler from carrying a field in a register from one word to the next when the variant says that it is read
//! again from memory each time, as C compiled without strict aliasing did.

use alloc::boxed::Box;
use core::array;

use strum::{Display, EnumString, VariantArray};

use super::{lock::SpinLock, taps::PoolSize};
use crate::sync::{AtomicI32, AtomicU32, Ordering, dirty};

/// Bytes of a cache line. The mail's machine had 128; every x86-64 has 64.
pub(crate) const LINE_BYTES: usize = 64;

/// Which fields of a pool share a cache line.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Layout {
    /// As it was: counters, taps, pointer and lock on one line.
    Packed,
    /// As posted: what is only read on one line, the lock with the data it guards on another.
    Split,
    /// What the mail tried and found slightly slower: as [`Split`](Self::Split), but the lock on a line of its own.
    #[strum(serialize = "lock-on-own-line")]
    LockAlone,
}

/// A value at the start of a cache line, and nothing else on its lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct OwnLines<T: ?Sized>(T);

/// What mixing moves.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Counters {
    pub(crate) add_ptr: AtomicU32,
    pub(crate) entropy_count: AtomicI32,
    pub(crate) input_rotate: AtomicU32,
}

/// What mixing only reads: the length and the taps.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PoolInfo {
    words: AtomicU32,
    taps: [AtomicU32; 5],
}

impl PoolInfo {
    pub(crate) fn tap(&self, which: usize) -> u32 {
        self.taps[which].load(Ordering::Relaxed)
    }
}

/// The words, apart from the structure as in the original, on whole lines of their own.
type Words = Box<OwnLines<[AtomicU32]>>;

/// A pool's memory, whichever way it is laid out.
pub(crate) trait Store {
    fn new(size: PoolSize) -> Self
    where
        Self: Sized;
    fn info(&self) -> &PoolInfo;
    fn words(&self) -> &[AtomicU32];
    fn lock(&self) -> &SpinLock;
    fn counters(&self) -> &Counters;

    /// Takes for writing every line that mixing writes, the lock's by taking the lock. In a split layout the line that
    /// is only read stays shared: that is the point of splitting.
    fn dirty(&self) {
        self.lock().with(&mut (), || {
            self.words().iter().step_by(LINE_BYTES / 4).for_each(dirty);
            dirty(&self.counters().add_ptr);
        });
    }
}

/// `struct entropy_store` before the mail.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Packed {
    counters: Counters,
    info: PoolInfo,
    pool: Words,
    lock: SpinLock,
}

/// `struct entropy_store` as posted.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Split {
    info: PoolInfo,
    pool: Words,
    moving: OwnLines<LockedCounters>,
}

#[derive(Debug)]
#[repr(C)]
struct LockedCounters {
    lock: SpinLock,
    counters: Counters,
}

/// The layout that the mail rejects.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LockAlone {
    info: PoolInfo,
    pool: Words,
    lock: OwnLines<SpinLock>,
    counters: OwnLines<Counters>,
}

impl Store for Packed {
    fn new(size: PoolSize) -> Self {
        Self { counters: counters(), info: info(size), pool: words(size), lock: SpinLock::new() }
    }
    fn info(&self) -> &PoolInfo {
        &self.info
    }
    fn words(&self) -> &[AtomicU32] {
        &self.pool.0
    }
    fn lock(&self) -> &SpinLock {
        &self.lock
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Store for Split {
    fn new(size: PoolSize) -> Self {
        let moving = LockedCounters { lock: SpinLock::new(), counters: counters() };
        Self { info: info(size), pool: words(size), moving: OwnLines(moving) }
    }
    fn info(&self) -> &PoolInfo {
        &self.info
    }
    fn words(&self) -> &[AtomicU32] {
        &self.pool.0
    }
    fn lock(&self) -> &SpinLock {
        &self.moving.0.lock
    }
    fn counters(&self) -> &Counters {
        &self.moving.0.counters
    }
}

impl Store for LockAlone {
    fn new(size: PoolSize) -> Self {
        let (lock, counters) = (OwnLines(SpinLock::new()), OwnLines(counters()));
        Self { info: info(size), pool: words(size), lock, counters }
    }
    fn info(&self) -> &PoolInfo {
        &self.info
    }
    fn words(&self) -> &[AtomicU32] {
        &self.pool.0
    }
    fn lock(&self) -> &SpinLock {
        &self.lock.0
    }
    fn counters(&self) -> &Counters {
        &self.counters.0
    }
}

fn counters() -> Counters {
    Counters { add_ptr: AtomicU32::new(0), entropy_count: AtomicI32::new(0), input_rotate: AtomicU32::new(0) }
}

fn info(size: PoolSize) -> PoolInfo {
    PoolInfo { words: AtomicU32::new(size.words() as u32), taps: size.taps().map(AtomicU32::new) }
}

/// All words zero. The array's length is forgotten on the way out, its alignment is not.
fn words(size: PoolSize) -> Words {
    // Not inlined: each call would hold the largest array on its stack, and a model checker's stacks are small.
    #[inline(never)]
    fn zeroed<const N: usize>() -> Box<OwnLines<[AtomicU32; N]>> {
        Box::new(OwnLines(array::from_fn(|_| AtomicU32::new(0))))
    }
    match size {
        PoolSize::Words32 => zeroed::<32>(),
        PoolSize::Words64 => zeroed::<64>(),
        PoolSize::Words128 => zeroed::<128>(),
        PoolSize::Words256 => zeroed::<256>(),
        PoolSize::Words512 => zeroed::<512>(),
        PoolSize::Words1024 => zeroed::<1024>(),
        PoolSize::Words2048 => zeroed::<2048>(),
    }
}

// The model checker's atomics have other sizes.
#[cfg(all(test, not(loom)))]
mod tests {
    use core::mem::{align_of, offset_of, size_of};

    use super::*;

    const fn line(offset: usize) -> usize {
        offset / LINE_BYTES
    }

    #[test]
    fn packed_has_everything_on_one_line_and_the_lock_last() {
        assert_eq!((size_of::<Packed>(), align_of::<Packed>()), (LINE_BYTES, LINE_BYTES));
        assert_eq!(offset_of!(Packed, counters), 0);
        assert_eq!(offset_of!(Packed, info), 12);
        assert_eq!(offset_of!(Packed, pool), 40);
        assert_eq!(offset_of!(Packed, lock), 56);
    }

    #[test]
    fn split_has_the_lock_with_its_data_on_the_second_line() {
        assert_eq!((size_of::<Split>(), align_of::<Split>()), (2 * LINE_BYTES, LINE_BYTES));
        assert_eq!(line(offset_of!(Split, info)), 0);
        assert_eq!(line(offset_of!(Split, pool) + size_of::<Words>() - 1), 0);
        assert_eq!(offset_of!(Split, moving), LINE_BYTES);
        assert_eq!(offset_of!(LockedCounters, lock), 0);
        assert_eq!(offset_of!(LockedCounters, counters), 4);
    }

    #[test]
    fn lock_alone_has_three_lines() {
        assert_eq!((size_of::<LockAlone>(), align_of::<LockAlone>()), (3 * LINE_BYTES, LINE_BYTES));
        assert_eq!(line(offset_of!(LockAlone, pool) + size_of::<Words>() - 1), 0);
        assert_eq!(offset_of!(LockAlone, lock), LINE_BYTES);
        assert_eq!(offset_of!(LockAlone, counters), 2 * LINE_BYTES);
    }

    #[test]
    fn counters_lie_in_the_original_order() {
        assert_eq!(offset_of!(Counters, add_ptr), 0);
        assert_eq!(offset_of!(Counters, entropy_count), 4);
        assert_eq!(offset_of!(Counters, input_rotate), 8);
        assert_eq!(size_of::<PoolInfo>(), 24);
        assert_eq!(size_of::<SpinLock>(), 4);
    }

    #[test]
    fn words_fill_whole_lines_of_their_own() {
        for &size in PoolSize::ALL {
            let words = words(size);
            assert_eq!(words.0.len(), size.words());
            assert_eq!(words.0.as_ptr().addr() % LINE_BYTES, 0);
            assert_eq!(size_of_val(&*words), size.bytes());
        }
    }

    #[test]
    fn the_line_that_is_only_read_knows_the_size() {
        for &size in PoolSize::ALL {
            let store = Split::new(size);
            assert_eq!(store.info().words.load(Ordering::Relaxed) as usize, size.words());
            assert_eq!([0, 1, 2, 3, 4].map(|tap| store.info().tap(tap)), size.taps());
        }
    }
}
