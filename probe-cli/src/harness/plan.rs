//! In which order things run: decided by the seed before anything is timed.

use crate::stats::rng::Rng;

/// The orders in which the slots of one case take their turns.
///
/// The rows form a Latin square: over as many blocks as there are slots, each slot runs once at every position.
/// They are those of Williams (1949), so that each slot also follows every other equally often, over one square
/// with an even number of slots and over two with an odd one. What a slot leaves behind in the caches then meets
/// all others alike. The seed relabels the slots and shuffles the rows; consecutive launches go on where the one
/// before stopped, and so fill the squares together.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SlotOrder {
    rows: Vec<Vec<usize>>,
}

impl SlotOrder {
    /// The orders for `slots` in the `case`-th case of a run.
    #[must_use]
    pub fn new(slots: &[usize], seed: u64, case: usize) -> Self {
        let mut rng = Rng::derive(seed, &[ORDER_OF_SLOTS, case as u64]);
        let mut labels = slots.to_vec();
        rng.shuffle(&mut labels);
        let mut squares = williams(labels.len());
        // Squares stay whole: shuffling happens inside each.
        squares.iter_mut().for_each(|square| rng.shuffle(square));
        let rows = squares.concat().into_iter().map(|row| row.into_iter().map(|at| labels[at]).collect());
        Self { rows: rows.collect() }
    }

    /// The order of one block, of a launch with `blocks` of them.
    #[must_use]
    pub fn block(&self, launch: u16, block: u16, blocks: u16) -> &[usize] {
        let turn = usize::from(launch) * usize::from(blocks) + usize::from(block);
        self.rows.get(turn % self.rows.len().max(1)).map_or(&[], Vec::as_slice)
    }
}

/// The order of `items` in one launch: cases, or the preparation of workloads.
#[must_use]
pub fn shuffled(items: &[usize], seed: u64, launch: u16, purpose: u64) -> Vec<usize> {
    let mut items = items.to_vec();
    Rng::derive(seed, &[ORDER_IN_LAUNCH, u64::from(launch), purpose]).shuffle(&mut items);
    items
}

/// Purposes of random streams, so that no two draw the same numbers.
const ORDER_OF_SLOTS: u64 = 1;
const ORDER_IN_LAUNCH: u64 = 2;

/// Latin squares of size `n` balanced for what goes before: one for even `n`, two for odd.
fn williams(n: usize) -> Vec<Vec<Vec<usize>>> {
    // 0, n-1, 1, n-2, ...: the differences of neighbours are all different.
    let zigzag: Vec<usize> = (0..n).map(|at| if at % 2 == 0 { at / 2 } else { n - 1 - at / 2 }).collect();
    let square: Vec<Vec<usize>> =
        (0..n).map(|shift| zigzag.iter().map(|at| (at + shift) % n).collect()).collect();
    if n.is_multiple_of(2) {
        return vec![square];
    }
    let mirrored = square.iter().map(|row| row.iter().rev().copied().collect()).collect();
    vec![square, mirrored]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_square_is_latin_and_neighbours_are_balanced() {
        for n in 1..=12 {
            let squares = williams(n);
            let mut follows = BTreeMap::new();
            for square in &squares {
                for at in 0..n {
                    let mut column: Vec<usize> = square.iter().map(|row| row[at]).collect();
                    let mut row = square[at].clone();
                    column.sort_unstable();
                    row.sort_unstable();
                    assert_eq!((row, column), ((0..n).collect(), (0..n).collect()), "n = {n}");
                }
                for pair in square.iter().flat_map(|row| row.windows(2)) {
                    *follows.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            assert_eq!(follows.len(), n * (n - 1), "n = {n}");
            assert!(follows.values().all(|&times| times == squares.len()), "n = {n}: {follows:?}");
        }
    }
}
