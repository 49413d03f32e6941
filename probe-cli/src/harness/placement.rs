//! Where the memory of a launch begins: an offset of heap and stack that the seed chooses.
//!
//! The system randomises both in steps of 16 bytes or more where it may (ASLR); it may be off, and blocks from
//! one arena keep their distance. Different launches must not share one lucky layout.

use std::hint::black_box;

use crate::stats::rng::Rng;

/// A block of random size that lies between what was allocated before it and what comes after.
pub(super) fn heap_spacer(rng: &mut Rng) -> Vec<u8> {
    // Up to a page, in steps of the allocator's granularity.
    vec![0; 16 * (1 + rng.below(256))]
}

/// Runs `inside` with the stack some random distance below here.
pub(super) fn with_stack_offset<T>(rng: &mut Rng, inside: impl FnOnce() -> T) -> T {
    let mut inside = Some(inside);
    let mut outcome = None;
    descend(rng.below(256), &mut || outcome = inside.take().map(|inside| inside()));
    match outcome {
        Some(outcome) => outcome,
        None => unreachable!("the innermost frame calls its argument"),
    }
}

/// Makes the pages present that the stack of this thread will grow into.
pub(super) fn prefault_stack() {
    // 256 KiB in frames of a page or more; a thread of the standard library has 2 MiB.
    touch_pages(64);
}

#[inline(never)]
fn descend(frames: usize, inside: &mut dyn FnMut()) {
    let frame = black_box([0_u8; 48]);
    match frames {
        0 => inside(),
        _ => descend(frames - 1, inside),
    }
    // Used after the call: the frame cannot be given up before it.
    black_box(&frame);
}

#[inline(never)]
fn touch_pages(pages: usize) {
    let page = black_box([0_u8; 4096]);
    if pages > 0 {
        touch_pages(pages - 1);
    }
    black_box(&page);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_of_a_launch_begins_where_its_seed_says() {
        let depth = |seed| {
            let here = 0_u8;
            let top = (&raw const here).addr();
            with_stack_offset(&mut Rng::new(seed), || {
                let inner = 0_u8;
                top.abs_diff((&raw const inner).addr())
            })
        };
        assert_eq!(depth(1), depth(1));
        let distinct: std::collections::BTreeSet<usize> = (0..20).map(depth).collect();
        assert!(distinct.len() > 10, "{distinct:?}");
    }
}
