//! Launches, blocks and batches: METHOD in code.
