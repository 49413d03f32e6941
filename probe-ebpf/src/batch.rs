//! A timed batch of operations: its key, and the event that reports it.

/// Names a batch: which experiment, case and slot, in which launch and block.
///
/// It travels as one `u64` in the first argument register of both marker functions. The parts are indices into
/// lists that stay in user space; the kernel side never learns what they mean.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BatchKey {
    /// Index of the experiment.
    pub experiment: u8,
    /// Index of the case in the experiment.
    pub case: u8,
    /// Index of the slot in the case: a variant, or the baseline's second turn.
    pub slot: u16,
    /// Launch, counted from zero.
    pub launch: u16,
    /// Block in the launch, counted from zero.
    pub block: u16,
}

impl BatchKey {
    /// The key as it travels.
    #[must_use]
    pub const fn to_raw(self) -> u64 {
        (self.experiment as u64) << 56
            | (self.case as u64) << 48
            | (self.slot as u64) << 32
            | (self.launch as u64) << 16
            | self.block as u64
    }

    /// The key that travelled as `raw`; every value is one.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self {
            experiment: (raw >> 56) as u8,
            case: (raw >> 48) as u8,
            slot: (raw >> 32) as u16,
            launch: (raw >> 16) as u16,
            block: raw as u16,
        }
    }
}

/// A finished batch, as the ring buffer carries it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct BatchEvent {
    /// [`BatchKey::to_raw`] of the batch.
    pub key: u64,
    /// Kernel monotonic time when the begin marker was hit, ns.
    pub start_ns: u64,
    /// Time between the two markers, ns.
    pub elapsed_ns: u64,
    /// CPU that hit the end marker.
    pub cpu: u32,
    /// Thread that ran the batch.
    pub tid: u32,
}

// No padding: its bytes would be uninitialised kernel memory, which the verifier refuses to publish.
const _: () = assert!(size_of::<BatchEvent>() == 8 + 8 + 8 + 4 + 4);
