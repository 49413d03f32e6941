//! Charts as pictures of a row: strips of SVG that share an axis, and stand in the table that has their numbers.
//!
//! Positions are percentages, so that a strip fills its cell whatever the width, and text keeps its size. Colours are
//! names of classes; the page's style sheet gives them for light, dark and paper.

mod axis;
mod strip;

pub(crate) use axis::Axis;
pub(crate) use strip::{Heat, Interval, Spread, heat, interval, scale, spread};
