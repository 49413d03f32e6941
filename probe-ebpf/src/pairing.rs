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

    /// A call of a function that may be open already.
    #[inline(always)]
    pub const fn enter(&mut self, now_ns: u64, row: u32) -> Entry {
        let depth = self.depth;
        self.depth = depth + 1;
        if depth >= MAX_DEPTH as u64 {
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

    /// The end of the newest open call.
    #[inline(always)]
    pub const fn exit(&mut self, now_ns: u64) -> Exit {
        let depth = self.depth;
        if depth == 0 {
            return Exit::Unmatched;
        }
        let newest = depth - 1;
        self.depth = newest;
        if newest >= MAX_DEPTH as u64 {
            return Exit::TooDeep;
        }
        let row = self.row[newest as usize];
        match now_ns.checked_sub(self.start_ns[newest as usize]) {
            Some(elapsed_ns) => Exit::Elapsed { elapsed_ns, row },
            None => Exit::ClockRegression { row },
        }
    }

    /// Calls that are open, those too deep to be timed among them.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.depth
    }

    /// Open calls in a frame read from the kernel, those too deep to be timed left out: they are counted
    /// apart.
    #[must_use]
    pub const fn timed_open(words: &FrameWords) -> u64 {
        let depth = words[words.len() - 1];
        if depth < MAX_DEPTH as u64 { depth } else { MAX_DEPTH as u64 }
    }

    /// Row of the oldest open call in a frame read from the kernel.
    #[must_use]
    pub const fn first_row(words: &FrameWords) -> u32 {
        let pair = words[MAX_DEPTH].to_ne_bytes();
        u32::from_ne_bytes([pair[0], pair[1], pair[2], pair[3]])
    }
}
