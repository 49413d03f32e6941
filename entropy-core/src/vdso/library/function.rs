//! `__vdso_getrandom`, and what it wants of a state.

use core::{
    ffi::{c_int, c_uint, c_void},
    ptr::{self, NonNull},
    slice,
};

use super::{PAGE_BYTES, elf};
use crate::vdso::Errno;

/// States do not share cache lines: their threads run at the same time.
const LINE_BYTES: usize = 64;

/// The kernel's function: the bytes to fill, flags as of getrandom(2), and a state.
type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint, *mut c_void, usize) -> isize;

/// The function in this process's vDSO, and what it said of its states.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    function: Getrandom,
    state_bytes: usize,
    protection: c_int,
    mapping: c_int,
}

/// What the function writes if it is asked how a state has to be (`struct vgetrandom_opaque_params`).
#[repr(C)]
#[derive(Default)]
struct Parameters {
    state_bytes: u32,
    protection: u32,
    mapping: u32,
    reserved: [u32; 13],
}

impl Function {
    /// The function, if the kernel has one (x86-64 from 6.11 on).
    ///
    /// It is looked for anew each time, which takes about a microsecond. What is remembered behind a lock would wait for
    /// ever in a child that was made while another thread was looking.
    #[must_use]
    pub fn find() -> Option<Self> {
        Self::with_parameters(in_vdso()?)
    }

    fn with_parameters(function: Getrandom) -> Option<Self> {
        let mut parameters = Parameters::default();
        // SAFETY: with no buffer, no length, no flags and a length of all ones the function only fills in the
        // parameters, and there is room for all of them.
        let answer =
            unsafe { function(ptr::null_mut(), 0, 0, ptr::from_mut(&mut parameters).cast(), usize::MAX) };
        let state_bytes = usize::try_from(parameters.state_bytes).ok()?;
        // "If it does not return 0, this function should not be used."
        (answer == 0 && (1..=PAGE_BYTES).contains(&state_bytes)).then_some(Self {
            function,
            state_bytes,
            protection: parameters.protection.cast_signed(),
            mapping: parameters.mapping.cast_signed(),
        })
    }

    /// From one state to the next in a page, bytes.
    pub(super) fn stride(self) -> usize {
        self.state_bytes.next_multiple_of(LINE_BYTES)
    }

    /// A page for states, mapped as the function wants it; none if the kernel refuses.
    pub(super) fn map_page(self) -> Option<NonNull<u8>> {
        // SAFETY: a new mapping of nothing, at a place of the kernel's choice, touches no memory that is in use.
        let page = unsafe { libc::mmap(ptr::null_mut(), PAGE_BYTES, self.protection, self.mapping, -1, 0) };
        (page != libc::MAP_FAILED).then(|| NonNull::new(page.cast()))?
    }

    /// Fills the beginning of `out`; says how much of it.
    ///
    /// # Safety
    ///
    /// `state` points to a state in a page from [`map_page`](Self::map_page) that stays mapped, does not reach over
    /// the page's end, and no other thread uses it meanwhile.
    pub(super) unsafe fn call(self, out: &mut [u8], flags: u32, state: *mut u8) -> Result<usize, Errno> {
        // SAFETY: the function writes at most `out.len()` bytes to `out`, which is ours to write, and the state is as
        // the caller promises.
        let filled = unsafe {
            (self.function)(out.as_mut_ptr().cast(), out.len(), flags, state.cast(), self.state_bytes)
        };
        of_return(filled).map(|filled| filled.min(out.len()))
    }
}

/// How many bytes a return value counts, or which error a negative one means.
fn of_return(value: isize) -> Result<usize, Errno> {
    usize::try_from(value).map_err(|_| Errno(i32::try_from(-value).unwrap_or(libc::EIO)))
}

/// The function's address, if the library is there and has it.
fn in_vdso() -> Option<Getrandom> {
    // SAFETY: the call reads what the kernel handed to the process at its start.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    let base = NonNull::new(ptr::with_exposed_provenance_mut::<u8>(usize::try_from(base).ok()?))?;
    // SAFETY: where the kernel names a library, it has mapped at least its first page, for as long as the process lives.
    let head = unsafe { slice::from_raw_parts(base.as_ptr(), PAGE_BYTES) };
    let bytes = elf::image_bytes(head)?;
    // SAFETY: the program headers, which the kernel made, say how much is mapped for reading, and nobody writes it.
    let image = unsafe { slice::from_raw_parts(base.as_ptr(), bytes) };
    let place = elf::function(image, b"__vdso_getrandom")?;
    // SAFETY: the symbol's place is inside the image.
    let address = unsafe { base.as_ptr().add(place) };
    // SAFETY: the kernel documents the function of this name with this signature.
    Some(unsafe { core::mem::transmute::<*mut u8, Getrandom>(address) })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A function that does as old or broken kernels might.
    unsafe extern "C" fn refusing(_: *mut c_void, _: usize, _: c_uint, _: *mut c_void, _: usize) -> isize {
        -38
    }

    unsafe extern "C" fn with_states_larger_than_a_page(
        _: *mut c_void,
        _: usize,
        _: c_uint,
        parameters: *mut c_void,
        _: usize,
    ) -> isize {
        // SAFETY: the caller passes room for the parameters, of which this is the first.
        unsafe { parameters.cast::<u32>().write(5000) };
        0
    }

    unsafe extern "C" fn silent(_: *mut c_void, _: usize, _: c_uint, _: *mut c_void, _: usize) -> isize {
        0
    }

    #[test]
    fn a_function_that_does_not_tell_what_it_wants_is_not_used() {
        for function in [refusing as Getrandom, with_states_larger_than_a_page, silent] {
            assert!(Function::with_parameters(function).is_none());
        }
    }

    #[test]
    fn negative_returns_are_errors() {
        assert_eq!(of_return(-4), Err(Errno(libc::EINTR)));
        assert_eq!((of_return(0), of_return(7)), (Ok(0), Ok(7)));
        assert_eq!(of_return(isize::MIN + 1), Err(Errno(libc::EIO)));
    }
}
