//! What was found, as data and as words.

pub mod model;
