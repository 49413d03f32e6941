//! The tracer: from what was typed to what the kernel counted.
//!
//! [`target`] reads what was typed; [`resolve`] makes it questions, each with ordered ways to answer it ([`family`] has
//! those of the lab, [`symbols`] the kernel's functions, [`program`] those of files, [`deny`] what must not be
//! probed); [`ladder`] attaches the first way of each that this machine takes; [`tracer`] reads what is counted;
//! [`cost`] says what that did to the numbers and the machine; [`document`] is what is told, and the renderers
//! ([`text`], [`table`]) tell it. [`command`] runs the traced program.

pub mod command;
pub mod cost;
pub mod deny;
pub mod document;
pub mod family;
pub mod inspect;
pub mod ladder;
pub mod pattern;
pub mod program;
pub mod resolve;
pub mod symbols;
pub mod table;
pub mod target;
pub mod text;
pub mod tracer;
