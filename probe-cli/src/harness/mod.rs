//! Launches, blocks and batches: METHOD in code.
//!
//! [`run`](mod@run) starts the program anew for every launch; in there, [`launch`] walks the blocks of every case in the
//! balanced order of [`plan`], and [`crew`] runs the batches. [`drops`] says which batches do not count, and
//! [`assess`](mod@assess) turns the rest into the rows and verdicts of the report.

pub mod assess;
mod assessed;
mod barrier;
pub mod child;
pub mod clock;
pub mod crew;
pub mod drops;
mod handover;
mod instrument_pass;
mod judge;
pub mod launch;
pub mod markers;
pub mod options;
pub mod pairs;
mod placement;
pub mod plan;
pub mod record;
mod rows;
pub mod run;
pub mod run_error;
mod samples;
mod witness;
