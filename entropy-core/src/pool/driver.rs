//! The random driver around its pools: who feeds whom, who may read how much, and who is to be woken.
//!
//! Nobody sleeps here: where the kernel would wake or put to sleep, the answer says so.
//!
//! Of the original's faults in this part, reproduced: in 2.6.10 `/dev/urandom` asks for a refill only when the
//! primary pool holds *more* than it can, that is never. Left out: in 2.6.10 a refill hands its length in bytes to
//! a routine that wants words, and so mixes in what happens to lie behind its buffer; we mix the bytes that there are.

use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::{error::Error, fmt};

use strum::{Display, EnumString, VariantArray};

use super::{BatchQueue, Event, ExtractForm, MixPlan, Pool, PoolSize, Sample, Source, TimerState, feed};

/// Above this credit of the primary pool, only one sample in 4096 is used (`trickle_thresh`): seven eighths of
/// the default pool, whatever size it has now.
pub const TRICKLE_ABOVE_BITS: i32 = PoolSize::PRIMARY.bytes() as i32 * 7;

/// One sample in so many passes the trickle.
const TRICKLE_ONE_IN: u32 = 4096;

/// The most that one read of `/dev/random` returns, `SEC_XFER_SIZE`: 85 words.
const RANDOM_READ_MAX_BYTES: usize = 85 * 4;

/// The most that one refill asks for on behalf of its reader, in bytes. The original bounded a number of bytes by
/// the length of a buffer in words; the bound is small enough to do no harm, and is kept.
const REFILL_MAX_BYTES: usize = 85;

/// Which state of the driver is meant.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, Hash, VariantArray)]
pub enum Release {
    /// Of the time of the mail: `/dev/urandom` reads the secondary pool and refills it. (That much is known by
    /// hearsay: no source of exactly this version was at hand; how much a refill moves is 2.6.10's rule.)
    #[strum(to_string = "2.6.4")]
    V2_6_4,
    /// `/dev/urandom` has a pool of its own, never refilled; reads end with the final hash.
    #[strum(to_string = "2.6.10")]
    V2_6_10,
}

impl Release {
    /// How the release extracts.
    #[must_use]
    pub fn form(self) -> ExtractForm {
        match self {
            Self::V2_6_4 => ExtractForm::DirectFold,
            Self::V2_6_10 => ExtractForm::FinalHash,
        }
    }
}

/// Whom an operation woke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Those who wait for entropy to read.
    pub readers: bool,
    /// Those who wait for room to write.
    pub writers: bool,
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Bytes filled, from the start of the buffer. None from `/dev/random` means that the reader sleeps.
    pub bytes: usize,
    /// Who was woken by it.
    pub woken: Woken,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOutcome {
    /// A key held down: not looked at.
    Repeated,
    /// The pool is nearly full, and it was not this event's turn.
    Trickled,
    /// It is in the queue.
    Queued {
        /// The worker is to run.
        work_due: bool,
    },
    /// The queue was full; the worker is long due.
    Dropped,
}

/// What a run of the worker did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processed {
    /// Samples mixed.
    pub samples: usize,
    /// Who was woken by it.
    pub woken: Woken,
}

/// The driver: pools, queue and sources.
///
/// ```
/// use entropy_core::pool::{Driver, Event, MixPlan, Release};
///
/// let mut driver = Driver::new(Release::V2_6_10, MixPlan::AS_POSTED);
/// let mut key = [0; 16];
/// assert_eq!(driver.read_random(&mut key).bytes, 0, "no entropy yet: the reader would sleep");
/// for time in [10_000, 23_456, 34_321, 47_000, 91_000, 123_000, 169_000, 200_100, 290_000] {
///     driver.event(0, Event::Interrupt { irq: 14 }, time);
/// }
/// assert!(driver.process_batch().woken.readers);
/// assert!(driver.read_random(&mut key).bytes > 0);
/// ```
#[derive(Debug)]
pub struct Driver {
    release: Release,
    primary: Pool,
    secondary: Pool,
    urandom: Pool,
    queue: BatchQueue,
    timers: BTreeMap<Source, TimerState>,
    last_scancode: u8,
    trickle_counts: BTreeMap<usize, u32>,
    read_wakeup_bits: i32,
    write_wakeup_bits: i32,
}

