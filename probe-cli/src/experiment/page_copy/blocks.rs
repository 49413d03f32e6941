//! Blocks that are copied one after the other: the workload behind every case about copying.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use copy_engine::fault::{Door, Rest, Untrusted};
use copy_engine::{Engine, NextUse, Tally};

use crate::experiment::Workload;
use crate::stats::rng::Rng;
use crate::sys::arena::{Arena, Home, Pages};
use crate::sys::cache;

/// Where the bytes are when a batch begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lines {
    /// Where the same work left them a moment ago.
    Hot,
    /// One source block in the cache, the destination in none.
    DestinationCold,
    /// In no cache.
    Cold,
}

/// What is copied where.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Length of a block.
    pub bytes: usize,
    /// Blocks of a round. There is one source, unless [`Lines::Cold`] asks for as many.
    pub blocks: usize,
    /// Whether all blocks go to one place, offsets aside, and not each to its own.
    pub one_place: bool,
    /// Times that all of them are copied in a batch.
    pub rounds: usize,
    /// State at the begin of a batch.
    pub lines: Lines,
    /// Whether the destinations are visited in an order that no prefetcher of the hardware can guess.
    pub shuffled: bool,
    /// Whether each block is read whole as soon as it has been copied.
    pub read_at_once: bool,
    /// Offset of the source from the begin of a page, for one block after the other in turn.
    pub source_at: &'static [usize],
    /// Offset of the destination, likewise.
    pub destination_at: &'static [usize],
    /// Pages of both.
    pub pages: Pages,
    /// The file that the destination is mapped from; anonymous memory if there is none.
    pub file: Option<Home>,
}

impl Shape {
    /// Blocks of whole lines at whole pages where their length allows, on base pages, copied once, not read.
    pub const fn new(bytes: usize, blocks: usize, lines: Lines) -> Self {
        Self {
            bytes,
            blocks,
            one_place: false,
            rounds: 1,
            lines,
            shuffled: false,
            read_at_once: false,
            source_at: &[0],
            destination_at: &[0],
            pages: Pages::Base,
            file: None,
        }
    }

    /// Copies of a batch.
    pub const fn copies(&self) -> u64 {
        (self.blocks * self.rounds) as u64
    }

    /// From one block to the next; room for the largest offset where there is one, and no gap in a ring.
    fn stride(&self, offsets: &[usize]) -> usize {
        let most = offsets.iter().copied().max().unwrap_or(0);
        if most == 0 { self.bytes } else { (self.bytes + most).next_multiple_of(PAGE) }
    }
}

const PAGE: usize = copy_engine::PAGE;

/// Who copies.
#[derive(Clone, Copy, Debug)]
pub enum Mover {
    /// The C library's `memcpy`, as any slice gets it.
    Platform,
    /// An engine, fenced copy by copy.
    Single(Engine, NextUse),
    /// An engine, with one fence for each round.
    Batched(Engine, NextUse),
    /// The routine that survives faults.
    Surviving(Door),
    /// Another library's function, which wants slices of one length.
    Function(fn(&mut [u8], &[u8])),
    /// The kernel, by a pwrite(2) for each block; only where the destination is a file.
    Kernel,
}

/// One task's blocks.
#[derive(Debug)]
struct Memory {
    source: Arena,
    destination: Arena,
    file: Option<File>,
}

/// Blocks for each task of a case.
#[derive(Debug)]
pub struct Blocks {
    shape: Shape,
    mover: Mover,
    /// Block by block: index, begin of the source and of the destination.
    order: Vec<[usize; 3]>,
    tasks: Vec<Mutex<Memory>>,
}

impl Blocks {
    /// Sources filled from `seed`, destinations of zeros.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    #[must_use]
    pub fn new(shape: Shape, mover: Mover, tasks: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let sources = if shape.lines == Lines::Cold { shape.blocks } else { 1 };
        let strides = [shape.stride(shape.source_at), shape.stride(shape.destination_at)];
        let place = |offsets: &[usize], block: usize| offsets[block % offsets.len()];
        let places = if shape.one_place { 1 } else { shape.blocks };
        let mut order: Vec<[usize; 3]> = (0..shape.blocks)
            .map(|block| {
                let source = block % sources * strides[0] + place(shape.source_at, block);
                [block, source, block % places * strides[1] + place(shape.destination_at, block)]
            })
            .collect();
        if shape.shuffled {
            rng.shuffle(&mut order);
        }
        let arena = |blocks: usize, stride: usize| {
            Arena::new(blocks * stride, shape.pages).unwrap_or_else(|error| {
                panic!("{} bytes of memory for the blocks cannot be had: {error}", blocks * stride)
            })
        };
        let tasks = (0..tasks.max(1))
            .map(|_| {
                let mut source = arena(sources, strides[0]);
                source
                    .chunks_exact_mut(8)
                    .for_each(|word| word.copy_from_slice(&rng.next_u64().to_le_bytes()));
                let (destination, file) = match shape.file {
                    None => (arena(places, strides[1]), None),
                    Some(home) => {
                        let (mapping, file) = Arena::of_file(places * strides[1], home)
                            .unwrap_or_else(|error| panic!("a file for the blocks cannot be had: {error}"));
                        (mapping, Some(file))
                    }
                };
                Mutex::new(Memory { source, destination, file })
            })
            .collect();
        Self { shape, mover, order, tasks }
    }

