//! Numbers, pure: no clock, no file, no randomness that is not handed in.
//!
//! Everything works on samples by launch: `launches[launch][block]`. A launch is the unit of replication; the
//! blocks of one launch share an address layout and follow each other in time, so they are not independent.

pub mod bootstrap;
pub mod distribution;
pub mod effect;
pub mod fdr;
pub mod histogram;
pub mod quantile;
pub mod ratio;
pub mod rng;
pub mod shift;
pub mod verdict;
