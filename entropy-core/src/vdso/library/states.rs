//! Who has which state: pages cut into states, each lent to one owner at a time.
//!
//! A list of pages that only grows, with a bit for each state. Nobody waits for anybody, so a thread that forks in the
//! middle leaves nothing locked in the child, and giving back allocates nothing.
//!
//! A child of a fork has one thread, and the states of its parent's others would stay lent for ever. So a state that a
//! thread keeps for itself is lent in the thread's name, and a handler of the C library takes those of all others back in
//! the child. Three kinds stay lent: those of a [`State::borrow`], which may have gone to any thread; those that were
//! being lent or given back at that moment; and all of them in a child that was made without the C library.

use alloc::boxed::Box;
use core::{
    fmt,
    ptr::{self, NonNull},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};

use super::{Function, PAGE_BYTES};
use crate::vdso::Errno;

/// A state of the vDSO's generator, for one thread at a time.
///
/// ```
/// use entropy_core::vdso::{Function, State};
///
/// if let Some(state) = Function::find().and_then(State::borrow) {
///     let mut bytes = [0; 32];
///     assert_eq!(state.fill(&mut bytes, 0), Ok(32));
/// }
/// ```
///
/// Given back when dropped. What it is worth beside [`SystemRng`](crate::system::SystemRng): it is the function as it
/// is, without a thread-local variable before it and a fallback behind it.
pub struct State {
    function: Function,
    page: &'static Page,
    bit: u64,
    place: *mut u8,
}

// SAFETY: the place belongs to this value alone until it is dropped, and the kernel's function keeps nothing that is
// tied to a thread: it is one thread at a time that matters.
unsafe impl Send for State {}

struct Page {
    /// Set bits are states that nobody has.
    free: AtomicU64,
    /// The thread in whose name a state is lent; 0 for none.
    owners: [AtomicUsize; MOST_STATES],
    memory: NonNull<u8>,
    older: AtomicPtr<Self>,
}

// SAFETY: the memory is touched only through a state, which one owner has at a time; the rest is atomic or constant.
unsafe impl Sync for Page {}

static NEWEST: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// States that a page may have: as many as a word has bits.
const MOST_STATES: usize = 64;

/// The pages, newest first.
fn pages() -> impl Iterator<Item = &'static Page> {
    let follow = |page: &AtomicPtr<Page>| {
        // SAFETY: pages of the list are never freed, and were written before they were put there.
        unsafe { page.load(Ordering::Acquire).as_ref() }
    };
    core::iter::successors(follow(&NEWEST), move |page| follow(&page.older))
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl State {
    /// A state that nobody has, from a new page if there is none; `None` if the kernel does not map one.
    #[must_use]
    pub fn borrow(function: Function) -> Option<Self> {
        for page in pages() {
            if let Some(bit) = page.take() {
                return Some(Self::at(function, page, bit));
            }
        }
        let states = (PAGE_BYTES / function.stride()).min(MOST_STATES) as u32;
        // All but the first, which is ours.
        let free = AtomicU64::new(u64::MAX >> (64 - states) & !1);
        let memory = function.map_page()?;
        let owners = [const { AtomicUsize::new(NOBODY) }; MOST_STATES];
        let older = AtomicPtr::new(ptr::null_mut());
        let page: &Page = Box::leak(Box::new(Page { free, owners, memory, older }));
        page.publish();
        Some(Self::at(function, page, 1))
    }

    /// A state that stays with this thread, and that a child of a fork takes back if it has another one. It must not be
    /// sent: the child would lend it a second time.
    pub(crate) fn borrow_for_this_thread(function: Function) -> Option<Self> {
        static WATCHED: AtomicBool = AtomicBool::new(false);
        if !WATCHED.swap(true, Ordering::Relaxed) {
            // SAFETY: the handler calls nothing and touches atomics alone. If there is no memory to remember it, a child
            // has fewer states to lend.
            unsafe { libc::pthread_atfork(None, None, Some(take_back)) };
        }
        let state = Self::borrow(function)?;
        state.owner().store(this_thread(), Ordering::Relaxed);
        Some(state)
    }

    fn owner(&self) -> &AtomicUsize {
        &self.page.owners[self.bit.trailing_zeros() as usize]
    }

    fn at(function: Function, page: &'static Page, bit: u64) -> Self {
        let offset = bit.trailing_zeros() as usize * function.stride();
        // SAFETY: only as many bits are ever free as whole strides fit into the page.
        let place = unsafe { page.memory.add(offset) }.as_ptr();
        Self { function, page, bit, place }
    }

    /// Fills the beginning of `out`; says how much of it, which is all but for very long ones and where the kernel was
    /// asked and interrupted. `flags` are those of getrandom(2).
    ///
    /// A signal handler that comes in between may call it on the same state.
    ///
    /// # Errors
    ///
    /// Those of the system call, which the function makes when it cannot do without.
    #[inline]
    pub fn fill(&self, out: &mut [u8], flags: u32) -> Result<usize, Errno> {
        // SAFETY: the place is a state of a page that is never unmapped, inside the page, and nobody else's: this value
        // is not `Sync` and its bit is taken.
        unsafe { self.function.call(out, flags, self.place) }
    }
}

