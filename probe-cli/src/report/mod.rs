//! What was found, as data and as words.

pub(crate) mod chart;
pub mod csv;
pub mod file;
pub mod html;
pub mod json;
pub mod markdown;
pub mod model;
pub(crate) mod number;
pub mod read;
pub(crate) mod refusal;
pub mod schema;
pub mod text;
pub mod timestamp;
mod why;
