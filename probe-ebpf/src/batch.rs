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

impl BatchEvent {
    /// The event that the bytes of one ring buffer record hold; `None` unless they are exactly one event.
    ///
    /// Fields are in the byte order of the machine: the record never leaves it.
    #[must_use]
    pub fn decode(record: &[u8]) -> Option<Self> {
        let record: &[u8; size_of::<Self>()] = record.try_into().ok()?;
        let (key, rest) = record.split_first_chunk()?;
        let (start_ns, rest) = rest.split_first_chunk()?;
        let (elapsed_ns, rest) = rest.split_first_chunk()?;
        let (cpu, rest) = rest.split_first_chunk()?;
        let tid = rest.first_chunk()?;
        Some(Self {
            key: u64::from_ne_bytes(*key),
            start_ns: u64::from_ne_bytes(*start_ns),
            elapsed_ns: u64::from_ne_bytes(*elapsed_ns),
            cpu: u32::from_ne_bytes(*cpu),
            tid: u32::from_ne_bytes(*tid),
        })
    }
}

// No padding: its bytes would be uninitialised kernel memory, which the verifier refuses to publish.
const _: () = assert!(size_of::<BatchEvent>() == 8 + 8 + 8 + 4 + 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_keeps_each_part_apart() {
        let key = BatchKey { experiment: 1, case: 2, slot: 0x0304, launch: 0x0506, block: 0x0708 };
        assert_eq!(key.to_raw(), 0x0102_0304_0506_0708);
        assert_eq!(BatchKey::from_raw(0x0102_0304_0506_0708), key);
    }

    #[test]
    fn decode_takes_exactly_one_event() {
        let mut record = [0; 32];
        for (index, field) in [7_u64, 1_000, 250].into_iter().enumerate() {
            record[index * 8..index * 8 + 8].copy_from_slice(&field.to_ne_bytes());
        }
        record[24..28].copy_from_slice(&1_u32.to_ne_bytes());
        record[28..32].copy_from_slice(&4242_u32.to_ne_bytes());
        let event = BatchEvent { key: 7, start_ns: 1_000, elapsed_ns: 250, cpu: 1, tid: 4242 };
        assert_eq!(BatchEvent::decode(&record), Some(event));
        assert_eq!(BatchEvent::decode(&record[..31]), None);
        assert_eq!(BatchEvent::decode(&[0; 33]), None);
        assert_eq!(BatchEvent::decode(&[]), None);
    }
}
