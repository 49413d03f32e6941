//! A block cache that is filled ahead of its readers: whole blocks, around the cache, one fence for each fill.
//!
//! A fill of many blocks through the cache would displace what the readers are using; most of the blocks are read much
//! later, if at all. `cargo run --release --example block_cache`

use copy_engine::{Engine, NextUse, PAGE, Page};

/// Blocks of a page, each with the number of the device block that it holds.
struct BlockCache {
    engine: Engine,
    pages: Vec<Page>,
    holds: Vec<Option<u64>>,
}

impl BlockCache {
    fn new(blocks: usize) -> Self {
        Self { engine: Engine::detect(), pages: vec![Page::ZERO; blocks], holds: vec![None; blocks] }
    }

    /// Takes over what a device has just delivered, starting with block `first`.
    fn fill(&mut self, first: u64, delivered: &[u8]) -> copy_engine::Tally {
        let slots = self.pages.len() as u64;
        // Consecutive blocks lie in consecutive slots, wrapping around: at most two runs.
        let start = (first % slots) as usize;
        let (before, after) = self.pages.split_at_mut(start);
        let ((), tally) = self.engine.batch(|batch| {
            for (page, block) in after.iter_mut().chain(before).zip(delivered.chunks_exact(PAGE)) {
                let _ = batch.copy(page.as_mut(), block, NextUse::NotRead);
            }
        });
        for (number, _) in (first..).zip(delivered.chunks_exact(PAGE)).take(self.pages.len()) {
            self.holds[(number % slots) as usize] = Some(number);
        }
        tally
    }

    /// The block of that number, if it is here.
    fn get(&self, number: u64) -> Option<&[u8; PAGE]> {
        let slot = (number % self.pages.len() as u64) as usize;
        (self.holds[slot] == Some(number)).then(|| self.pages[slot].as_ref())
    }
}

fn main() {
    let mut cache = BlockCache::new(256);
    let delivered: Vec<u8> = (0..64 * PAGE).map(|at| (at / PAGE) as u8).collect();
    // Wraps around the end of the cache: blocks 224 to 287.
    let tally = cache.fill(224, &delivered);
    for number in 224..288 {
        let block = cache.get(number).expect("just filled");
        assert!(block.iter().all(|&byte| u64::from(byte) == number - 224));
    }
    assert!(cache.get(0).is_none() && cache.get(288).is_none());
    println!(
        "filled {} blocks: {} bytes around the cache, {} through it, {} fence(s)",
        tally.copies, tally.streamed, tally.cached, tally.fences
    );
}