    /// Copies every block once, and says what was streamed and fenced, where the mover tells and somebody wants to know:
    /// a timed copy is not asked, as the C library's is not.
    fn round<const TELL: bool>(&self, memory: &mut Memory) -> Tally {
        let mut tally = Tally::default();
        match &self.mover {
            Mover::Platform => self.each(memory, |place, source| place.copy_from_slice(source)),
            Mover::Single(engine, next) if TELL => {
                self.each(memory, |place, source| tally += engine.copy(place, source, *next));
            }
            Mover::Single(engine, next) => match next {
                // Said in the source, as callers do.
                NextUse::Unknown => self.each(memory, |place, source| {
                    engine.copy(place, source, NextUse::Unknown);
                }),
                NextUse::NotRead => self.each(memory, |place, source| {
                    engine.copy(place, source, NextUse::NotRead);
                }),
                NextUse::ReadSoon => self.each(memory, |place, source| {
                    engine.copy(place, source, NextUse::ReadSoon);
                }),
            },
            Mover::Batched(engine, next) => {
                tally = self.batch(*engine, *next, &memory.source, &mut memory.destination);
            }
            Mover::Surviving(door) => {
                let session = door.session();
                self.each(memory, |place, source| {
                    black_box(session.read(place, Untrusted::from(source), Rest::Zero).left);
                });
            }
            Mover::Function(copy) => self.each(memory, copy),
            Mover::Kernel => tally = self.write(memory),
        }
        tally
    }

    /// Each block by `copy`, in a loop of its own for each that is given, so that none pays for another's registers.
    #[inline(never)]
    fn each(&self, Memory { source, destination, .. }: &mut Memory, mut copy: impl FnMut(&mut [u8], &[u8])) {
        for &[_, from, to] in &self.order {
            // A length that the compiler cannot know, and a place that somebody might look at.
            let bytes = black_box(self.shape.bytes);
            let place = &mut destination[to..][..bytes];
            copy(place, &source[from..][..bytes]);
            black_box(place.as_mut_ptr());
            self.look(place);
        }
    }

    /// Each block by a system call, as the mail's benchmark does.
    fn write(&self, Memory { source, file, .. }: &Memory) -> Tally {
        let file = file.as_ref().expect("a case whose blocks are written has a file");
        let mut tally = Tally::default();
        for &[_, from, to] in &self.order {
            let written = file.write_all_at(&source[from..][..self.shape.bytes], to as u64);
            written.unwrap_or_else(|error| panic!("a block cannot be written to a file of ours: {error}"));
            tally.copies += 1;
            tally.cached += self.shape.bytes as u64;
        }
        tally
    }

    /// A place is borrowed until the fence, so it has to be cut out of the destination: one after the other where
    /// the blocks come in that order, else from a list of all, which the batch has to pay for.
    fn batch(&self, engine: Engine, next: NextUse, source: &Arena, destination: &mut Arena) -> Tally {
        assert!(!self.shape.read_at_once, "nothing of a batch can be read before its fence");
        assert!(!self.shape.one_place, "nothing of a batch can be written again before its fence");
        let (bytes, order) = (self.shape.bytes, &self.order);
        let stride = self.shape.stride(self.shape.destination_at);
        let mut places = destination.chunks_exact_mut(stride);
        let ((), tally) = engine.batch(|batch| {
            let mut fill = |place, [block, from, to]: [usize; 3]| {
                let place: &mut [u8] = place;
                let place = &mut place[to - block * stride..][..bytes];
                batch.copy(black_box(place), black_box(&source[from..][..bytes]), next);
            };
            if self.shape.shuffled {
                let mut places: Vec<_> = places.map(Some).collect();
                for &block in order {
                    if let Some(place) = places[block[0]].take() {
                        fill(place, block);
                    }
                }
            } else {
                order.iter().for_each(|&block| {
                    if let Some(place) = places.next() {
                        fill(place, block);
                    }
                });
            }
        });
        tally
    }

    #[inline]
    fn look(&self, place: &[u8]) {
        if self.shape.read_at_once {
            read(place);
        }
    }

    /// Copies once, and hands out what came of it: the destination of the first task, and the account.
    ///
    /// # Panics
    ///
    /// If a task has panicked before.
    pub fn outcome(&mut self) -> (Vec<u8>, Tally) {
        self.reset();
        let mut memory = self.tasks[0].lock().unwrap_or_else(PoisonError::into_inner);
        memory.destination.fill(0);
        let tally = self.round::<true>(&mut memory);
        (memory.destination.to_vec(), tally)
    }
}

/// Reads all of `place`.
pub(super) fn read(place: &[u8]) {
    let words = place.chunks_exact(8);
    let rest = words.remainder().iter().fold(0_u64, |sum, &byte| sum.wrapping_add(byte.into()));
    let sum = words.fold(rest, |sum, word| sum ^ word.try_into().map_or(0, u64::from_le_bytes));
    black_box(sum);
}

/// Writes one word of every line, which leaves the lines dirty in this CPU's cache.
fn touch(memory: &mut [u8]) {
    memory.iter_mut().step_by(64).for_each(|byte| *byte = black_box(*byte));
}

impl Workload for Blocks {
    fn reset(&mut self) {
        for memory in &mut self.tasks {
            let Memory { source, destination, .. } = memory.get_mut().unwrap_or_else(PoisonError::into_inner);
            match self.shape.lines {
                Lines::Hot => {
                    touch(destination);
                    read(source);
                }
                Lines::DestinationCold => {
                    cache::flush(destination);
                    read(source);
                }
                Lines::Cold => {
                    cache::flush(destination);
                    cache::flush(source);
                }
            }
        }
    }

    fn run(&self, task: usize) -> u64 {
        let mut memory = self.tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..self.shape.rounds {
            black_box(self.round::<false>(&mut memory));
        }
        self.shape.copies()
    }
}
