//! What the tracing commands share: whose calls, how long, in which form; and the session itself.
//!
//! [`arguments`] is what can be typed, [`whose`] makes a scope of it, [`session`] runs it and [`stream`] writes it.

mod arguments;
mod session;
mod stacks;
mod stream;
mod whose;

pub(super) use arguments::{Arguments, duration};
pub(super) use session::{Kind, calibration, nothing_attached, run};
