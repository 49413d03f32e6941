//! The eBPF object: loading, attaching, reading.
//!
//! [`object`] has the bytes; [`syscall`], [`function`], [`timer`], [`markers`] and [`call`] each put one kind of
//! question to the kernel and either measure or return a [`refusal`]; [`session`] reads what the kernel has aggregated.
//! [`live`] chooses among them for an experiment, [`calibration`] says what each costs, and [`capability`] tries
//! them all. Every link is a file descriptor: when the process ends, however it ends, so do its probes.

pub mod backend;
pub mod btf;
pub mod calibration;
pub mod call;
pub mod capability;
pub mod diagnose;
pub mod function;
pub mod kprobe;
pub mod live;
pub mod markers;
pub mod notes;
pub mod object;
pub mod program_file;
pub mod refusal;
pub mod scope;
pub mod session;
pub mod syscall;
mod syscall_names;
pub mod timer;
pub mod tracefs;
pub mod user;
pub mod user_function;
