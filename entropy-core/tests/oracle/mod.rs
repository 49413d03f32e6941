//! The pool of 2004 in the plainest form that could be written, to compare with. It shares nothing with the crate.
#![allow(dead_code, reason = "each test uses what it needs")]

/// Words, position and rotation.
#[derive(Clone, Debug)]
pub(crate) struct NaivePool {
    pub(crate) words: Vec<u32>,
    pub(crate) add_ptr: usize,
    pub(crate) input_rotate: u32,
}

impl NaivePool {
    pub(crate) fn new(words: usize) -> Self {
        Self { words: vec![0; words], add_ptr: 0, input_rotate: 0 }
    }

    pub(crate) fn mix(&mut self, input: &[u32]) {
        for &word in input {
            self.mix_word(word);
        }
    }

    fn mix_word(&mut self, word: u32) {
        let length = self.words.len();
        self.add_ptr = if self.add_ptr == 0 { length - 1 } else { self.add_ptr - 1 };
        let mut mixed = rotated(word, self.input_rotate);
        self.input_rotate += if self.add_ptr == 0 { 14 } else { 7 };
        self.input_rotate %= 32;
        for distance in exponents(length) {
            mixed ^= self.words[(self.add_ptr + distance) % length];
        }
        for _ in 0..3 {
            mixed = if mixed % 2 == 1 { (mixed / 2) ^ 0xedb8_8320 } else { mixed / 2 };
        }
        self.words[self.add_ptr] = mixed;
    }
}

/// Rotation through a 64-bit product: right for zero too.
fn rotated(word: u32, by: u32) -> u32 {
    let wide = u64::from(word) << by;
    wide as u32 | (wide >> 32) as u32
}

/// How far ahead lie the words that are folded in; the current one is 0.
fn exponents(length: usize) -> [usize; 6] {
    match length {
        32 => [0, 1, 7, 14, 20, 26],
        64 => [0, 1, 14, 26, 39, 52],
        128 => [0, 1, 25, 51, 76, 103],
        256 => [0, 1, 52, 101, 155, 205],
        512 => [0, 1, 104, 208, 308, 411],
        1024 => [0, 1, 204, 412, 615, 817],
        2048 => [0, 1, 411, 819, 1231, 1638],
        other => panic!("no polynomial for {other} words"),
    }
}
