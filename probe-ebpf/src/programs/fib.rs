//! A route looked up by a program. The helper is for programs that see packets, so this is one, run by request on a
//! packet that it does not look at. The routes are those of the caller's network namespace.

use core::mem::MaybeUninit;

use aya_ebpf::{
    EbpfContext as _, bindings::bpf_fib_lookup as Lookup, helpers::generated::bpf_fib_lookup, macros::xdp,
    programs::XdpContext,
};
use probe_abi::route;

use super::call::time;

/// `AF_INET`.
const INET: u8 = 2;
/// `BPF_FIB_LKUP_RET_SUCCESS`.
const FOUND: i64 = 0;
/// `BPF_FIB_LKUP_RET_NO_NEIGH`: the route was found, and nobody has asked who is there.
const NO_NEIGHBOUR: i64 = 7;

#[xdp]
fn hp_call_fib(ctx: XdpContext) -> u32 {
    time(|| {
        // The kernel writes its answer over the question: hence a new one each time.
        let mut lookup = empty();
        lookup.family = INET;
        lookup.ifindex = route::LOOPBACK;
        lookup.__bindgen_anon_4.ipv4_dst = u32::from_ne_bytes(route::DESTINATION);
        // SAFETY: the context is this program's own, and the question as long as is said.
        let answer = unsafe { bpf_fib_lookup(ctx.as_ptr(), &raw mut lookup, size_of::<Lookup>() as i32, 0) };
        // Zero for either. A branch would double what the verifier walks in each of the thousand calls.
        (answer ^ FOUND).wrapping_mul(answer ^ NO_NEIGHBOUR)
    })
}

/// A question about nothing. Word by word: the compiler's own way to fill memory is a loop, which the verifier would
/// walk in each of the thousand calls.
#[inline(always)]
fn empty() -> Lookup {
    let mut lookup = MaybeUninit::<Lookup>::uninit();
    let words: *mut u32 = lookup.as_mut_ptr().cast();
    const { assert!(size_of::<Lookup>() == 64 && align_of::<Lookup>() == align_of::<u32>()) };
    macro_rules! zero {
        ($($word:literal)*) => { $(
            // SAFETY: there are sixteen words, aligned.
            unsafe { words.add($word).write_volatile(0) };
        )* };
    }
    zero!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    // SAFETY: every byte is written, and all zeroes is a value of it.
    unsafe { lookup.assume_init() }
}
