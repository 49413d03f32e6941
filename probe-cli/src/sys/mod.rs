//! System calls and instructions that the standard library does not give: the door for them.
//!
//! Eight files hold `unsafe`, each a few lines behind a safe function: [`arena`], [`cache`], [`forwarding`], [`getrandom`],
//! [`libpmem`], [`memory_policy`], [`privileges`] and [`realtime`].

pub mod affinity;
pub mod arena;
pub mod cache;
pub mod disturbance;
pub mod forwarding;
pub mod getrandom;
pub mod libpmem;
pub mod lifeline;
pub mod loopback;
pub mod memory_policy;
pub mod privileges;
pub mod realtime;
