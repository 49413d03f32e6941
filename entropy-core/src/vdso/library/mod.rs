//! The function in the vDSO and its states.

mod elf;
mod function;
mod states;

pub use self::function::Function;
pub use self::states::State;

/// Bytes of a page on x86-64.
const PAGE_BYTES: usize = 4096;