impl Driver {
    /// A driver as at boot, but for the date and the host's name, which the original mixed into its pools.
    #[must_use]
    pub fn new(release: Release, plan: MixPlan) -> Self {
        Self {
            release,
            primary: Pool::new(PoolSize::PRIMARY, plan),
            secondary: Pool::new(PoolSize::SECONDARY, plan),
            urandom: Pool::new(PoolSize::SECONDARY, plan),
            queue: BatchQueue::default(),
            timers: BTreeMap::new(),
            last_scancode: 0,
            trickle_counts: BTreeMap::new(),
            read_wakeup_bits: 64,
            write_wakeup_bits: 128,
        }
    }

    /// The pool that events feed.
    #[must_use]
    pub fn primary(&self) -> &Pool {
        &self.primary
    }

    /// The pool that `/dev/random` reads.
    #[must_use]
    pub fn secondary(&self) -> &Pool {
        &self.secondary
    }

    /// The pool that `/dev/urandom` reads: in 2.6.4 the secondary one.
    #[must_use]
    pub fn urandom(&self) -> &Pool {
        match self.release {
            Release::V2_6_4 => &self.secondary,
            Release::V2_6_10 => &self.urandom,
        }
    }

    /// The queue of samples.
    #[must_use]
    pub fn queue(&self) -> &BatchQueue {
        &self.queue
    }

    /// An event on `cpu` at `time`, in units of the clock.
    pub fn event(&mut self, cpu: usize, event: Event, time: u64) -> EventOutcome {
        if let Event::Key { scancode } = event {
            if scancode == self.last_scancode {
                return EventOutcome::Repeated;
            }
            self.last_scancode = scancode;
        }
        if self.primary.entropy_bits() > TRICKLE_ABOVE_BITS {
            // The count is looked at before it is raised: the first sample above the threshold still passes.
            let count = self.trickle_counts.entry(cpu).or_default();
            let turn = count.is_multiple_of(TRICKLE_ONE_IN);
            *count = count.wrapping_add(1);
            if !turn {
                return EventOutcome::Trickled;
            }
        }
        let estimate = self.timers.entry(event.source()).or_default().estimate(time);
        let stored = self.queue.store(Sample::new(event.num(), time, estimate.credit_bits));
        match (stored.queued, self.release) {
            (false, _) => EventOutcome::Dropped,
            (true, Release::V2_6_4) => EventOutcome::Queued { work_due: true },
            (true, Release::V2_6_10) => EventOutcome::Queued { work_due: stored.work_due },
        }
    }

    /// The worker: mixes and credits all that is queued.
    pub fn process_batch(&mut self) -> Processed {
        let samples = self.queue.drain();
        feed(&samples, &self.primary, &self.secondary);
        let readers = self.primary.entropy_bits() >= self.read_wakeup_bits;
        Processed { samples: samples.len(), woken: Woken { readers, writers: false } }
    }

    /// A read of `/dev/random`: no more than the secondary pool is credited with once it has been refilled, and never
    /// more than 340 bytes.
    pub fn read_random(&self, out: &mut [u8]) -> Read {
        let most = out.len().min(RANDOM_READ_MAX_BYTES);
        let out = &mut out[..most];
        if out.is_empty() {
            return Read { bytes: 0, woken: Woken::default() };
        }
        let refilled = self.refill(&self.secondary, out.len());
        let read = self.extract(&self.secondary, out, true);
        Read { woken: refilled.or(read.woken), ..read }
    }

    /// A read of `/dev/urandom`: always all that was asked for.
    pub fn read_urandom(&self, out: &mut [u8]) -> Read {
        let pool = self.urandom();
        let refilled = match self.release {
            Release::V2_6_4 => self.refill(pool, out.len()),
            // The comparison of the original, which a clamped count can never satisfy.
            Release::V2_6_10 if self.primary.entropy_bits() > self.primary.size().bits() => {
                self.refill(pool, out.len())
            }
            Release::V2_6_10 => Woken::default(),
        };
        let read = self.extract(pool, out, false);
        Read { woken: refilled.or(read.woken), ..read }
    }

