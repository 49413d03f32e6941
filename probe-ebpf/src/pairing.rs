//! Which exit belongs to which entry: the open calls of one thread in one target.
//!
//! A function may call itself, so entries are kept on a small stack and an exit takes the newest. A thread is
//! in one system call at a time, so there an entry that finds another open knows that its exit was missed.
//!
//! Only events that arrive can be paired: where the kernel itself skips a program on a nested entry, the
//! nested exit takes the outer entry's place and the outer exit counts as unmatched. The number of durations
//! stays right; one of them is too short.

/// Nested calls that are kept. Deeper ones are counted, and their exits are known for what they are.
pub const MAX_DEPTH: usize = 8;

/// The row of a call that is paired and not counted: its size or CPU is not asked for. No table has such a row.
pub const NO_ROW: u32 = u32::MAX;

/// The open calls of one thread in one target; the value of [`maps::FRAMES`](crate::maps::FRAMES).
///
/// Only its own thread changes it, so no part of it is atomic.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub struct Frame {
    start_ns: [u64; MAX_DEPTH],
    row: [u32; MAX_DEPTH],
    /// Open calls, those too deep to be kept among them.
    depth: u64,
}

/// A frame as the words that user space reads.
pub type FrameWords = [u64; size_of::<Frame>() / 8];

const _: () = assert!(size_of::<Frame>() == MAX_DEPTH * (8 + 4) + 8);

/// What became of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Entry {
    /// It is open.
    Opened,
    /// It is open in place of a call that never ended.
    Replaced,
    /// It is too deep to be timed.
    TooDeep,
}

/// What became of an exit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// It ends a call.
    Elapsed {
        /// Time since the entry, ns.
        elapsed_ns: u64,
        /// Row that the entry chose.
        row: u32,
    },
    /// No call was open.
    Unmatched,
    /// It ends a call, but the clock went back.
    ClockRegression {
        /// Row that the entry chose.
        row: u32,
    },
    /// It ends a call that was too deep to be timed.
    TooDeep,
}

impl Frame {
    /// No open call.
    pub const EMPTY: Self = Self { start_ns: [0; MAX_DEPTH], row: [0; MAX_DEPTH], depth: 0 };

    /// A call of a function that may be open already; the same as [`enter_within`](Self::enter_within) of
    /// [`MAX_DEPTH`].
    #[inline(always)]
    pub const fn enter(&mut self, now_ns: u64, row: u32) -> Entry {
        self.enter_within(MAX_DEPTH as u64, now_ns, row)
    }

    /// A call of a function that may be open already, of which at most `limit` nested calls are timed.
    /// All entries and exits of a frame have the same limit; one above [`MAX_DEPTH`] is that.
    #[inline(always)]
    pub const fn enter_within(&mut self, limit: u64, now_ns: u64, row: u32) -> Entry {
        let depth = self.depth;
        self.depth = depth + 1;
        if depth >= limit || depth >= MAX_DEPTH as u64 {
            return Entry::TooDeep;
        }
        self.start_ns[depth as usize] = now_ns;
        self.row[depth as usize] = row;
        Entry::Opened
    }

    /// A call of something that its thread can be in only once: a system call.
    #[inline(always)]
    pub const fn enter_alone(&mut self, now_ns: u64, row: u32) -> Entry {
        let was_open = self.depth != 0;
        self.start_ns[0] = now_ns;
        self.row[0] = row;
        self.depth = 1;
        if was_open { Entry::Replaced } else { Entry::Opened }
    }

    /// The end of the newest open call; the same as [`exit_within`](Self::exit_within) of [`MAX_DEPTH`].
    #[inline(always)]
    pub const fn exit(&mut self, now_ns: u64) -> Exit {
        self.exit_within(MAX_DEPTH as u64, now_ns)
    }

    /// The end of the newest open call, where at most `limit` nested calls are timed.
    #[inline(always)]
    pub const fn exit_within(&mut self, limit: u64, now_ns: u64) -> Exit {
        let depth = self.depth;
        if depth == 0 {
            return Exit::Unmatched;
        }
        let newest = depth - 1;
        self.depth = newest;
        if newest >= limit || newest >= MAX_DEPTH as u64 {
            return Exit::TooDeep;
        }
        let row = self.row[newest as usize];
        match now_ns.checked_sub(self.start_ns[newest as usize]) {
            Some(elapsed_ns) => Exit::Elapsed { elapsed_ns, row },
            None => Exit::ClockRegression { row },
        }
    }

    /// A hit of a point that has no end of its own: it ends the interval since the thread's last hit, if there was
    /// one, and begins the next.
    #[inline(always)]
    pub const fn hit(&mut self, now_ns: u64, row: u32) -> Exit {
        let exit = self.exit(now_ns);
        self.enter_alone(now_ns, row);
        exit
    }

    /// Calls that are open, those too deep to be timed among them.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.depth
    }

    /// Open calls in a frame read from the kernel, those left out that are too deep to be timed (they are counted
    /// apart) or not asked for.
    #[must_use]
    pub fn timed_open(words: &FrameWords) -> u64 {
        let depth = words[words.len() - 1].min(MAX_DEPTH as u64);
        (0..depth as usize).filter(|call| Self::row_of(words, *call) != NO_ROW).count() as u64
    }

    /// Row of the oldest open call in a frame read from the kernel.
    #[must_use]
    pub const fn first_row(words: &FrameWords) -> u32 {
        Self::row_of(words, 0)
    }

    /// Row of the open call number `call`, counted from the oldest.
    const fn row_of(words: &FrameWords, call: usize) -> u32 {
        let pair = words[MAX_DEPTH + call / 2].to_ne_bytes();
        let at = call % 2 * 4;
        u32::from_ne_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]])
    }
}
