//! Memory that may not be there, may vanish and may change: never a slice, and touched by assembly or the kernel alone.

use core::marker::PhantomData;
use core::ops::Range;

/// A range that is read at one's own risk.
#[derive(Clone, Copy, Debug)]
pub struct Untrusted<'a> {
    start: *const u8,
    len: usize,
    life: PhantomData<&'a [u8]>,
}

/// A range that is written at one's own risk.
#[derive(Debug)]
pub struct UntrustedMut<'a> {
    start: *mut u8,
    len: usize,
    life: PhantomData<&'a mut [u8]>,
}

/// Whether a range of `len` bytes from `start` ends before the address space does and is no longer than an object.
fn is_range(start: usize, len: usize) -> bool {
    len <= isize::MAX as usize && start.checked_add(len).is_some()
}

impl<'a> Untrusted<'a> {
    /// The range of `len` bytes from `start`, or `None` if it wraps around or is longer than `isize::MAX`.
    ///
    /// # Safety
    ///
    /// Nothing needs to be mapped, readable or unchanging, now or later. But as long as the range is used:
    ///
    /// - No part of it is exclusively borrowed, or written through a reference, by Rust code.
    /// - No part of it is memory whose mere reading has an effect, such as a device's.
    pub unsafe fn new(start: *const u8, len: usize) -> Option<Self> {
        is_range(start.addr(), len).then_some(Self { start, len, life: PhantomData })
    }

    /// The first byte.
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of the range, or `None` if it leaves it.
    pub fn slice(self, part: Range<usize>) -> Option<Self> {
        let inside = part.start <= part.end && part.end <= self.len;
        inside.then(|| Self {
            start: self.start.wrapping_add(part.start),
            len: part.len(),
            life: PhantomData,
        })
    }
}

impl<'a> From<&'a [u8]> for Untrusted<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), len: bytes.len(), life: PhantomData }
    }
}

impl<'a> UntrustedMut<'a> {
    /// The range of `len` bytes from `start`, or `None` if it wraps around or is longer than `isize::MAX`.
    ///
    /// # Safety
    ///
    /// Nothing needs to be mapped or writable, now or later. But as long as the range is used:
    ///
    /// - No part of it is borrowed by Rust code, and what lies there may be any bytes to whoever owns it.
    /// - No part of it is memory whose writing has an effect beyond the bytes, such as a device's.
    pub unsafe fn new(start: *mut u8, len: usize) -> Option<Self> {
        is_range(start.addr(), len).then_some(Self { start, len, life: PhantomData })
    }

    /// The first byte.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of the range, borrowed from it, or `None` if it leaves it.
    pub fn slice(&mut self, part: Range<usize>) -> Option<UntrustedMut<'_>> {
        let inside = part.start <= part.end && part.end <= self.len;
        inside.then(|| UntrustedMut {
            start: self.start.wrapping_add(part.start),
            len: part.len(),
            life: PhantomData,
        })
    }
}

impl<'a> From<&'a mut [u8]> for UntrustedMut<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        Self { start: bytes.as_mut_ptr(), len: bytes.len(), life: PhantomData }
    }
}