impl Page {
    /// The bit of a state that was free.
    fn take(&self) -> Option<u64> {
        let mut free = self.free.load(Ordering::Relaxed);
        while free != 0 {
            let first = free & free.wrapping_neg();
            match self.free.compare_exchange_weak(free, free & !first, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(first),
                Err(now) => free = now,
            }
        }
        None
    }

    fn publish(&'static self) {
        let mut newest = NEWEST.load(Ordering::Acquire);
        loop {
            self.older.store(newest, Ordering::Relaxed);
            let this = ptr::from_ref(self).cast_mut();
            match NEWEST.compare_exchange_weak(newest, this, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }
}

/// In whose name a state is lent that may be anywhere.
const NOBODY: usize = 0;

fn this_thread() -> usize {
    // SAFETY: it has no conditions.
    let thread = unsafe { libc::pthread_self() };
    thread as usize
}

/// In a child, by its only thread: lends again what was lent in the name of a thread that is not here.
unsafe extern "C" fn take_back() {
    let here = this_thread();
    for page in pages() {
        for (bit, owner) in page.owners.iter().enumerate() {
            let thread = owner.load(Ordering::Relaxed);
            if thread != NOBODY && thread != here {
                owner.store(NOBODY, Ordering::Relaxed);
                page.free.fetch_or(1 << bit, Ordering::Release);
            }
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // First, or a child could take back what the next owner has.
        self.owner().store(NOBODY, Ordering::Relaxed);
        // What the next owner does comes after what this one did.
        self.page.free.fetch_or(self.bit, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use alloc::{collections::BTreeSet, vec::Vec};

    use super::*;

    /// More than two pages of states, so the list grows and is walked.
    #[test]
    fn states_are_apart_inside_their_pages_and_lent_again() {
        let Some(function) = Function::find() else {
            return std::eprintln!("skipped: this kernel has no getrandom in its vDSO");
        };
        let mut places = Vec::new();
        for _ in 0..2 {
            let states: Vec<State> = (0..100).map(|_| State::borrow(function).expect("a page")).collect();
            places = states.iter().map(|state| state.place.addr()).collect();
            places.sort_unstable();
            assert!(places.is_sorted_by(|before, next| before + function.stride() <= *next));
            for place in &places {
                assert!(place % PAGE_BYTES + function.stride() <= PAGE_BYTES);
            }
        }
        let distinct: BTreeSet<usize> = places.iter().map(|place| place / PAGE_BYTES).collect();
        assert!((3..=6).contains(&distinct.len()), "{} pages for a hundred states", distinct.len());
    }

    #[test]
    fn two_states_give_different_numbers() {
        let Some(function) = Function::find() else {
            return std::eprintln!("skipped: this kernel has no getrandom in its vDSO");
        };
        let draws: BTreeSet<[u8; 16]> = (0..50)
            .map(|_| {
                let state = State::borrow(function).expect("a page");
                let mut bytes = [0; 16];
                assert_eq!(state.fill(&mut bytes, 0), Ok(16));
                bytes
            })
            .collect();
        assert_eq!(draws.len(), 50);
    }

    #[test]
    fn nothing_and_much_can_be_asked_for() {
        let Some(state) = Function::find().and_then(State::borrow) else {
            return std::eprintln!("skipped: this kernel has no getrandom in its vDSO");
        };
        assert_eq!(state.fill(&mut [], 0), Ok(0));
        let mut much = alloc::vec![0; 3 << 20];
        assert_eq!(state.fill(&mut much, 0), Ok(3 << 20));
        // A flag that no kernel knows is for the system call to refuse.
        assert_eq!(state.fill(&mut [0; 8], 1 << 30), Err(Errno(libc::EINVAL)));
    }
}