    /// A write to either device: mixed into the primary pool, credited with nothing. A last word that is not whole
    /// is filled up with zeros, where the original had the rest of its buffer.
    pub fn write(&self, bytes: &[u8]) {
        // As the original, 64 bytes at a time, so that the lock is not held for long.
        for part in bytes.chunks(64) {
            self.primary.mix(&words_of(part));
        }
    }

    /// Replaces the primary pool by one of another size: the whole old pool is mixed into the new one, and its
    /// credit goes over as far as there is room. The sysctl `poolsize`; its numbers are [`PoolSize::try_from`].
    pub fn set_pool_size(&mut self, size: PoolSize) {
        let old = self.primary.state();
        let pool = Pool::new(size, self.primary.plan());
        pool.mix(&old.words);
        pool.credit(old.entropy_bits);
        self.primary = pool;
    }

    /// Sets how many bits wake readers (64 at first): from 8 to what the primary pool holds.
    ///
    /// # Errors
    /// If `bits` is outside that range.
    pub fn set_read_wakeup_bits(&mut self, bits: i32) -> Result<(), ThresholdOutOfRange> {
        self.read_wakeup_bits = self.in_range(bits, 8)?;
        Ok(())
    }

    /// Sets below how many bits writers are woken (128 at first): from 0 to what the primary pool holds.
    ///
    /// # Errors
    /// If `bits` is outside that range.
    pub fn set_write_wakeup_bits(&mut self, bits: i32) -> Result<(), ThresholdOutOfRange> {
        self.write_wakeup_bits = self.in_range(bits, 0)?;
        Ok(())
    }

    fn in_range(&self, bits: i32, min: i32) -> Result<i32, ThresholdOutOfRange> {
        let max = self.primary.size().bits();
        if (min..=max).contains(&bits) { Ok(bits) } else { Err(ThresholdOutOfRange { bits, min, max }) }
    }

    /// Moves entropy from the primary pool to one that has less than its reader wants: what is wanted, but at least
    /// as much as would wake a reader, so that what an attacker saw of the pool is outweighed at once.
    fn refill(&self, pool: &Pool, wanted_bytes: usize) -> Woken {
        let held_bits = pool.entropy_bits();
        if held_bits as usize >= wanted_bytes.saturating_mul(8) || held_bits >= pool.size().bits() {
            return Woken::default();
        }
        let asked_bytes = wanted_bytes.min(REFILL_MAX_BYTES).max(self.read_wakeup_bits as usize / 8);
        // On the heap: a large threshold asks for more than the original's buffer had.
        let mut moved = vec![0; asked_bytes];
        let read = self.extract(&self.primary, &mut moved, true);
        moved.truncate(read.bytes);
        pool.mix(&words_of(&moved));
        pool.credit(read.bytes as i32 * 8);
        read.woken
    }

    fn extract(&self, pool: &Pool, out: &mut [u8], limit: bool) -> Read {
        let account = pool.account(out.len(), limit);
        pool.extract(self.release.form(), &mut out[..account.granted_bytes]);
        let writers = account.left_bits < self.write_wakeup_bits;
        Read { bytes: account.granted_bytes, woken: Woken { readers: false, writers } }
    }
}

impl Woken {
    fn or(self, other: Self) -> Self {
        Self { readers: self.readers || other.readers, writers: self.writers || other.writers }
    }
}

/// Bytes as words, little end first; a last word that is not whole is filled up with zeros.
fn words_of(bytes: &[u8]) -> Vec<u32> {
    let word = |part: &[u8]| part.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    bytes.chunks(4).map(word).collect()
}

/// A wake-up threshold that the driver does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdOutOfRange {
    /// What was asked for, in bits.
    pub bits: i32,
    /// The least.
    pub min: i32,
    /// The most: what the primary pool holds at its present size.
    pub max: i32,
}

impl fmt::Display for ThresholdOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bits, min, max } = self;
        write!(f, "a wake-up threshold of {bits} bits is outside {min} to {max}, the pool's own size")
    }
}

impl Error for ThresholdOutOfRange {}
