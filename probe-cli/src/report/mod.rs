//! What was found, as data and as words.

pub mod file;
pub mod json;
pub mod model;
pub mod schema;
pub mod text;
pub mod timestamp;
