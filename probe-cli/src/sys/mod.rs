//! System calls and instructions that the standard library does not give: the door for them.
//!
//! Three files hold `unsafe`, each a few lines behind a safe function: [`cache`], [`getrandom`] and
//! [`memory_policy`].

pub mod affinity;
pub mod arena;
pub mod cache;
pub mod disturbance;
pub mod getrandom;
pub mod lifeline;
pub mod memory_policy;
