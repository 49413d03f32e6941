//! Fast draws for who makes many: ChaCha20 of 20 rounds with fast key erasure, from a stock of at most a kilobyte.
//!
//! **What it is not.** It is not audited and not FIPS. It is not for keys that live long: take those from
//! [`system`](crate::system). **Clones of a virtual machine: there is no promise** beyond the limits below. Both clones go
//! on with the same numbers until another seed is due. The kernel reseeds its own generator where the machine tells it
//! that it is a clone (`vmgenid`); its word to user space, an event of that device (`NEW_VMGENID=1`), has come and gone
//! and come again, and is not listened to here. A program to which that matters uses [`Builder::strict`] or
//! [`system`](crate::system). The same holds for processes that are saved and restored (CRIU) and for machines that wake
//! from hibernation.
//!
//! **What it promises.**
//!
//! * *Erasure*: a key is overwritten before the first byte made with it is handed out, and bytes are erased as they are
//!   handed out. Who reads the state learns what is in stock, at most 992 bytes, and what comes after; nothing of before.
//! * *Fork*: a child, by `fork` or by a bare `clone`, never repeats its parent. The kernel empties the state
//!   (`MADV_WIPEONFORK`), and every draw ends with a look at whether that has happened, so it holds for a fork in a signal
//!   handler in the middle of a draw too. Where the kernel cannot do that (before 4.14) every draw goes to the kernel.
//! * *Limits*: another seed after 64 KiB and after a minute, or what the [`Builder`] was told. They are looked at
//!   when the stock is made: at most 992 bytes more are handed out. A seed that is due and that the kernel refuses (a
//!   sandbox that was closed meanwhile) is no failure: draws go on from the key there is, and each new stock asks again.
//!   [`FastRng::reseed`] tells. Without any key, as in a child, draws fail.
//! * *Memory*: wiped when dropped; not in core dumps, and not swapped, if the kernel lets us
//!   ([`Protection`](FastRng::protection)). What the compiler and the processor leave in registers and on the stack is not
//!   wiped.
//! * *Signals*: [`FastRng`] is a value, and a handler has no business with one that it interrupted. [`ThreadRng`] may be
//!   used by a handler in a thread that has [prepared](ThreadRng::prepare) it.
//! * *Threads*: a handle may be sent to another thread, and is used by one at a time.
//!
//! | generator | for what |
//! | --- | --- |
//! | [`FastRng`] | a handle that is kept: the fastest |
//! | [`ThreadRng`] | the handle of the thread, wherever one is |
//! | [`ErasingRng`] | the same draws from a seed of one's own, without an operating system; knows no forks |
//!
//! | file | holds |
//! | --- | --- |
//! | `stock` | a kilobyte of key stream that begins with the next key |
//! | `erasing` | the generator by itself |
//! | `handle`, `builder`, `limits` | seeded by the kernel: when, and in what memory |
//! | `thread` | a handle for each thread |

#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
mod builder;
mod erasing;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
mod handle;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
mod limits;
#[cfg(feature = "rand_core")]
mod rand_core;
mod stock;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
mod thread;

pub use self::erasing::ErasingRng;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
pub(crate) use self::stock::Stock;
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
pub use self::{
    builder::Builder,
    handle::{FastRng, NewError},
    thread::ThreadRng,
};
#[cfg(all(feature = "std", target_os = "linux", not(loom)))]
pub use crate::fork::Protection;
