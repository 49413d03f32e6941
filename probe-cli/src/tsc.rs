//! The time-stamp counter.
