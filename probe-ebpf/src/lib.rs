//! What kernel and user space agree on: types, names and rules, the same code on both sides.
//!
//! | module | agreed on |
//! |---|---|
//! | [`batch`] | the key and the event of a timed batch |
//! | [`site`] | the two marker functions around a batch, and the notes that describe them |
//! | [`pairing`] | which exit belongs to which entry |
//! | [`histogram`] | the bucket of a duration |
//! | [`size`] | the class of a size |
//! | [`slow`] | the event of a single slow call |
//! | [`quality`] | what is counted about calls that could not be timed |
//! | [`route`] | the route that is looked up by calling |
//! | [`maps`] | names of maps and programs, and the layout of rows |
//!
//! Nothing here allocates, reads a clock or touches a kernel, so all of it is tested on the host.
#![no_std]

pub mod batch;
pub mod histogram;
pub mod maps;
pub mod pairing;
pub mod quality;
pub mod route;
#[cfg(not(target_arch = "bpf"))]
pub mod site;
pub mod size;
pub mod slow;
