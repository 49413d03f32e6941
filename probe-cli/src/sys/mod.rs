//! System calls and instructions that the standard library does not give: the door for them.
//!
//! Six files hold `unsafe`, each a few lines behind a safe function: [`cache`], [`forwarding`], [`getrandom`],
//! [`memory_policy`], [`privileges`] and [`realtime`].

pub mod affinity;
pub mod arena;
pub mod cache;
pub mod disturbance;
pub mod forwarding;
pub mod getrandom;
pub mod lifeline;
pub mod loopback;
pub mod memory_policy;
pub mod privileges;
pub mod realtime;
