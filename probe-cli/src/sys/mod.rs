//! System calls and instructions that the standard library does not give.

pub mod getrandom;
