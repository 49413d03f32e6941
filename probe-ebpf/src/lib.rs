//! What kernel and user space agree on.
#![no_std]
