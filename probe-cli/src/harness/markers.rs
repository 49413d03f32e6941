//! Where the probe's view of the batches comes from.

use probe_abi::batch::BatchEvent;

/// The events of attached batch markers.
pub trait BatchSource {
    /// Takes what has arrived since the last call. The harness calls it about once a second, and once more after
    /// each launch.
    fn drain(&mut self) -> Vec<BatchEvent>;

    /// Batches that the kernel side could not report, so far.
    fn lost(&self) -> u64;
}
