//! The Linux random driver of several eras, rebuilt as a library.
#![no_std]
