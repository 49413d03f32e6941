//! Runs the experiments of the kernel hot-path lab, and traces live kernel functions beside them.
//!
//! Data flows through the modules in this order: [`experiment`] (what to measure, with the mail's [`claim`])
//! to [`harness`] (launches, blocks, batches) to [`stats`] (pure numbers) to [`report`] (data and words); [`compare`]
//! holds two reports against each other; [`probe`] loads the eBPF object and times the same batches and the live kernel;
//! [`trace`] puts anybody's questions to it, and [`ab`] puts two commands or two states of the machine against each other by
//! them; [`host`] says what this machine is. `unsafe` lives in [`tsc`] and [`sys`] alone.

pub mod ab;
pub mod claim;
pub mod cmd;
pub mod compare;
pub mod error;
pub mod experiment;
pub mod harness;
pub mod host;
pub mod nearest;
pub mod probe;
pub mod report;
pub mod stats;
pub mod sys;
pub mod trace;
pub mod tsc;

/// The worked example of the book, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../docs/adding-an-experiment.md")]
mod adding_an_experiment {}
